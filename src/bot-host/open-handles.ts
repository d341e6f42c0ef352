// Runs in a bot host thread. Owns the look at what ended runs have left open. Node keeps with each handle the context in which it was
// made, so nothing has to be noted while bots run.

import { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';
import { type CurrentRun, runAsHost, runOfHandle } from './current-bot.js';

/** What libuv has open in this thread and keeps it awake. Not in Node's types, and in its documentation only as deprecated. */
interface ProcessHandles {
  _getActiveHandles?(): { _handle?: object | null }[];
}

/** After the end of a run, in ms: what it has closed is gone by then, also a connection that waits for its other end. */
const LOOK_AFTER_MS = 5000;

/** Connections, servers, child processes and pipes that bots have open, each with its run; also those that a run has left behind. */
function* openHandles(): Generator<[handle: object, run: CurrentRun]> {
  for (const handle of (process as ProcessHandles)._getActiveHandles?.() ?? []) {
    const run = handle._handle && runOfHandle(handle._handle);
    if (run) yield [handle, run];
  }
}

/** How many of these there are, by kind. What a kind's module has opened, and files, are in no list. */
export function openByKind(): Record<string, number> {
  const open: Record<string, number> = Object.create(null);
  for (const [, { kind }] of openHandles()) open[kind.kind] = (open[kind.kind] ?? 0) + 1;
  return open;
}

/** Ends the child processes that bots have left: the thread ends, and nobody else knows them. */
export function endChildren(): void {
  for (const [handle] of openHandles()) if (handle instanceof ChildProcess) handle.kill();
}

/** Tells what runs have left open. */
export class LeftOpen {
  readonly #tell: (run: CurrentRun, what: string) => void;
  readonly #afterMs: number;
  /** Runs that have ended since the last look. Bounded by the runs that end within its time. */
  #ended = new Set<CurrentRun>();

  /** @param tell is called for a run that has left something, with what, in words. */
  constructor(tell: (run: CurrentRun, what: string) => void, afterMs = LOOK_AFTER_MS) {
    this.#tell = tell;
    this.#afterMs = afterMs;
  }

  /** The run is over. */
  note(run: CurrentRun): void {
    this.#ended.add(run);
    if (this.#ended.size > 1) return;
    // One look for all that end together: it goes through everything that is open.
    runAsHost(() => setTimeout(() => this.#look(), this.#afterMs).unref());
  }

  #look(): void {
    const left = new Map<CurrentRun, object[]>();
    for (const [handle, run] of openHandles()) {
      if (this.#ended.has(run)) left.set(run, [...(left.get(run) ?? []), handle]);
    }
    this.#ended = new Set();
    for (const [run, handles] of left) this.#tell(run, inWords(handles));
  }
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
  return handle instanceof Socket ? 'connection' : 'other handle';
}
