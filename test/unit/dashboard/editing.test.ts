// Changes of configurations: what differs, what it was before, and one change for many bots.

import { describe, expect, it } from 'vitest';
import {
  type BulkChange,
  parseLabelChanges,
  partOf,
  updateOf,
} from '../../../dashboard/src/config/bulk-fields.js';
import { changedFields, isSame } from '../../../dashboard/src/config/changes.js';
import { type ChangeMade, versionsOf } from '../../../dashboard/src/config/history.js';
import type { Schema } from '../../../dashboard/src/parts/schema.js';
import { changeOf } from '../../../src/main/bots/config-change.js';
import type { BotParts } from '../../../src/shared/contract/config-changes.js';

const parts = (size: number, more: Partial<BotParts> = {}): BotParts => ({
  config: { size, place: { x: 1, y: 2 } },
  labels: {},
  restart: {},
  placement: {},
  ...more,
});

/** The changes from each of these to the next, the newest first. */
function changes(...states: BotParts[]): ChangeMade[] {
  return states
    .slice(1)
    .map((state, at) => ({
      id: `e-${at}`,
      at,
      by: `author ${at}`,
      change: changeOf(states[at] as BotParts, state, []) ?? {},
    }))
    .reverse();
}

it('what differs is named field by field, and secrets without their values', () => {
  const schema: Schema = {
    properties: {
      password: { writeOnly: true },
      proxy: { properties: { key: { writeOnly: true }, host: { type: 'string' } } },
    },
  };
  const before = { size: 3, place: { x: 1, y: 2 }, list: ['a'], proxy: { host: 'h' } };
  const after = {
    size: 5,
    place: { y: 2, x: 1 },
    list: ['a', 'b'],
    proxy: { host: 'h', key: 'hunter2' },
    password: 'hunter2',
  };
  const found = changedFields('config', before, after, schema, new Set(['password']));
  expect(found).toEqual([
    { path: 'config.size', was: '3', is: '5' },
    { path: 'config.list', was: '["a"]', is: '["a","b"]' },
    { path: 'config.proxy.key', was: null, is: 'a new value' },
    { path: 'config.password', was: 'set', is: 'a new value' },
  ]);
  expect(changedFields('', {}, { password: null }, schema, new Set(['password']))).toEqual([
    { path: 'password', was: 'set', is: null },
  ]);
  expect(isSame({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toBe(true);
  expect(isSame({ a: undefined as never }, {})).toBe(false);
});

describe('the history', () => {
  it('goes back from what is, change by change', () => {
    const states = [parts(1), parts(2, { labels: { team: 'a' } }), parts(3), parts(4)];
    const versions = versionsOf(parts(4), changes(...states));
    expect(versions.map(({ by }) => by)).toEqual(['author 2', 'author 1', 'author 0']);
    expect(versions.map(({ before }) => before)).toEqual([states[2], states[1], states[0]]);
    expect(versions[1]?.changes).toEqual([
      { path: 'config.size', was: '2', is: '3' },
      { path: 'labels.team', was: 'a', is: null },
    ]);
  });

  it('does not go behind a change that does not lead to what is, or whose values are missing', () => {
    const [last, , first] = changes(parts(1), parts(2), parts(3), parts(4));
    // A line is missing between them.
    const holes = versionsOf(parts(4), [last, first] as ChangeMade[]);
    expect(holes.map(({ before }) => before)).toEqual([parts(3), undefined]);
    const long = parts(3, { labels: { text: 'x'.repeat(9000) } });
    const cut = versionsOf(parts(4), changes(parts(2), long, parts(4)));
    expect(cut.map(({ isCut, before }) => [isCut, before])).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
    expect(cut[1]?.changes.map(({ path }) => path)).toEqual(['config.size', 'labels.text']);
  });
});

describe('one change for many bots', () => {
  const change = (more: Partial<BulkChange>): BulkChange => ({
    config: [],
    restart: [],
    values: { config: {}, restart: {} },
    labels: {},
    removedLabels: [],
    ...more,
  });

  it('has the chosen fields only, and removes those that are empty', () => {
    const values = { config: { size: 5, words: '', other: 1 }, restart: { max_restarts: 3 } };
    const some = change({ config: ['size', 'words'], restart: ['max_restarts'], values });
    expect(updateOf(some, { labels: {} })).toEqual({
      config: { size: 5, words: null },
      restart: { max_restarts: 3 },
    });
  });

  it('keeps the other labels of each bot, and sends nothing where nothing changes', () => {
    const labels = parseLabelChanges('team = b\n-zone\n\n');
    if ('fault' in labels) throw new Error(labels.fault);
    const some = change(labels);
    expect(updateOf(some, { labels: { zone: 'eu', tier: 'x' } })).toEqual({
      labels: { tier: 'x', team: 'b' },
    });
    expect(updateOf(some, { labels: { tier: 'x', team: 'b' } })).toBeUndefined();
    const wrong = parseLabelChanges('team');
    expect('fault' in wrong && wrong.fault).toBe('"team" is neither name=value nor -name');
  });

  it('checks only the chosen fields', () => {
    const schema: Schema = { properties: { a: {}, b: {} }, required: ['a', 'b'] };
    expect(partOf(schema, ['b'])).toEqual({ properties: { b: {} }, required: ['b'] });
  });
});
