// Runs in a bot host thread. Owns the note whose connections, servers, child processes and threads there are, the search for those
// that ended runs have left open, and their end.

import childProcess, { ChildProcess } from 'node:child_process';
import { Socket as UdpSocket } from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import { Server, Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { ForkGate } from '../shared/memory/fork-gate.js';
import { type CurrentRun, currentRun, runAsBot, runAsHost } from './current-bot.js';
import { runContained } from './own-listeners.js';
import { ownProperty } from './own-values.js';

/**
 * The handles of libuv that keep this thread awake. Node's types lack them, and its documentation calls them
 * deprecated.
 */
interface ProcessHandles {
  _getActiveHandles?(): object[];
}
const { _getActiveHandles: activeHandles } = process as ProcessHandles;

/** After the end of a run, in ms: what it has closed is gone by then, also a connection that waits for its other end. */
const LOOK_AFTER_MS = 5000;

/** Lines about what one run has left: a client that connects again and again would have no end of them. */
const MAX_TOLD = 3;

/**
 * The methods that open each kind of handle. Functions of Node's modules, and the classes for TLS and HTTP, call these.
 */
const OPENERS: readonly (readonly [prototype: object, method: string])[] = [
  [Socket.prototype, 'connect'],
  [Server.prototype, 'listen'],
  [UdpSocket.prototype, 'bind'],
  [ChildProcess.prototype, 'spawn'],
];

/** These start a child process without `ChildProcess`. */
const SYNCHRONOUS = ['spawnSync', 'execSync', 'execFileSync'] as const;

/** How the functions that note it are called in a stack. */
export const NOTING = 'droverNotesOpener';

const gate = ForkGate.ofProcess();

/** The run whose code has opened it. */
const openers = new WeakMap<object, CurrentRun>();
/** Threads that bots have made and that run. Bounded by memory: each has a heap. */
const workers = new Map<Worker, CurrentRun>();

/** Called when a run that is gone opens something. */
let noteLate: (run: CurrentRun) => void = () => {};

/** Called when a bot starts a child process. */
let noteChild: () => void = () => {};

/** Calls `note` when a bot starts a child process. */
export function watchChildren(note: () => void): void {
  noteChild = note;
}

/** Notes from now on, for the thread, who opens what. */
export function noteOpeners(): void {
  for (const [prototype, method] of OPENERS) {
    const open = Reflect.get(prototype, method) as (...args: unknown[]) => unknown;
    const noting = function (this: object, ...args: unknown[]): unknown {
      const run = currentRun();
      if (run) openers.set(this, run);
      else openers.delete(this);
      if (run?.isGone) noteLate(run);
      if (this instanceof ChildProcess) {
        if (run) noteChild();
        return gate.start(() => open.apply(this, args));
      }
      return open.apply(this, args);
    };
    Object.defineProperty(noting, 'name', { value: NOTING });
    Reflect.set(prototype, method, noting);
  }
  for (const name of SYNCHRONOUS) {
    const start = childProcess[name] as (...args: unknown[]) => unknown;
    Reflect.set(childProcess, name, (...args: unknown[]) => gate.start(() => start(...args)));
  }
  syncBuiltinESMExports();
  ownProperty(process, '_getActiveHandles', () =>
    [...openHandles()].flatMap(([handle, run]) => (run === currentRun() ? [handle] : [])),
  );
}

/** For the event `worker` of the process: notes whose thread it is. */
export function noteWorker(worker: Worker): void {
  const run = currentRun();
  if (!run) return;
  workers.set(worker, run);
  // Node reports its end outside of any context.
  const { emit } = worker as unknown as { emit: (...args: unknown[]) => boolean };
  Reflect.set(worker, 'emit', (...args: unknown[]) =>
    runContained(run, () => Reflect.apply(emit, worker, args)),
  );
  if (run.isGone) noteLate(run);
  worker.once('exit', () => workers.delete(worker));
}

/** Connections, servers and child processes that bots have open, each with its run; also those that a run has left behind. */
function* openHandles(): Generator<[handle: object, run: CurrentRun]> {
  for (const handle of activeHandles?.call(process) ?? []) {
    // An accepted connection belongs to the run that has opened the server.
    const { server } = handle as { server?: object | null };
    const run = openers.get(handle) ?? (server ? openers.get(server) : undefined);
    if (run) yield [handle, run];
  }
}

/** How many of these there are, by kind. What a kind's module has opened, and files, are in no list. */
export function openByKind(): Record<string, number> {
  const open: Record<string, number> = Object.create(null);
  for (const [, { kind }] of openHandles()) open[kind.kind] = (open[kind.kind] ?? 0) + 1;
  return open;
}

/**
 * Counts by the number of the run; only runs that have some. A pooled connection of `fetch` is that of the run which
 * was first.
 */
export function openByRun(): Map<number, number> {
  const open = new Map<number, number>();
  for (const [, { number }] of openHandles()) open.set(number, (open.get(number) ?? 0) + 1);
  return open;
}

function* openChildren(): Generator<[child: ChildProcess, run: CurrentRun]> {
  for (const [handle, run] of openHandles())
    if (handle instanceof ChildProcess) yield [handle, run];
}

/** Child processes that bots have open, each with the number of the run. */
export function* childrenByRun(): Generator<[pid: number, run: number]> {
  for (const [{ pid }, { number }] of openChildren()) if (pid !== undefined) yield [pid, number];
}

/** Ends the child processes that bots have left: the thread ends, and nobody else knows them. */
export function endChildren(): void {
  for (const [child, run] of openChildren()) end(run, child, 'SIGTERM');
}

/** Ends what runs have left open, and tells what it was. What such a run opens later is ended too. */
export class LeftOpen {
  readonly #tell: (run: CurrentRun, what: string) => void;
  readonly #afterMs: number;
  /** When to look at runs that have ended, by performance.now(). Bounded by the runs that end within the time until then. */
  readonly #ended = new Map<CurrentRun, number>();
  /** When to look again at those that had left something: what is still there is killed. */
  readonly #asked = new Map<CurrentRun, number>();
  readonly #told = new WeakMap<CurrentRun, number>();
  #isWaiting = false;

  /** @param tell is called for a run that has left something, with what, in words. */
  constructor(tell: (run: CurrentRun, what: string) => void, afterMs = LOOK_AFTER_MS) {
    this.#tell = tell;
    this.#afterMs = afterMs;
    noteLate = (run) => this.note(run);
  }

  /** The run is over, or has opened something although it is. */
  note(run: CurrentRun): void {
    if (this.#ended.has(run)) return;
    this.#ended.set(run, performance.now() + this.#afterMs);
    this.#lookLater();
  }

  /** Ends an interval that has called the code of a run that is gone. */
  endInterval(run: CurrentRun, interval: NodeJS.Timeout): void {
    clearInterval(interval);
    this.#say(run, 'an interval');
  }

  #lookLater(): void {
    if (this.#isWaiting || this.#ended.size + this.#asked.size === 0) return;
    this.#isWaiting = true;
    // All wait equally long, so the first entry is due first.
    const [[ended = Number.POSITIVE_INFINITY], [asked = Number.POSITIVE_INFINITY]] = [
      this.#ended.values(),
      this.#asked.values(),
    ];
    const waitMs = Math.max(0, Math.ceil(Math.min(ended, asked) - performance.now()));
    runAsHost(() => setTimeout(() => this.#look(), waitMs).unref());
  }

  #look(): void {
    this.#isWaiting = false;
    const ended = takeDue(this.#ended);
    const asked = takeDue(this.#asked);
    const left = new Map<CurrentRun, object[]>();
    for (const [handle, run] of [...openHandles(), ...workers]) {
      if (isPooled(handle)) continue;
      if (asked.has(run)) end(run, handle, 'SIGKILL');
      else if (ended.has(run)) {
        const handles = left.get(run);
        if (handles) handles.push(handle);
        else left.set(run, [handle]);
      }
    }
    for (const run of ended) run.isGone = true;
    for (const [run, handles] of left) {
      this.#asked.set(run, performance.now() + this.#afterMs);
      this.#say(run, inWords(handles));
      for (const handle of handles) end(run, handle, 'SIGTERM');
    }
    this.#lookLater();
  }

  #say(run: CurrentRun, what: string): void {
    const told = (this.#told.get(run) ?? 0) + 1;
    this.#told.set(run, told);
    if (told <= MAX_TOLD) this.#tell(run, what);
  }
}

/** Takes the runs whose time has come. */
function takeDue(times: Map<CurrentRun, number>): Set<CurrentRun> {
  const now = performance.now();
  const due = new Set<CurrentRun>();
  for (const [run, at] of times) {
    if (at > now) continue;
    times.delete(run);
    due.add(run);
  }
  return due;
}

/** A connection of a pool, of fetch or of an `http.Agent`, that bots share: the first one has opened it. */
function isPooled(handle: object): boolean {
  if (!(handle instanceof Socket)) return false;
  if (handle.listenerCount('agentRemove') > 0) return true;
  return Object.getOwnPropertySymbols(handle).some(
    (key) => key.description === 'client' && Reflect.get(handle, key) !== null,
  );
}

/** Runs in the run's context, because listeners of the handle are its code. */
function end(run: CurrentRun, handle: object, signal: NodeJS.Signals): void {
  runAsBot(run, () => {
    try {
      if (handle instanceof ChildProcess) handle.kill(signal);
      else if (handle instanceof Worker) void handle.terminate();
      else if (handle instanceof Socket) handle.destroy();
      else if (handle instanceof Server || handle instanceof UdpSocket) handle.close();
    } catch (thrown) {
      run.fail(thrown);
    }
  });
}

/** `2 connections, 1 server, child process 4711`. */
function inWords(handles: readonly object[]): string {
  const counts = new Map<string, number>();
  const children: string[] = [];
  for (const handle of handles) {
    if (handle instanceof ChildProcess) children.push(`child process ${handle.pid}`);
    else counts.set(nameOf(handle), (counts.get(nameOf(handle)) ?? 0) + 1);
  }
  const counted = [...counts].map(([name, count]) => `${count} ${name}${count === 1 ? '' : 's'}`);
  return [...counted, ...children].join(', ');
}

function nameOf(handle: object): string {
  if (handle instanceof Server) return 'server';
  if (handle instanceof Worker) return 'thread';
  return handle instanceof UdpSocket ? 'UDP socket' : 'connection';
}
