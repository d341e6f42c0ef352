// The gate between threads that start child processes and threads that open files for this process alone.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { ForkGate } from '../../../src/shared/memory/fork-gate.js';

/** No test waits for it. */
const LONG_MS = 60_000;
/** Cells of the test: what the thread has reached, and the order in which the two sides have come to their ends. */
const REACHED = 0;
const ORDER = 1;

const THREAD = `
const { workerData: { module, gate, cells, what, holdMs } } = require('node:worker_threads');
const log = new Int32Array(cells);
const reach = () => { Atomics.store(log, ${REACHED}, 1); Atomics.notify(log, ${REACHED}); };
import(module).then(({ ForkGate }) => {
  const own = new ForkGate(gate, ${LONG_MS}, ${LONG_MS});
  if (holdMs === 0) reach();
  own[what](() => {
    if (holdMs === null) { reach(); process.exit(); }
    if (holdMs > 0) { reach(); Atomics.wait(log, ${ORDER}, 0, holdMs); }
    Atomics.add(log, ${ORDER}, 1);
    Atomics.notify(log, ${ORDER});
  });
});`;

interface Other {
  log: Int32Array;
  thread: Worker;
  ended: Promise<unknown>;
}

/** @param holdMs how long it stays in its step; 0: it says that it is there before the step; null: its thread ends within it. */
function other(gate: SharedArrayBuffer, what: 'start' | 'open', holdMs: number | null): Other {
  const cells = new SharedArrayBuffer(8);
  const module = new URL('../../../dist/src/shared/memory/fork-gate.js', import.meta.url).href;
  const workerData = { module, gate, cells, what, holdMs };
  const thread = new Worker(THREAD, { eval: true, workerData });
  onTestFinished(async () => void (await thread.terminate()));
  return { log: new Int32Array(cells), thread, ended: once(thread, 'exit') };
}

const reached = ({ log }: Other): void => void Atomics.wait(log, REACHED, 0, LONG_MS);

it('no child starts while something is opened', async () => {
  const buffer = ForkGate.create();
  let started: Other | undefined;
  new ForkGate(buffer, LONG_MS).open(() => {
    started = other(buffer, 'start', 0);
    reached(started);
    // It would come to its end within this time, and does not.
    expect(Atomics.wait(started.log, ORDER, 0, 50)).toBe('timed-out');
  });
  await started?.ended;
  expect(started?.log[ORDER]).toBe(1);
});

it('nothing is opened while a child starts', async () => {
  const buffer = ForkGate.create();
  const starting = other(buffer, 'start', 50);
  reached(starting);
  const order = new ForkGate(buffer, LONG_MS).open(() => starting.log[ORDER]);
  expect(order).toBe(1);
  await starting.ended;
});

it.each(['start', 'open'] as const)(
  'a thread that ended within %s is waited for once',
  async (what) => {
    const buffer = ForkGate.create();
    await other(buffer, what, null).ended;
    expect(Array.from(new Int32Array(buffer)).sort()).toEqual([0, 1]);
    const gate = new ForkGate(buffer, 1, 1);
    expect([gate.start(() => 'started'), gate.open(() => 'opened')]).toEqual(['started', 'opened']);
    expect(Array.from(new Int32Array(buffer))).toEqual([0, 0]);
  },
);

it('a start that was not waited for any more is not counted twice', () => {
  const buffer = ForkGate.create();
  const gate = new ForkGate(buffer, 1);
  gate.start(() => gate.open(() => {}));
  expect([...new Int32Array(buffer)]).toEqual([0, 0]);
  gate.start(() => {
    expect([...new Int32Array(buffer)]).toEqual([1, 0]);
  });
});

it('is the same for all threads of a process', async () => {
  ForkGate.ofProcess();
  const code = `require('node:worker_threads').parentPort.postMessage(
    require('node:worker_threads').getEnvironmentData('drover.fork-gate') instanceof SharedArrayBuffer);`;
  const [isThere] = await once(new Worker(code, { eval: true }), 'message');
  expect(isThere).toBe(true);
});
