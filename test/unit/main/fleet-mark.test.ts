// What a bot keeps of a change by hand.

import { describe, expect, it } from 'vitest';
import {
  driftOf,
  markChanged,
  markDesired,
  shownFleet,
} from '../../../src/main/bots/fleet-mark.js';
import type { FleetMark } from '../../../src/shared/contract/bots.js';
import type { BotParts } from '../../../src/shared/contract/config-changes.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';

const MARK: FleetMark = { name: 'web' };
const parts = (config: JsonObject, more: Partial<BotParts> = {}): BotParts => ({
  config,
  labels: {},
  restart: {},
  placement: {},
  ...more,
});
/** The mark after a bot had each of these configurations in turn. */
const through = (...configs: JsonObject[]): FleetMark => {
  let mark = MARK;
  for (const [at, config] of configs.slice(1).entries()) {
    mark = markChanged(mark, parts(configs[at] as JsonObject), parts(config), []);
  }
  return mark;
};

describe('the mark of a fleet', () => {
  it('names each changed value by its path, and keeps none of them', () => {
    const before = parts({ url: 'http://a', same: 1 }, { labels: { team: 'a' }, placement: {} });
    const after = parts(
      { url: 'http://b', same: 1 },
      { labels: {}, restart: { policy: 'never' }, placement: { host_group: 'g' } },
    );
    const mark = markChanged(MARK, before, after, ['sasl.password']);
    expect(driftOf({ fleet: mark })).toEqual([
      'config.url',
      'labels.team',
      'restart.policy',
      'host_group',
      'config.sasl.password',
    ]);
    expect(JSON.stringify(mark)).not.toMatch(/http|"a"/);
    expect(mark.drift).toMatchObject({ 'config.sasl.password': '' });
    expect(shownFleet({ fleet: mark })).toEqual({ fleet: 'web', drift: true });
  });

  it('is as before when a value is again what the fleet had given, on any way', () => {
    expect(through({ a: 1 }, { a: 2 }, { a: 3 })).not.toEqual(MARK);
    expect(through({ a: 1 }, { a: 2 }, { a: 3 }, { a: 1 })).toEqual(MARK);
    expect(through({}, { a: 1 }, {})).toEqual(MARK);
    expect(through({ a: 1 }, {}, { a: 1 })).toEqual(MARK);
    expect(through({ a: { b: 1, c: 2 } }, { a: 1 }, { a: { c: 2, b: 1 } })).toEqual(MARK);
    expect(driftOf({ fleet: through({ a: 1, b: 1 }, { a: 2, b: 2 }, { a: 1, b: 2 }) })).toEqual([
      'config.b',
    ]);
    expect(shownFleet({ fleet: through({ a: 1 }, { a: 2 }, { a: 1 }) })).toEqual({
      fleet: 'web',
      drift: undefined,
    });
  });

  it('a secret that is changed back stays drift', () => {
    const changed = markChanged(MARK, parts({}), parts({}), ['password']);
    expect(markChanged(changed, parts({}), parts({}), ['password'])).toEqual(changed);
  });

  it('knows the desired state that the fleet had given', () => {
    const stopped = markDesired(MARK, 'running', 'stopped');
    expect(driftOf({ fleet: stopped })).toEqual(['desired']);
    expect(markDesired(stopped, 'stopped', 'running')).toEqual(MARK);
  });

  it('names a hundred values at most', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`key${n}`, n]));
    expect(driftOf({ fleet: through({}, many) })).toHaveLength(100);
  });

  it('a bot of no fleet shows nothing', () => {
    expect(shownFleet({})).toEqual({});
    expect(driftOf({})).toEqual([]);
  });
});
