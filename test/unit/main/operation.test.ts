// How an operation goes through its bots: the engine with its own clock and store.

import { beforeEach, expect, it, vi } from 'vitest';
import type {
  BotOutcome,
  Operation,
  OperationClock,
  OperationTask,
} from '../../../src/main/operations/operation.js';
import { nextState, takes } from '../../../src/main/operations/operation-life.js';
import { Operations, type OperationsParts } from '../../../src/main/operations/operations.js';
import { OperationStore } from '../../../src/main/store/operation-store.js';
import type { Store } from '../../../src/main/store/store.js';
import type { Change } from '../../../src/main/store/store-file.js';
import type { OperationEvent } from '../../../src/shared/contract/events.js';
import { OPERATION_STATES } from '../../../src/shared/contract/operation-bounds.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { DroverError } from '../../../src/shared/errors.js';
import { partial } from '../../harness/partial.js';

const DAY_MS = 86_400_000;

/** Moves only with {@link pass}. */
class TestClock implements OperationClock {
  #now = 1_800_000_000_000;
  readonly #timers = new Set<{ at: number; task: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.task();
      await settled();
    }
    this.#now = end;
  }
}

/** What tasks that wait for nothing else have done by then. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let clock: TestClock;
/** The table on disk, which outlives {@link Operations}. */
let table: Map<string, unknown>;
let isDiskFull: boolean;
let writes: number;
let told: OperationEvent[];
/** Runs of bots that have begun and not ended, in their order. */
let running: Map<string, Deferred<BotOutcome>>;
let signals: AbortSignal[];

beforeEach(() => {
  clock = new TestClock();
  table = new Map();
  isDiskFull = false;
  writes = 0;
  told = [];
  running = new Map();
  signals = [];
});

function store(): OperationStore {
  return new OperationStore(
    partial<Store>({
      table: (() => ({
        get: (key: string) => structuredClone(table.get(key)),
        getRange: ({ start, end }: { start: string; end: string }) =>
          [...table]
            .filter(([key]) => key >= start && key < end)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, value]) => ({ key, value: structuredClone(value) })),
      })) as unknown as Store['table'],
      async write(changes: readonly Change[]) {
        if (isDiskFull) throw new DroverError('not_stored');
        writes += 1;
        for (const { key, value } of changes) {
          if (value === undefined) table.delete(key);
          else table.set(key, structuredClone(value));
        }
      },
    }),
  );
}

const engine = (parts: Partial<OperationsParts> = {}): Operations =>
  new Operations({
    store: store(),
    incarnationOf: (bot) => `made-${bot}`,
    publish: ({ event }) => told.push(event),
    node: null,
    clock,
    ...parts,
  });

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `b${n}`);

function task(count: number, options: Partial<OperationTask['options']> = {}): OperationTask {
  return {
    type: 'action',
    title: `restart ${count} bots`,
    actor: { name: 'Ada', token: 't' },
    bots: names(count),
    options: { parallel: 1000, stagger_ms: 0, max_failed: null, ...options },
    run(bot, signal) {
      const run = new Deferred<BotOutcome>();
      running.set(bot, run);
      signals.push(signal);
      return run.promise;
    },
  };
}

/** Ends runs that are under way; all of them without names. */
async function end(bots = [...running.keys()], outcome: BotOutcome | Error = { status: 'idle' }) {
  for (const bot of bots) {
    const run = running.get(bot);
    running.delete(bot);
    if (outcome instanceof Error) run?.reject(outcome);
    else run?.resolve(outcome);
  }
  await settled();
}
const fail = (bots: string[]): Promise<void> =>
  end(bots, new DroverError('conflict', 'it is busy'));
const results = (operations: Operations, operation: Operation): string[] =>
  Array.from(operations.bots(operation.record), ({ id, result }) => `${id} ${result}`);

it('begins all bots at once, and has the result of each', async () => {
  const operations = engine();
  const operation = await operations.add(task(3));
  expect([...running.keys()]).toEqual(names(3));
  await end(['b1']);
  await fail(['b0']);
  await end(['b2'], { skipped: 'it has no configuration' });
  await operation.ended;
  expect(operation.record).toMatchObject({
    state: 'done',
    counts: { waiting: 0, running: 0, done: 1, failed: 1, skipped: 1, unknown: 0 },
  });
  expect(operation.bots.map(({ text }) => text)).toEqual([
    'it is busy',
    'idle',
    'it has no configuration',
  ]);
});

it('an operation on no bots is done at once', async () => {
  const operation = await engine().add(task(0));
  expect(operation.state).toBe('done');
});

it('an internal error is for the operator, and not in the result', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const operation = await engine().add(task(1));
  await end(['b0'], new Error('a secret'));
  const printed = stderr.mock.calls.map(String).join('');
  stderr.mockRestore();
  expect(operation.bots[0]?.text).toBe('internal error');
  expect(printed).toBe('drover: restart 1 bots: bot b0 failed: a secret\n');
});

it('works on so many bots at once, in their order', async () => {
  await engine().add(task(5, { parallel: 2 }));
  expect([...running.keys()]).toEqual(['b0', 'b1']);
  await end(['b1']);
  expect([...running.keys()]).toEqual(['b0', 'b2']);
  await end(['b0', 'b2']);
  expect([...running.keys()]).toEqual(['b3', 'b4']);
});

it('lets so much time pass between two beginnings, also when bots end early', async () => {
  const operation = await engine().add(task(3, { stagger_ms: 100 }));
  await end(['b0']);
  await clock.pass(99);
  expect([...running.keys()]).toEqual([]);
  await clock.pass(1);
  expect([...running.keys()]).toEqual(['b1']);
  await clock.pass(100);
  expect([...running.keys()]).toEqual(['b1', 'b2']);
  await end();
  await operation.ended;
  expect(operation.bots.map(({ began_ms }) => began_ms)).toEqual(
    [0, 100, 200].map((ms) => operation.record.began_ms + ms),
  );
});

it('begins no further bot once more than max_failed have failed, and those that run end', async () => {
  const operations = engine();
  const operation = await operations.add(task(6, { parallel: 3, max_failed: 1 }));
  await fail(['b0']);
  expect(operation.state).toBe('running');
  await fail(['b1']);
  expect(operation.state).toBe('stopping');
  expect([...running.keys()]).toEqual(['b2', 'b3']);
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  await end();
  expect(operation.record).toMatchObject({
    state: 'stopped',
    reason: 'failed: 2, max_failed: 1',
    counts: { done: 2, failed: 2, skipped: 2 },
  });
  expect(operation.bots[5]).toMatchObject({
    result: 'skipped',
    text: 'failed: 2, max_failed: 1',
  });
});

it('without max_failed any number may fail; with 0, none', async () => {
  const any = await engine().add(task(3, { parallel: 1 }));
  await fail(['b0']);
  await fail(['b1']);
  expect(any.state).toBe('running');
  await end();
  const none = await engine().add(task(3, { parallel: 1, max_failed: 0 }));
  await fail(['b0']);
  expect(none.state).toBe('stopped');
});

it('is canceled: begins no further bot, and ends when those that run have', async () => {
  const operations = engine();
  const operation = await operations.add(task(4, { parallel: 2, stagger_ms: 10 }));
  await clock.pass(10);
  expect(operation.cancel('canceled by Bo')).toBe(true);
  expect(operation.cancel('canceled by Cy')).toBe(true);
  expect(operation.state).toBe('canceling');
  expect(operation.pause()).toBe(false);
  await end(['b0']);
  await clock.pass(100);
  expect([...running.keys()]).toEqual(['b1']);
  await end();
  expect(operation.record).toMatchObject({ state: 'canceled', reason: 'canceled by Bo' });
  expect(results(operations, operation)).toEqual([
    'b0 done',
    'b1 done',
    'b2 skipped',
    'b3 skipped',
  ]);
  expect(operation.cancel('canceled by Cy')).toBe(false);
});

it('is paused and resumed, and can be canceled while it is paused', async () => {
  const operations = engine();
  const operation = await operations.add(task(3, { parallel: 1 }));
  expect(operation.pause()).toBe(true);
  await end(['b0']);
  expect(operation.state).toBe('paused');
  expect([...running.keys()]).toEqual([]);
  expect(operation.resume()).toBe(true);
  expect([...running.keys()]).toEqual(['b1']);
  operation.pause();
  await end();
  operation.cancel('canceled by Bo');
  expect(operation.state).toBe('canceled');
});

it('one that was paused while its last bots ran is done when they have ended', async () => {
  const operation = await engine().add(task(2));
  operation.pause();
  await end();
  expect(operation.state).toBe('done');
});

it('begins no bot beyond the gate until what is checked there lets it continue', async () => {
  const check = new Deferred();
  const seen: AbortSignal[] = [];
  const gate = {
    after: 2,
    check(signal: AbortSignal) {
      seen.push(signal);
      return check.promise;
    },
  };
  const operation = await engine().add({ ...task(5), gate });
  expect([...running.keys()]).toEqual(['b0', 'b1']);
  await end(['b0']);
  expect(seen).toEqual([]);
  await end(['b1']);
  expect(seen).toHaveLength(1);
  expect(operation.state).toBe('running');
  expect([...running.keys()]).toEqual([]);
  check.resolve();
  await settled();
  expect([...running.keys()]).toEqual(['b2', 'b3', 'b4']);
});

it('a gate that refuses stops the operation, for its reason', async () => {
  const check = async (): Promise<void> => {
    throw new DroverError('conflict', 'the first bots are not healthy');
  };
  const operation = await engine().add({ ...task(3), gate: { after: 1, check } });
  await end(['b0']);
  expect(operation.record).toMatchObject({
    state: 'stopped',
    reason: 'the first bots are not healthy',
  });
});

it('a gate behind the last bot is passed before the operation is done, and a cancel ends it', async () => {
  const gate = { after: 9, check: () => new Promise<void>(() => {}) };
  const operation = await engine().add({ ...task(2), gate });
  await end();
  expect(operation.state).toBe('running');
  operation.cancel('canceled by Bo');
  expect(operation.state).toBe('canceled');
});

it('tells its beginning, its end, and between them at most four times a second', async () => {
  const operations = engine();
  await operations.add(task(100, { parallel: 1 }));
  for (let n = 0; n < 100; n += 1) {
    await end([`b${n}`]);
    await clock.pass(10);
  }
  expect(told.at(0)).toMatchObject({ state: 'running', counts: { done: 0 } });
  expect(told.at(-1)).toMatchObject({ state: 'done', counts: { done: 100 } });
  expect(told.length).toBeGreaterThanOrEqual(4);
  expect(told.length).toBeLessThanOrEqual(7);
  await clock.pass(10_000);
  expect(clock.timers).toBe(0);
});

it('is stored at its beginning, once a second, and at its end', async () => {
  const operations = engine();
  await operations.add(task(1000, { parallel: 1 }));
  expect(writes).toBe(1);
  for (let n = 0; n < 1000; n += 1) {
    await end([`b${n}`]);
    await clock.pass(2);
  }
  expect(writes).toBeLessThanOrEqual(4);
  const again = engine();
  const [record] = again.all();
  expect(record).toMatchObject({ state: 'done', counts: { done: 1000 } });
  expect(Array.from(again.bots(record as never)).map(({ id }) => id)).toEqual(names(1000));
});

it('after a kill nothing that was not stored is said to be done', async () => {
  const first = await engine().add(task(4, { parallel: 2 }));
  await end(['b0']);
  await clock.pass(1000);
  await end(['b1']);
  // Killed here: that b1 is done, and b3 has begun, is not on the disk.
  const after = engine();
  const record = after.record(first.id);
  expect(record).toMatchObject({
    state: 'interrupted',
    reason: 'the service ended before the operation',
    counts: { done: 1, unknown: 3, waiting: 0, running: 0 },
  });
  expect(results(after, { record } as Operation)).toEqual([
    'b0 done',
    'b1 unknown',
    'b2 unknown',
    'b3 unknown',
  ]);
  await settled();
  // That is stored too.
  expect([...engine().all()][0]).toMatchObject({ state: 'interrupted' });
});

it('an orderly stop knows what was not begun', async () => {
  const operations = engine();
  const operation = await operations.add(task(3, { parallel: 1 }));
  await end(['b0']);
  await operations.stop();
  await end(['b1']);
  const after = engine();
  expect(results(after, operation)).toEqual(['b0 done', 'b1 unknown', 'b2 skipped']);
  expect(after.record(operation.id)).toMatchObject({
    state: 'interrupted',
    reason: 'the service was stopped',
  });
  await expect(operations.add(task(1))).rejects.toThrow('shutting down');
});

it('one that can continue does, with the bots whose end is not known, and paused if it was', async () => {
  const ends: string[] = [];
  const resume = () => ({
    ...task(4, { parallel: 2 }),
    type: 'rollout' as const,
    continues: true as const,
    ended: ({ id }: { id: string }) => void ends.push(id),
  });
  const first = await engine().add(resume());
  await end(['b0']);
  first.pause();
  await clock.pass(1000);
  running.clear();
  const after = engine({ resume });
  expect(after.record(first.id)).toMatchObject({
    state: 'paused',
    counts: { done: 1, waiting: 3 },
  });
  after.start();
  expect([...running.keys()]).toEqual([]);
  after.open(first.id)?.resume();
  expect([...running.keys()]).toEqual(['b1', 'b2']);
  // Stopped in order, it continues again.
  await after.stop();
  await end(['b1'], new DroverError('unavailable'));
  expect(ends).toEqual(['b0']);
  const last = engine({ resume });
  last.start();
  expect([...running.keys()].sort()).toEqual(['b1', 'b2']);
  await end();
  await end();
  expect(last.record(first.id)).toMatchObject({ state: 'done', counts: { done: 4 } });
});

it('one that can continue is not ended by an orderly stop, and passes its gate after it', async () => {
  const checks: string[] = [];
  const gate = { after: 1, check: async () => void checks.push('checked') };
  const task1 = { ...task(3, { parallel: 1 }), continues: true as const };
  const before = engine();
  const { id } = await before.add({
    ...task1,
    gate: { ...gate, check: () => new Promise<void>(() => {}) },
  });
  await end(['b0']);
  await before.stop();
  const after = engine({ resume: () => ({ ...task1, gate }) });
  expect(after.record(id)).toMatchObject({ state: 'running', counts: { done: 1, waiting: 2 } });
  after.start();
  await settled();
  expect([checks, [...running.keys()]]).toEqual([['checked'], ['b1']]);
});

it('while the disk is full no more than 1,000 are kept either', async () => {
  isDiskFull = true;
  const operations = engine();
  for (let n = 0; n < 1005; n += 1) await operations.add({ ...task(0), title: `small ${n}` });
  expect([...operations.all()]).toHaveLength(1000);
  expect(clock.timers).toBeLessThanOrEqual(1000);
});

it('what the last run has not ended is told when the service starts', async () => {
  const { id } = await engine().add(task(1));
  told.length = 0;
  const after = engine();
  await settled();
  expect(told).toEqual([]);
  after.start();
  expect(told).toMatchObject([{ id, state: 'interrupted' }]);
});

it('is kept for a day after its end', async () => {
  const operations = engine();
  const operation = await operations.add(task(600));
  await clock.pass(2 * DAY_MS);
  expect([...operations.all()]).toHaveLength(1);
  await end();
  await clock.pass(DAY_MS);
  expect([...operations.all()]).toHaveLength(1);
  await clock.pass(1);
  expect([...operations.all()]).toEqual([]);
  expect(() => operations.record(operation.id)).toThrow(`no operation "${operation.id}"`);
  await settled();
  expect(table.size).toBe(0);
});

it('what is said of it after its end is told and stored, and a plan is for the service alone', async () => {
  const operations = engine();
  const plan = { config: { pace: 2 } };
  const operation = await operations.add({ ...task(1), type: 'rollout', plan });
  await end();
  await operation.ended;
  await settled();
  told = [];
  operations.note(operation.id, { reason: 'taken back' });
  expect(told).toMatchObject([{ id: operation.id, reason: 'taken back' }]);
  expect(told[0]).not.toHaveProperty('plan');
  await settled();
  expect(engine().record(operation.id)).toMatchObject({ reason: 'taken back', plan });
});

it('what is called before is told the id, and what it throws refuses the operation', async () => {
  const operations = engine();
  const prepared: string[] = [];
  const prepare = async (id: string): Promise<void> => void prepared.push(id);
  const operation = await operations.add({ ...task(1), prepare });
  expect(prepared).toEqual([operation.id]);
  const full = new DroverError('not_stored');
  const refused = { ...task(1), prepare: () => Promise.reject(full) };
  await expect(operations.add(refused)).rejects.toBe(full);
  expect([...operations.all()].map(({ id }) => id)).toEqual([operation.id]);
});

it('keeps 1,000 operations and 300,000 bots, and removes the oldest that have ended', async () => {
  const operations = engine();
  const open = await operations.add({ ...task(1), title: 'open' });
  for (let n = 0; n < 1001; n += 1) await operations.add({ ...task(0), title: `small ${n}` });
  const titles = Array.from(operations.all(), ({ title }) => title);
  expect(titles).toHaveLength(1000);
  expect(titles.at(0)).toBe('small 1000');
  expect(titles.at(-1)).toBe('open');
  const large = names(100_000);
  for (let n = 0; n < 4; n += 1) {
    await operations.add({ ...task(0), bots: large, run: async () => ({ skipped: 'a test' }) });
    await settled();
  }
  expect(Array.from(operations.all(), ({ bots }) => bots)).toEqual([100_000, 100_000, 1]);
  await end();
  expect(open.state).toBe('done');
});

it('refuses one more than 400 that have not ended, but not one that ends bots', async () => {
  const operations = engine();
  for (let n = 0; n < 400; n += 1) await operations.add(task(1));
  await expect(operations.add(task(1))).rejects.toThrow(
    '400 operations have not ended, which is the limit: wait, or cancel some',
  );
  await operations.add(task(1), true);
});

it('continues while the disk is full, and is stored when it no longer is', async () => {
  isDiskFull = true;
  const operations = engine();
  const operation = await operations.add(task(600));
  await clock.pass(1000);
  await end();
  expect(operation.state).toBe('done');
  await clock.pass(5000);
  expect(results(operations, operation)).toEqual(names(600).map((bot) => `${bot} done`));
  expect(table.size).toBe(0);
  isDiskFull = false;
  await clock.pass(1000);
  const after = engine();
  expect(after.record(operation.id)).toMatchObject({ state: 'done' });
  expect(results(after, operation)).toHaveLength(600);
  expect(clock.timers).toBe(0);
});

it('is waited for until its end, for a time, or until nobody waits; a crowd does not wait', async () => {
  const operations = engine();
  const operation = await operations.add(task(1));
  const left = new AbortController();
  const over: string[] = [];
  const wait = async (name: string, ms: number | null, gone?: AbortSignal): Promise<void> => {
    await operations.wait(operation, ms, gone);
    over.push(name);
  };
  void wait('no time', 0);
  void wait('a second', 1000);
  void wait('any time', null);
  void wait('until it leaves', null, left.signal);
  await settled();
  expect(over).toEqual(['no time']);
  left.abort();
  await settled();
  expect(over.splice(0)).toEqual(['no time', 'until it leaves']);
  await clock.pass(1000);
  expect(over.splice(0)).toEqual(['a second']);
  // One waits already.
  for (let n = 0; n < 500; n += 1) void wait(`${n}`, 5000);
  await settled();
  expect(over.splice(0)).toEqual(['499']);
  await end();
  expect(over).toHaveLength(500);
  expect(clock.timers).toBe(0);
});

it('no event leads out of an end, and every other state leads to one', () => {
  const events = [
    'begin',
    'pause',
    'resume',
    'cancel',
    'fail',
    'finish',
    'settle',
    'interrupt',
  ] as const;
  for (const state of OPERATION_STATES) {
    const isEnd = ['done', 'canceled', 'stopped', 'interrupted'].includes(state);
    expect(events.some((event) => takes(state, event))).toBe(!isEnd);
    expect(nextState(state, 'interrupt')).toBe(isEnd ? state : 'interrupted');
  }
});
