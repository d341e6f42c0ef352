// Runs in a bot host thread, of `drover kinds test` only. Owns the list of timers, sockets, child processes and threads that a kind's
// code has made and that still exist.

import { createHook, executionAsyncId } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { LeftBehind } from '../shared/contract/host-messages.js';
import { currentRun } from './current-bot.js';
import { NOTING } from './open-handles.js';
import { type StackFrame, stackFrame } from './stack-frame.js';

/** The names in the list, by the type of async_hooks. Other resources end by themselves, or with one of these. */
const NAMES: Readonly<Record<string, string>> = {
  Timeout: 'timer',
  Immediate: 'immediate',
  TCPSERVERWRAP: 'server',
  PIPESERVERWRAP: 'server',
  TCPWRAP: 'connection',
  PIPEWRAP: 'pipe',
  UDPWRAP: 'UDP socket',
  PROCESSWRAP: 'child process',
  WORKER: 'worker thread',
  MESSAGEPORT: 'message port',
  FSEVENTWRAP: 'file watcher',
  STATWATCHER: 'file watcher',
  FILEHANDLE: 'open file',
};
/** Steps that make the handle of a server later: the code that asked for it is that of the step. */
const STEPS: readonly string[] = ['TickObject', 'GETADDRINFOREQWRAP'];
/**
 * Parts of a resource that is listed itself: a child's pipes, a worker's ports, the timers and sockets of fetch's pool. And the timer
 * of `AbortSignal.timeout`, which nobody can clear and which keeps nothing awake.
 */
const PARTS = /node:internal\/(?:child_process|worker|deps\/undici|abort_controller)/;
const FRAMES = 30;
/** Lines at the top of a stack in the hook that are skipped: its head, and two frames of this file. */
const OWN_LINES = 3;
/** Most resources and steps that are kept. More would not make the list more useful. */
const MAX_RESOURCES = 10_000;
/** Interval between two checks, in ms: a closed socket disappears some turns of the loop later. */
const LOOK_MS = 10;

interface Resource {
  type: string;
  at: string | null;
  /** Weak: what nothing else refers to is gone. */
  handle: WeakRef<object>;
}

export class LeftBehindList {
  readonly #resources = new Map<number, Resource>();
  /** The places in code of the steps that are still to come. */
  readonly #places = new Map<number, StackFrame>();
  readonly #workers = new Map<Worker, string | null>();
  /** Where the workers were made whose event is still to come, oldest first. */
  readonly #newWorkers: (string | null)[] = [];

  /** Notes what is made from now on. */
  start(): void {
    createHook({
      init: (id, type, _trigger, handle) => {
        try {
          this.#made(id, type, handle);
        } catch {
          // A bot may format stacks itself. What it made is not listed then; a throw here would end the host.
        }
      },
      destroy: (id) => {
        this.#resources.delete(id);
        this.#places.delete(id);
      },
    }).enable();
    process.on('worker', (worker) => {
      const at = this.#newWorkers.shift() ?? null;
      this.#workers.set(worker, at);
      worker.once('exit', () => this.#workers.delete(worker));
    });
  }

  /** The resources that still exist, after `withinMs` at the latest: those that are closing have that long. */
  async list(withinMs: number): Promise<LeftBehind[]> {
    const until = performance.now() + withinMs;
    for (;;) {
      const left = this.#left();
      if (left.length === 0 || performance.now() >= until) return left;
      await delay(LOOK_MS);
    }
  }

  #left(): LeftBehind[] {
    const left: LeftBehind[] = [];
    for (const { type, at, handle } of this.#resources.values()) {
      const resource = handle.deref();
      if (!resource) continue;
      const pid = type === 'PROCESSWRAP' ? Reflect.get(resource, 'pid') : undefined;
      const isRepeated = type === 'Timeout' && Reflect.get(resource, '_repeat') !== null;
      const what = isRepeated ? 'interval' : (NAMES[type] ?? type);
      left.push({ what, at, pid: typeof pid === 'number' ? pid : null });
    }
    for (const at of this.#workers.values()) {
      left.push({ what: NAMES['WORKER'] ?? '', at, pid: null });
    }
    return left;
  }

  #made(id: number, type: string, handle: object): void {
    const isStep = STEPS.includes(type);
    const kept = isStep ? this.#places : this.#resources;
    if (!(isStep || Object.hasOwn(NAMES, type)) || kept.size >= MAX_RESOURCES) return;
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = FRAMES;
    const stack = new Error().stack ?? '';
    Error.stackTraceLimit = stackTraceLimit;
    const place = placeIn(stack) ?? this.#places.get(executionAsyncId());
    if (isStep) {
      if (place) this.#places.set(id, place);
      return;
    }
    if (type === 'WORKER') {
      this.#newWorkers.push(place?.at ?? null);
      return;
    }
    if (PARTS.test(stack) && type !== 'PROCESSWRAP') return;
    // A resource without a place was made by the system, such as a server's new connection. One of no run is the
    // host's.
    if (place ? place.isOwn : !currentRun()) return;
    this.#resources.set(id, { type, at: place?.at ?? null, handle: new WeakRef(handle) });
  }
}

/** The nearest code that is not Node's: whether it is Drover's, and the nearest that is no package's. */
function placeIn(stack: string): StackFrame | undefined {
  const lines = stack.split('\n').slice(OWN_LINES);
  const places = lines.flatMap((line) => (line.includes(NOTING) ? [] : (stackFrame(line) ?? [])));
  const [nearest] = places;
  if (!nearest) return undefined;
  const own = places.find(({ isOwn, at }) => !isOwn && !at.includes('/node_modules/'));
  return { ...(own ?? nearest), isOwn: nearest.isOwn };
}
