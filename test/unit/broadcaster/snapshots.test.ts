// The latest snapshot of every bot, from changes.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SnapshotStore } from '../../../src/broadcaster/snapshots.js';
import type { BotSnapshot } from '../../../src/shared/contract/events.js';

const patches = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c', '__proto__'),
    patch: fc.record(
      {
        kind: fc.constantFrom('demo', 'synthetic'),
        status: fc.constantFrom('starting', 'in_world', 'deleted', 'moved', 'failed'),
        desired: fc.constantFrom('running', 'stopped'),
        since_ms: fc.nat(),
        started_at_ms: fc.option(fc.nat()),
        restarts: fc.nat(),
        host: fc.option(fc.nat()),
        last_error: fc.option(fc.string()),
        labels: fc.dictionary(fc.string(), fc.string()),
        data: fc.dictionary(fc.string(), fc.nat()),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Partial<BotSnapshot>>,
  }),
  { maxLength: 40 },
);

const FIELDS = [
  'id',
  'kind',
  'status',
  'desired',
  'since_ms',
  'started_at_ms',
  'restarts',
  'host',
  'last_error',
  'next_try',
  'labels',
  'data',
  'usage',
  'over_quota',
  'version',
];

describe('the store', () => {
  it('has for each field the last value that was given, and forgets what is deleted or has moved', () => {
    fc.assert(
      fc.property(patches, (changes) => {
        const store = new SnapshotStore();
        let model: [string, Partial<BotSnapshot>][] = [];
        for (const { id, patch } of changes) {
          const known = model.find(([name]) => name === id);
          const expected = { ...known?.[1], ...patch, id };
          const merged = store.merge(id, patch);
          expect(merged).toMatchObject(expected);
          expect(Object.keys(merged).sort()).toEqual([...FIELDS].sort());
          if (merged.status === 'deleted' || merged.status === 'moved') {
            model = model.filter(([name]) => name !== id);
          } else if (known) known[1] = expected;
          else model.push([id, expected]);
          expect(store.all().map((snapshot) => snapshot.id)).toEqual(model.map(([name]) => name));
        }
        expect(store.all()).toMatchObject(model.map(([, snapshot]) => snapshot));
      }),
    );
  });

  it('does not let a change rename a bot, and keeps what it has handed out as it was', () => {
    const store = new SnapshotStore();
    const first = store.merge('a', { id: 'b', status: 'starting' });
    expect(first.id).toBe('a');
    store.merge('a', { status: 'in_world', data: { x: 1 } });
    expect(first.status).toBe('starting');
    expect(store.all()).toMatchObject([{ id: 'a', status: 'in_world', data: { x: 1 } }]);
  });

  it('starts empty for a bot that is created again after it was deleted', () => {
    const store = new SnapshotStore();
    store.merge('a', { status: 'in_world', restarts: 5, labels: { old: 'yes' } });
    expect(store.merge('a', { status: 'deleted' })).toMatchObject({
      status: 'deleted',
      restarts: 5,
    });
    expect(store.all()).toEqual([]);
    expect(store.merge('a', { status: 'starting' })).toMatchObject({ restarts: 0, labels: {} });
  });
});
