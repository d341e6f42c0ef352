// Runs in main. Owns the watch over the memory of the bot hosts: ends one that exceeds hosts.max_heap_mb. V8's own limit is no
// help: an allocation larger than the 16 MB that V8 adds for a thread at its limit ends the whole process, and memory outside
// the heap does not count. So V8's limit is far above (HEADROOM_MB in host-thread.ts).
//
// A host in which code runs reports what it uses ten times a second, from just before that code on. While nothing runs in any
// host there is nothing to check, and no timer. A blocked host reports nothing, and cannot be asked: the inspector would run
// code in a thread that is about to run out of memory. Its growth shows in that of the process.

import { setFlagsFromString } from 'node:v8';
import { anonymousRss } from '../../shared/process-memory.js';
import { availableMemory } from '../environment/available-memory.js';
import type { HostThread } from '../threads/host-thread.js';

/** How often the hosts are checked, in ms. */
const CHECK_MS = 100;
/** How long a host must have been silent before the growth of the process is attributed to it, in ms. */
const SILENT_MS = 300;
/** How long a host that was ended is waited for, in ms, before another silent one is ended. */
const END_WITHIN_MS = 5000;
const MB = 2 ** 20;
/** What the process may grow beyond a silent host's limit, in MB: other threads, and garbage that V8 would still collect. */
const SLACK_MB = 256;
/** The slack is at most this share of the available memory. */
const SLACK_SHARE = 1 / 8;

/** Lets hosts collect their garbage before they report. Call it before any thread is started: V8's flags are for all. */
export function letHostsCollectGarbage(): void {
  setFlagsFromString('--expose-gc');
}

/** The reason why a host is ended: it exceeds its limit. */
export class OutOfMemory extends Error {
  readonly code = 'ERR_WORKER_OUT_OF_MEMORY';
  /** The host's loop did not turn meanwhile, so the bot whose code ran last has allocated the memory. */
  readonly wasBlocked: boolean;

  constructor(message: string, wasBlocked: boolean) {
    super(message);
    this.wasBlocked = wasBlocked;
    // The stack would be that of main.
    delete this.stack;
  }
}

/** Memory as of a host's last heartbeat. */
interface LastBeat {
  beats: number;
  /** When the heartbeat was seen, on the clock of `performance`. */
  at: number;
  /** Bytes that the process used. */
  used: number;
  /** The part of these bytes that no host had reported. */
  unexplained: number;
}

export class MemoryGuard {
  readonly #hosts: () => Iterable<HostThread>;
  readonly #limit: number;
  readonly #slack: number;
  readonly #lastBeats = new WeakMap<HostThread, LastBeat>();
  #ended: { host: HostThread; until: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param hosts all whose threads exist. @param limitMb what one host may use, in MB. */
  constructor(hosts: () => Iterable<HostThread>, limitMb: number) {
    this.#hosts = hosts;
    this.#limit = limitMb * MB;
    this.#slack = Math.min(SLACK_MB * MB, availableMemory() * SLACK_SHARE);
    this.watch();
  }

  /** To be called when a host is awake. */
  watch(): void {
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS);
    // Measures what the process uses before the host's code runs.
    this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #check(): void {
    // Takes a tenth of a millisecond. Pages of the journal's file do not count: the system can take them back.
    const processUsed = anonymousRss();
    const hosts = [...this.#hosts()];
    const unexplained = hosts
      .filter(({ isolation }) => isolation !== 'process')
      .reduce((rest, { heap }) => rest - (heap?.used ?? 0), processUsed);
    const at = performance.now();
    let silent: { host: HostThread; since: number; bytes: number } | undefined;
    let isAnyAwake = false;
    for (const host of hosts) {
      if (host.isLost || host.state === 'stuck') continue;
      const { beats, isAsleep } = host;
      if (!isAsleep) isAnyAwake = true;
      // A host that is starting beats first of all, so it has used nothing yet.
      if (beats === 0) continue;
      const used = host.heap?.used ?? 0;
      const last = this.#lastBeats.get(host);
      if (host.isolation === 'process') {
        const silentMs = last?.beats === beats ? at - last.at : 0;
        if (!isAsleep && this.#checkProcess(host, silentMs >= SILENT_MS)) continue;
      }
      if (!last || last.beats !== beats || isAsleep) {
        this.#lastBeats.set(host, { beats, at, used: processUsed, unexplained });
        if (used > this.#limit) this.#end(host, `it used ${inMb(used)}`, false);
        continue;
      }
      // The growth of the service says nothing about a process.
      if (host.isolation === 'process') continue;
      // Other hosts may have grown meanwhile, or have freed memory.
      const grown = Math.min(processUsed - last.used, unexplained - last.unexplained);
      const isOver = used + grown > this.#limit + this.#slack && at - last.at >= SILENT_MS;
      // Of several silent hosts, the one that fell silent last is ended.
      if (isOver && (!silent || last.at > silent.since)) {
        silent = { host, since: last.at, bytes: grown };
      }
    }
    // The memory of a host that is still exiting is not attributed to the others.
    const isWaiting = this.#ended && hosts.includes(this.#ended.host) && at < this.#ended.until;
    if (silent && !isWaiting) {
      const { host, since, bytes } = silent;
      const forMs = Math.round(at - since);
      this.#end(
        host,
        `it was blocked for ${forMs} ms while the process grew by ${inMb(bytes)}`,
        true,
      );
    }
    if (isAnyAwake) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What the system says of a process is its own, with memory of native code. @returns whether the host is ended. */
  #checkProcess(host: HostThread, isSilent: boolean): boolean {
    const used = host.processMemory ?? 0;
    if (used <= this.#limit + this.#slack) return false;
    this.#end(host, `its process used ${inMb(used)}`, isSilent);
    return true;
  }

  #end(host: HostThread, what: string, wasBlocked: boolean): void {
    this.#ended = { host, until: performance.now() + END_WITHIN_MS };
    const message = `out of memory: ${what}, and hosts.max_heap_mb is ${inMb(this.#limit)}`;
    host.kill(new OutOfMemory(message, wasBlocked));
  }
}

function inMb(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}
