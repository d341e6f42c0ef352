// What a bot host writes for main while its bots run: the number of the run, and how late its loop is.

import { expect, it } from 'vitest';
import { Heartbeat } from '../../../src/shared/memory/heartbeat.js';
import { LastRun } from '../../../src/shared/memory/last-run.js';

it('the count of changes tells a run that ran all the time from one that ran again', () => {
  const cells = LastRun.create();
  const [writer, reader] = [new LastRun(cells), new LastRun(cells)];
  writer.set(7);
  const before = reader.changes;
  expect([reader.get(), reader.changes]).toEqual([7, before]);
  writer.set(0);
  writer.set(7);
  expect(reader.get()).toBe(7);
  expect(reader.changes).not.toBe(before);
});

it('the worst delay stays for 100 to 200 beats', () => {
  const cells = Heartbeat.create();
  const [writer, reader] = [new Heartbeat(cells), new Heartbeat(cells)];
  const beat = (lateMs: number): void => writer.beat({ used: 0, limit: 0 }, lateMs);
  beat(-3);
  expect(reader.lateMs).toBe(0);
  beat(480.4);
  for (let n = 0; n < 100; n++) beat(2);
  expect(reader.lateMs).toBe(480);
  for (let n = 0; n < 100; n++) beat(2);
  expect(reader.lateMs).toBe(2);
});
