// Rules of a node and of its cluster: what goes where when the node joins, and when it speaks.

import { beforeEach, expect, it, vi } from 'vitest';
import type { Records } from '../../../../src/cluster/control/bot-records.js';
import { ClusterRules, readRuleRecord } from '../../../../src/cluster/control/cluster-rules.js';
import type { RuleRecord } from '../../../../src/cluster/node-service.js';
import { ruleOfBody } from '../../../../src/main/rules/rule-of-body.js';
import type { RuleStore } from '../../../../src/main/store/rule-store.js';
import type { AlertEvent, RuleSettings } from '../../../../src/shared/contract/rules.js';
import { Deferred } from '../../../../src/shared/deferred.js';
import { DroverError } from '../../../../src/shared/errors.js';

const rule = (id: string, threshold = 1): RuleSettings =>
  ruleOfBody(id, { name: `name ${id}`, query: '', condition: 'bots', threshold });
const record = (settings: RuleSettings, alert: AlertEvent | null = null): RuleRecord => ({
  ...{ v: 1, rule: settings, made_at_ms: 1, changed_at_ms: 1, alert },
});
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The disk of the node, and the bucket of rules. */
let disk: Map<string, { rule: RuleSettings; changedAt: number | null }>;
let bucket: Map<string, RuleRecord | null>;
let fault: string | null;
/** Of which the bucket has what is no record. */
let unreadable: Set<string>;
let listeners: { changed(id: string): void; loaded(): void };
let learned: string[];
let spoken: string[];
let lines: string[];
let caughtUp: Deferred;
/** Why the node that leads gets no events. */
let silent: string | null;
let rules: ClusterRules;
beforeEach(() => {
  disk = new Map();
  bucket = new Map();
  fault = null;
  unreadable = new Set();
  learned = [];
  spoken = [];
  lines = [];
  caughtUp = new Deferred();
  silent = null;
  const local: Pick<RuleStore, 'all' | 'get' | 'put' | 'remove'> = {
    all: () => [...disk.values()].map((one) => one.rule),
    get: (id) => disk.get(id),
    put: async (settings, changedAt = null) =>
      void disk.set(settings.id, { rule: settings, changedAt }),
    remove: async (id) => {
      // A disk takes its time.
      await settled();
      disk.delete(id);
    },
  };
  rules = new ClusterRules({
    local: local as RuleStore,
    rules: () => ({
      learn: (id, one, isNews) =>
        void learned.push(`${id} ${one ? one.rule.threshold : 'gone'}${isNews ? ' news' : ''}`),
      lack: (id, why) => void learned.push(`${id} lacks: ${why}`),
      speak: () => void spoken.push('speak'),
      decide: () => void spoken.push('decide'),
    }),
    caughtUp: () => caughtUp.promise,
    silent: () => silent,
    notJoined: () => 'NATS was not reached yet',
    say: (_, line) => void lines.push(line),
  });
});

/** NATS answers, with what is in the bucket. */
async function join(): Promise<void> {
  let wasLoaded = false;
  const set = (id: string, value: RuleRecord): void => {
    if (fault !== null) throw new DroverError('unavailable', fault);
    bucket.set(id, value);
    listeners.changed(id);
  };
  const view: Partial<Records<RuleRecord>> = {
    get fault() {
      return fault;
    },
    get wasLoaded() {
      return wasLoaded;
    },
    get size() {
      return [...bucket.values()].filter((one) => one !== null).length;
    },
    get: (id) => bucket.get(id) ?? undefined,
    entry: (id) => {
      const value = bucket.get(id);
      return value ? { record: value, revision: 1 } : undefined;
    },
    isDeleted: (id) => bucket.get(id) === null,
    isUnreadable: (id) => unreadable.has(id),
    expectCurrent: async () => {
      if (fault !== null) throw new DroverError('unavailable', fault);
    },
    create: async (id, value) => set(id, value),
    change: async (id, next) => {
      const changed = next(bucket.get(id) as RuleRecord);
      if (changed) set(id, changed);
      return changed;
    },
    replace: async (id, _, value) => {
      set(id, value);
      return true;
    },
    onChange: (changed) => {
      listeners = { ...listeners, changed };
      return () => {};
    },
    onLoaded: (loaded) => {
      listeners = { ...listeners, loaded };
      return () => {};
    },
    close: () => {},
  };
  rules.attach(view as Records<RuleRecord>);
  for (const id of bucket.keys()) listeners.changed(id);
  wasLoaded = true;
  listeners.loaded();
  for (let n = 0; n < 5; n++) await settled();
}

it('the rules of a single service go to the cluster, and those of the cluster to the disk', async () => {
  disk.set('own', { rule: rule('own', 2), changedAt: null });
  bucket.set('theirs', record(rule('theirs', 3)));
  await join();
  expect(bucket.get('own')).toMatchObject({ rule: rule('own', 2), alert: null });
  expect([...disk.values()]).toEqual([
    { rule: rule('own', 2), changedAt: bucket.get('own')?.changed_at_ms },
    { rule: rule('theirs', 3), changedAt: 1 },
  ]);
  // What was there when the node came has been said.
  expect(learned).toEqual(['theirs 3', 'own 2 news']);
});

it('what was removed while the node was away is removed there; what NATS has lost comes back', async () => {
  for (const id of ['removed', 'lost', 'changed']) disk.set(id, { rule: rule(id), changedAt: 0 });
  bucket.set('removed', null);
  bucket.set('changed', record(rule('changed', 7)));
  await join();
  expect([...disk.keys()].sort()).toEqual(['changed', 'lost']);
  expect(disk.get('changed')?.rule.threshold).toBe(7);
  expect(bucket.get('lost')).toMatchObject({ rule: rule('lost') });
  expect(bucket.get('removed')).toBeNull();
});

it('the newest copy counts when NATS has lost its data, whichever node writes first', async () => {
  // The first to write had missed the last change.
  for (const id of ['a', 'b']) disk.set(id, { rule: rule(id, 2), changedAt: 20 });
  bucket.set('a', { ...record(rule('a', 1)), changed_at_ms: 10 });
  await join();
  const newest = { rule: { threshold: 2 }, changed_at_ms: 20 };
  expect([bucket.get('a'), bucket.get('b')]).toMatchObject([newest, newest]);
  expect(disk.get('a')).toEqual({ rule: rule('a', 2), changedAt: 20 });
  // And when it writes after this node has joined.
  bucket.set('b', { ...record(rule('b', 1)), changed_at_ms: 10 });
  listeners.changed('b');
  await settled();
  expect(bucket.get('b')).toMatchObject(newest);
  bucket.set('b', { ...record(rule('b', 3)), changed_at_ms: 30 });
  listeners.changed('b');
  await settled();
  expect(disk.get('b')).toEqual({ rule: rule('b', 3), changedAt: 30 });
});

it('a rule without a record that can be read is faulty, and gets one again once that was removed', async () => {
  bucket.set('a', record(rule('a', 2)));
  await join();
  bucket.delete('a');
  unreadable.add('a');
  listeners.changed('a');
  await settled();
  const why = 'its record in the cluster cannot be read: `drover nodes` has the reason';
  expect([learned, bucket.size]).toEqual([['a 2', `a lacks: ${why}`], 0]);
  unreadable.delete('a');
  listeners.changed('a');
  await settled();
  expect(learned.slice(2)).toEqual(['a lacks: null', 'a 2 news']);
  expect(bucket.get('a')).toMatchObject({ rule: rule('a', 2), changed_at_ms: 1 });
});

it('a rule of a single service whose id the cluster has for another rule gets another id', async () => {
  disk.set('both', { rule: rule('both', 2), changedAt: null });
  bucket.set('both', record(rule('both', 9)));
  await join();
  const [[id = '', other] = []] = [...bucket].filter(([key]) => key !== 'both');
  expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(other?.rule).toEqual({ ...rule('both', 2), id });
  expect(disk.get('both')?.rule.threshold).toBe(9);
});

it('one that does not fit stays where it is, and a line says so', async () => {
  disk.set('own', { rule: rule('own'), changedAt: null });
  for (let n = 0; n < 100; n++) bucket.set(`r${n}`, record(rule(`r${n}`)));
  await join();
  expect(lines).toEqual([
    'the rule "name own" of this node is not in the cluster: it has 100 rules already',
  ]);
  expect(disk.get('own')).toEqual({ rule: rule('own'), changedAt: null });
});

it('changes need NATS', async () => {
  const refused = /^the cluster does not accept the change: NATS was not reached yet$/;
  await expect(rules.put(rule('a'))).rejects.toThrow(refused);
  await expect(rules.remove('a')).rejects.toThrow(refused);
  expect(rules.fault).toBe('NATS was not reached yet');
  await join();
  await rules.put(rule('a'));
  const alert = { state: 'firing' } as AlertEvent;
  await rules.raise('a', alert);
  expect(bucket.get('a')?.alert).toBe(alert);
  // A change ends what fires.
  await rules.put(rule('a', 2));
  expect(bucket.get('a')).toMatchObject({ rule: { threshold: 2 }, alert: null });
  expect(bucket.get('a')?.changed_at_ms).toBeGreaterThan(bucket.get('a')?.made_at_ms ?? 0);
});

it('it speaks when it leads, follows the stream, and has caught up', async () => {
  await join();
  rules.elected(true);
  expect(rules.fault).toBe('the stream of the cluster is not there yet');
  rules.streamChanged(null);
  await settled();
  expect([rules.speaks, spoken]).toEqual([false, []]);
  caughtUp.resolve();
  await settled();
  expect([rules.speaks, spoken]).toEqual([true, ['speak']]);
  rules.streamChanged('NATS does not answer');
  expect(rules.speaks).toBe(false);
  rules.streamChanged(null);
  await settled();
  expect(spoken).toEqual(['speak', 'speak']);
  rules.elected(false);
  expect(rules.speaks).toBe(false);
});

it('another that leads before this one has caught up speaks, and this one does not', async () => {
  await join();
  rules.streamChanged(null);
  rules.elected(true);
  rules.elected(false);
  caughtUp.resolve();
  await settled();
  expect([rules.speaks, spoken]).toEqual([false, []]);
});

it('one that could not read what the stream has reads again before it speaks', async () => {
  vi.useFakeTimers();
  try {
    void join();
    rules.streamChanged(null);
    caughtUp.reject(new Error('it was not read'));
    rules.elected(true);
    await vi.advanceTimersByTimeAsync(999);
    expect([rules.speaks, spoken]).toEqual([false, []]);
    caughtUp = new Deferred();
    caughtUp.resolve();
    await vi.advanceTimersByTimeAsync(1001);
    expect([rules.speaks, spoken]).toEqual([true, ['speak']]);
  } finally {
    vi.useRealTimers();
  }
});

it('what fires is not known while the node that leads gets no events', async () => {
  await join();
  rules.streamChanged(null);
  expect(rules.fault).toBeNull();
  silent = 'the node h1, which says what fires: NATS does not answer';
  expect(rules.fault).toBe(silent);
});

it('an alert that NATS does not accept is decided again', async () => {
  vi.useFakeTimers();
  try {
    caughtUp.resolve();
    bucket.set('a', record(rule('a')));
    void join();
    rules.streamChanged(null);
    rules.elected(true);
    await vi.advanceTimersByTimeAsync(10);
    fault = 'no answer';
    await rules.raise('a', { state: 'firing' } as AlertEvent);
    fault = null;
    await vi.advanceTimersByTimeAsync(1000);
    expect(lines).toEqual(['an alert of the rule "name a" waits: no answer']);
    expect(spoken.at(-1)).toBe('decide');
    rules.close();
  } finally {
    vi.useRealTimers();
  }
});

it.each([
  ['{}', 'it has no version'],
  ['null', 'it has no version'],
  ['{"v":99}', /version 99/],
  [JSON.stringify({ v: 1, rule: { id: 'a' } }), /^rule\.name is missing/],
  [JSON.stringify(record({ ...rule('a'), threshold: -1 })), /^rule\.threshold/],
  [JSON.stringify(record({ ...rule('a'), more: 1 } as RuleSettings)), /more/],
  [JSON.stringify(record(rule('b'))), 'it is not of this rule'],
  [JSON.stringify({ ...record(rule('a')), made_at_ms: 'x' }), 'it has no times'],
  [JSON.stringify({ ...record(rule('a')), alert: { state: 'ok' } }), 'its alert is none'],
])('%s is no record', (text, message) => {
  expect(() => readRuleRecord('a', text)).toThrow(message);
});

it('reads what it writes', () => {
  for (const condition of ['bots', 'absence'] as const) {
    const body = { name: 'a', query: '', condition };
    const window = condition === 'bots' ? {} : { window_ms: 5000 };
    const written = record(ruleOfBody('a', { ...body, ...window }));
    expect(readRuleRecord('a', JSON.stringify(written))).toEqual(written);
  }
});
