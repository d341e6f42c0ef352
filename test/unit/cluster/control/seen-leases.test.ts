// When another node's lease counts as run out, by the clock of the one that looks.

import { beforeEach, expect, it } from 'vitest';
import { SeenLeases } from '../../../../src/cluster/control/seen-leases.js';
import { LEASE_MS, Time } from './lease-fixture.js';

/** A tenth of it. */
const MARGIN_MS = 1200;
const KEY = 'node.h1';
let time: Time;
let seen: SeenLeases;

beforeEach(() => {
  time = new Time();
  seen = new SeenLeases(time, LEASE_MS);
  seen.current(true);
});

it('counts from when the renewal was seen, and a margin longer', async () => {
  seen.saw(KEY, '{}', 1);
  await time.pass(LEASE_MS + MARGIN_MS - 1);
  expect(seen.isLive(KEY)).toBe(true);
  expect(seen.mayBeEnded(KEY)).toBe(false);
  await time.pass(1);
  expect(seen.isLive(KEY)).toBe(false);
  expect(seen.mayBeEnded(KEY)).toBe(true);
});

it('is extended by another revision only: a watch that starts over tells the same again', async () => {
  seen.saw(KEY, '{}', 1);
  await time.pass(LEASE_MS);
  seen.saw(KEY, '{}', 1);
  await time.pass(MARGIN_MS);
  expect(seen.isLive(KEY)).toBe(false);
  seen.saw(KEY, '{}', 2);
  expect(seen.isLive(KEY)).toBe(true);
});

it('is the same when the wall clock jumps', async () => {
  seen.saw(KEY, '{}', 1);
  time.wallMs += 3_600_000;
  expect(seen.isLive(KEY)).toBe(true);
  await time.pass(LEASE_MS + MARGIN_MS);
  time.wallMs -= 7_200_000;
  expect(seen.isLive(KEY)).toBe(false);
});

it('is over at once when it was ended or given back', () => {
  seen.saw(KEY, '{}', 1);
  seen.saw(KEY, null, 2);
  expect(seen.isLive(KEY)).toBe(false);
  expect(seen.mayBeEnded(KEY)).toBe(true);
  seen.saw(KEY, '{}', 3);
  expect(seen.mayBeEnded(KEY)).toBe(false);
});

it('counts on when the bucket has dropped it: the owner may still rely on it', async () => {
  seen.saw(KEY, '{}', 1);
  seen.vanished(KEY);
  expect(seen.isLive(KEY)).toBe(true);
  expect(seen.get(KEY)?.revision).toBeNull();
  await time.pass(LEASE_MS + MARGIN_MS);
  expect(seen.mayBeEnded(KEY)).toBe(true);
});

it('may not be ended by one that has just begun to look: it may have been renewed before that', async () => {
  expect(seen.mayBeEnded('node.unknown')).toBe(false);
  await time.pass(LEASE_MS);
  seen.current(false);
  seen.current(true);
  await time.pass(LEASE_MS + MARGIN_MS - 1);
  expect(seen.mayBeEnded('node.unknown')).toBe(false);
  await time.pass(1);
  expect(seen.mayBeEnded('node.unknown')).toBe(true);
  seen.current(false);
  expect(seen.mayBeEnded('node.unknown')).toBe(false);
});

it('is in the bucket for certain for half of its time, unless it was ended or vanished', async () => {
  seen.saw(KEY, '{}', 1);
  seen.saw('node.ended', '{}', 2);
  seen.saw('node.ended', null, 3);
  seen.saw('node.vanished', '{}', 4);
  seen.vanished('node.vanished');
  expect([...seen.fresh()]).toEqual([[KEY, 1]]);
  await time.pass((LEASE_MS + MARGIN_MS) / 2);
  expect([...seen.fresh()]).toEqual([]);
});

it('counts for its whole time from when somebody has written what is no lease: the owner may have renewed before', async () => {
  seen.current(true);
  seen.saw(KEY, '{}', 1);
  await time.pass(LEASE_MS);
  seen.disturbed(KEY, 2);
  // Told again.
  await time.pass(LEASE_MS);
  seen.disturbed(KEY, 2);
  expect(seen.mayBeEnded(KEY)).toBe(false);
  await time.pass(MARGIN_MS);
  expect(seen.mayBeEnded(KEY)).toBe(true);
  // More of it counts no longer, and neither does what is written over the end of the lease.
  seen.disturbed(KEY, 3);
  expect(seen.get(KEY)).toMatchObject({ value: '{}', revision: 3 });
  expect(seen.mayBeEnded(KEY)).toBe(true);
  seen.saw(KEY, null, 4);
  seen.disturbed(KEY, 5);
  expect(seen.mayBeEnded(KEY)).toBe(true);
  // Who wants to end it has asked the owner.
  seen.answered(KEY);
  expect(seen.isLive(KEY)).toBe(true);
  seen.saw(KEY, '{}', 6);
  await time.pass(LEASE_MS);
  seen.disturbed(KEY, 7);
  await time.pass(LEASE_MS);
  expect(seen.isLive(KEY)).toBe(true);
});

it('has run out when nobody has ended it, and not while renewals may have been missed', async () => {
  seen.saw(KEY, '{}', 1);
  expect(seen.ranOut(KEY)).toBe(false);
  await time.pass(LEASE_MS);
  seen.current(false);
  await time.pass(MARGIN_MS);
  expect(seen.isLive(KEY)).toBe(false);
  expect(seen.ranOut(KEY)).toBe(false);
  seen.current(true);
  expect(seen.ranOut(KEY)).toBe(false);
  await time.pass(LEASE_MS + MARGIN_MS);
  expect(seen.ranOut(KEY)).toBe(true);
  seen.saw(KEY, null, 2);
  expect(seen.ranOut(KEY)).toBe(false);
  expect(seen.ranOut('node.unknown')).toBe(false);
});
