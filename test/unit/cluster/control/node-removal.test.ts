import { beforeEach, expect, it } from 'vitest';
import type { BotRecords } from '../../../../src/cluster/control/bot-records.js';
import { removeNode } from '../../../../src/cluster/control/node-removal.js';
import type { BotRecord, Member, Members } from '../../../../src/cluster/control/parts.js';
import { PlacementView } from '../../../../src/cluster/control/placement-view.js';
import { type RemovedNode, RemovedNodes } from '../../../../src/cluster/control/removed-nodes.js';
import { Deferred } from '../../../../src/shared/deferred.js';
import { partial } from '../../../harness/partial.js';

/** Records in memory. A write waits for `written`. */
class Stored<R> {
  readonly all = new Map<string, R>();
  written: Promise<void> = Promise.resolve();
  waiting = 0;

  get = (id: string) => this.all.get(id);
  ids = () => this.all.keys();
  entry = (id: string) => {
    const record = this.all.get(id);
    return record && { record, revision: 1 };
  };
  inGroup = () => new Set<string>();
  nodes = () => [];
  onChange = () => () => {};
  on = (node: string) =>
    new Set([...this.all].filter(([, one]) => (one as BotRecord).node === node).map(([id]) => id));

  async create(id: string, record: R): Promise<void> {
    this.all.set(id, record);
  }

  async change(id: string, next: (record: R) => R | null): Promise<R | null> {
    const record = this.all.get(id);
    const changed = record === undefined ? null : next(record);
    if (changed !== null) this.all.set(id, changed);
    return changed;
  }

  async replace(id: string, _: unknown, record: R): Promise<boolean> {
    await this.#write();
    this.all.set(id, record);
    return true;
  }

  async remove(id: string): Promise<boolean> {
    await this.#write();
    return this.all.delete(id);
  }

  async #write(): Promise<void> {
    this.waiting += 1;
    await this.written;
  }
}

let bots: Stored<BotRecord>;
let marks: Stored<RemovedNode>;
let removed: RemovedNodes;
let end: () => Promise<boolean>;

function member(node: string, isLive: boolean): Member {
  const capacity = { cores: 1, memory_mb: 1024 };
  const rest = { labels: {}, kinds: ['k'], wanted: 'live', capacity, id: `of ${node}` };
  return { node, isLive, has_key: true, ...rest } as unknown as Member;
}

beforeEach(() => {
  bots = new Stored();
  marks = new Stored();
  removed = Object.create(RemovedNodes.prototype, { records: { value: marks } });
  end = async () => true;
});

function remove(what: 'move' | 'delete' | null): Promise<void> {
  const all = [member('h1', true), member('h3', false)];
  const members = partial<Members>({
    self: 'h1',
    all: () => all,
    get: (node: string) => all.find((one) => one.node === node),
    onChange: () => () => {},
    ranOut: () => [],
    end: () => end(),
  });
  const records = partial<BotRecords>(bots);
  const view = new PlacementView(members, records);
  return removeNode({ members, records, removed, view }, 'h3', what);
}

it.each(['move', 'delete'] as const)('%s: all records are written together', async (what) => {
  for (let n = 0; n < 5; n += 1) {
    const spec = { id: `b${n}`, kind: 'k', config: {}, labels: {} };
    const rest = { node: 'h3', term: 1, state: 'placed', failover: 'stay', sealed: null };
    bots.all.set(spec.id, { v: 1, spec, ...rest } as unknown as BotRecord);
  }
  const written = new Deferred();
  bots.written = written.promise;
  const done = remove(what);
  // What does not wait for the disk has run by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(bots.waiting).toBe(5);
  written.resolve();
  await done;
  expect(bots.on('h3').size).toBe(0);
});

it.each([null, { v: 1, id: 'an earlier one' }])(
  'a lease that cannot be ended leaves the mark that there was: %j',
  async (before) => {
    if (before) marks.all.set('h3', before);
    end = async () => false;
    await expect(remove(null)).rejects.toMatchObject({ code: 'unavailable' });
    expect(marks.get('h3') ?? null).toEqual(before);
    end = async () => {
      throw new Error('NATS does not answer');
    };
    await expect(remove(null)).rejects.toThrow('NATS does not answer');
    expect(marks.get('h3') ?? null).toEqual(before);
  },
);
