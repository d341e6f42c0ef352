// Incidents that the nodes of a cluster share: which are in the bucket, and for whom.

import { beforeEach, expect, it } from 'vitest';
import type { BotRecords, Records } from '../../../../src/cluster/control/bot-records.js';
import {
  ClusterIncidents,
  readIncident,
  type SharedIncident,
} from '../../../../src/cluster/control/cluster-incidents.js';
import type { Member } from '../../../../src/cluster/control/parts.js';
import type { IncidentStore } from '../../../../src/main/store/incident-store.js';
import type { Incident, IncidentReport } from '../../../../src/shared/contract/bots.js';

/** The bucket of incidents, in memory. */
class Bucket {
  readonly records = new Map<string, SharedIncident>();
  fault: string | null = null;
  writes = 0;
  /** In the order in which that was asked for. */
  removed: string[] = [];
  changed = (): void => {};
  loaded = (): void => {};

  get view(): Records<SharedIncident> {
    const bucket = this;
    const set = (id: string, record: SharedIncident): void => {
      bucket.writes += 1;
      bucket.records.set(id, record);
      bucket.changed();
    };
    return {
      get fault() {
        return bucket.fault;
      },
      ids: () => bucket.records.keys(),
      get: (id: string) => bucket.records.get(id),
      create: async (id: string, record: SharedIncident) => set(id, record),
      change: async (id: string, next: (record: SharedIncident) => SharedIncident) =>
        set(id, next(bucket.records.get(id) as SharedIncident)),
      remove: async (id: string) => {
        bucket.removed.push(id);
        await null;
        bucket.records.delete(id);
        bucket.changed();
        return true;
      },
      isDeleted: (id: string) => bucket.removed.includes(id),
      onChange: (listener: () => void) => {
        bucket.changed = listener;
      },
      onLoaded: (listener: () => void) => {
        bucket.loaded = listener;
      },
      close: () => {},
    } as unknown as Records<SharedIncident>;
  }
}

const report = (id: string, more: Partial<Incident> = {}): IncidentReport => ({
  incident: {
    ...{ id, at_ms: 1, type: 'crash', reason: 'it broke', cause: 'c', suspect: 'a', host: 0 },
    ...{ bots: ['a'], bot_count: 1, stack: null, heap: null, last_lines: [], last_commands: [] },
    ...{ last_lines_at_ms: [], repeats: 0, repeated_at_ms: null },
    ...more,
  } as Incident,
  identities: [{ id: 'a', incarnation: 'x', labels: {} }],
});
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let bucket: Bucket;
let reports: IncidentReport[];
let store: Pick<IncidentStore, 'changed' | 'newest'>;
let incidents: ClusterIncidents;
beforeEach(() => {
  bucket = new Bucket();
  reports = [];
  store = {
    changed: () => {},
    *newest() {
      yield* reports;
    },
  };
  incidents = new ClusterIncidents({ node: 'h1', store: store as IncidentStore });
});

const idsBesides = (...nodes: string[]): string[] =>
  incidents.besides(new Set(nodes)).map(({ incident: { id, node } }) => `${node} ${id}`);

it('shares what the node has stored, now and when NATS is back, and each change of it once', async () => {
  reports = [report('1')];
  store.changed(report('1'));
  expect(incidents.fault).toBe('NATS was not reached yet');
  incidents.attach(bucket.view);
  bucket.loaded();
  store.changed(report('2'));
  await settled();
  store.changed(report('2', { repeats: 3 }));
  await settled();
  expect(bucket.records.get('2')?.incident.repeats).toBe(3);
  expect(idsBesides('h2')).toEqual(['h1 2', 'h1 1']);
  expect(idsBesides('h1', 'h2')).toEqual([]);
  const { writes } = bucket;
  reports = [report('1'), report('2', { repeats: 3 })];
  bucket.loaded();
  await settled();
  expect(bucket.writes).toBe(writes);
});

it('a lost node is one incident, no matter which node leads, and all show it', async () => {
  incidents.attach(bucket.view);
  const member = { node: 'h2', incarnation: 'abcdef0123', renewed_at_ms: 1000 } as Member;
  const spec = { incarnation: 'i', labels: { team: 'a' } };
  const bots = { on: () => new Set(['b']), get: () => ({ spec }) } as unknown as BotRecords;
  incidents.lost(member, bots);
  incidents.lost(member, bots);
  await settled();
  const [lost] = incidents.besides(new Set(['h1', 'h2']));
  expect(lost).toMatchObject({
    incident: { type: 'node_lost', node: 'h2', bots: ['b'], bot_count: 1, suspect: null },
    identities: [{ id: 'b', incarnation: 'i', labels: { team: 'a' } }],
  });
  expect(bucket.writes).toBe(1);
  incidents.lost({ ...member, incarnation: 'another', renewed_at_ms: 2000 }, bots);
  await settled();
  expect(bucket.records.size).toBe(2);
});

it('what is long is cut, and the leader keeps the newest of each node', async () => {
  incidents.attach(bucket.view);
  const lines = Array.from({ length: 20 }, () => 'x'.repeat(5000));
  store.changed(report('000', { last_lines: lines, stderr: lines }));
  await settled();
  expect(bucket.records.get('000')?.incident).toMatchObject({ reason: 'it broke', last_lines: [] });
  for (let n = 1; n <= 160; n++) store.changed(report(String(n).padStart(3, '0')));
  await settled();
  expect(bucket.records.size).toBe(161);
  incidents.elected(true);
  await settled();
  expect(bucket.records.size).toBe(150);
  expect([...bucket.records.keys()][0]).toBe('011');
  // Each once.
  expect(bucket.removed).toHaveLength(11);
});

it('the leader keeps the newest of all nodes, however many there were, and no node brings back others', async () => {
  incidents.attach(bucket.view);
  const put = (id: number, node: string): void =>
    void bucket.records.set(String(id), { v: 1, node, ...report(String(id)) });
  for (let n = 0; n < 2100; n++) put(10_000 + n, `n${n % 50}`);
  // Those of a node beyond its own share take nothing from the others.
  for (let n = 0; n < 300; n++) put(90_000 + n, 'loud');
  incidents.elected(true);
  await settled();
  expect(bucket.records.size).toBe(2000);
  expect([...bucket.records.keys()][0]).toBe('10250');
  store.changed(report('10000'));
  await settled();
  expect(bucket.records.has('10000')).toBe(false);
});

it.each([
  ['{}', 'incident.v is missing'],
  ['null', 'incident must be object'],
  ['{"v":99}', /version 99/],
  [
    '{"v":1,"node":"h1","incident":{"id":"1"},"identities":[]}',
    'incident.incident.at_ms is missing',
  ],
  [JSON.stringify({ v: 1, node: 'h1', ...report('other') }), 'it is not of this incident'],
  ['x', /JSON/],
])('%s is no record', (text, message) => {
  expect(() => readIncident('1', text)).toThrow(message);
});

it('reads what it writes', () => {
  const record = { v: 1, node: 'h1', ...report('1') };
  expect(readIncident('1', JSON.stringify(record))).toEqual(record);
});
