// Runs in main. Owns the search for hosts that use more memory than they may. V8's own limit is no help: when one piece is
// larger than the 16 MB that it adds for a thread at its limit it ends the whole process, and it does not count what lies
// outside of the heap. So V8's limit is far above (HEADROOM_MB), and a host that is over hosts.max_heap_mb is ended here.
//
// A host whose loop turns says what it uses, ten times a second. One that is busy says nothing, and it is not asked: the
// inspector would run code in a thread that is about to run out of memory. What it takes shows in what the process takes.

import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { anonymousRss } from '../../shared/process-memory.js';
import type { HostThread } from '../threads/host-thread.js';

/** How often the hosts are looked at, in ms. */
const LOOK_MS = 100;
/** How long a host must have been silent before what the process takes is held against it, in ms. */
const SILENT_MS = 300;
/** How long a host that is ended is waited for, in ms, before another is held to be silent because of memory. */
const END_WITHIN_MS = 5000;
const MB = 2 ** 20;
/**
 * What the process may take beyond a silent host's limit, in MB, on a machine that has enough: other threads, and garbage
 * that V8 would still collect.
 */
const SLACK_MB = 256;
/** The share of a machine's memory that the slack is at most. */
const SLACK_SHARE = 1 / 8;

/** Lets hosts collect their garbage before they say what they use. Before any thread is started: flags are for all. */
export function letHostsCollectGarbage(): void {
  setFlagsFromString('--expose-gc');
}

/** Why a host is ended that uses more than it may. */
export class OutOfMemory extends Error {
  readonly code = 'ERR_WORKER_OUT_OF_MEMORY';
  /** Its loop stood still meanwhile: then the bot whose code ran last is the one that took it. */
  readonly stoodStill: boolean;

  constructor(message: string, stoodStill: boolean) {
    super(message);
    this.stoodStill = stoodStill;
    // It would be that of main.
    delete this.stack;
  }
}

interface Seen {
  beats: number;
  /** When the last beat was seen, on the clock of `performance`. */
  at: number;
  /** Bytes that the process had taken. */
  taken: number;
  unexplained: number;
}

export class MemoryGuard {
  readonly #hosts: () => Iterable<HostThread>;
  readonly #memory: () => number;
  readonly #limit: number;
  readonly #slack: number;
  /** As of the last beat that was seen of each host. */
  readonly #seen = new WeakMap<HostThread, Seen>();
  #ended: { host: HostThread; until: number } | undefined;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param hosts all whose threads have not ended. @param limitMb what one host may use, in MB.
   * @param memory what the process takes, in bytes.
   */
  constructor(hosts: () => Iterable<HostThread>, limitMb: number, memory = anonymousRss) {
    this.#hosts = hosts;
    this.#memory = memory;
    this.#limit = limitMb * MB;
    this.#slack = Math.min(SLACK_MB * MB, machineMemory() * SLACK_SHARE);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    // A tenth of a millisecond. Pages of the journal's file do not count: the system takes them back.
    const taken = this.#memory();
    const hosts = [...this.#hosts()];
    const unexplained = hosts.reduce((rest, { heap }) => rest - (heap?.used ?? 0), taken);
    const at = performance.now();
    let silent: { host: HostThread; since: number; bytes: number } | undefined;
    for (const host of hosts) {
      if (host.isLost || host.state === 'stuck') continue;
      const { beats } = host;
      // It is just starting, behind others: the first thing that it does is to beat.
      if (beats === 0) continue;
      const used = host.heap?.used ?? 0;
      const seen = this.#seen.get(host);
      if (!seen || seen.beats !== beats) {
        this.#seen.set(host, { beats, at, taken, unexplained });
        if (used > this.#limit) this.#end(host, `it used ${inMb(used)}`, false);
        continue;
      }
      // Others may have grown meanwhile, or have freed what they had.
      const grown = Math.min(taken - seen.taken, unexplained - seen.unexplained);
      const isOver = used + grown > this.#limit + this.#slack && at - seen.at >= SILENT_MS;
      // Of several it is the one that was well the longest.
      if (isOver && (!silent || seen.at > silent.since)) {
        silent = { host, since: seen.at, bytes: grown };
      }
    }
    // What one takes that is still on its way out is not held against the others.
    const isWaiting = this.#ended && hosts.includes(this.#ended.host) && at < this.#ended.until;
    if (silent && !isWaiting) {
      const { host, since, bytes } = silent;
      const forMs = Math.round(at - since);
      const what = `its loop stood still for ${forMs} ms while the process took ${inMb(bytes)}`;
      this.#end(host, what, true);
    }
  }

  #end(host: HostThread, what: string, stoodStill: boolean): void {
    this.#ended = { host, until: performance.now() + END_WITHIN_MS };
    const message = `out of memory: ${what}, and hosts.max_heap_mb is ${inMb(this.#limit)}`;
    host.kill(new OutOfMemory(message, stoodStill));
  }
}

function inMb(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}

/** Bytes that this process can have at all. */
function machineMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
