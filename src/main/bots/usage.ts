// Runs in main. Owns the windows in which the usage of bots is added up, by host. Hosts report once a second while bots use something.
//
// A window ends with the first report after its length, so that it holds whole reports; of a host that reports no more, because
// nothing runs there, a timer ends it. When nothing is used any more there is neither a window nor a timer.

import type { BotUsage } from '../../shared/contract/events.js';
import { runUses, type UsageReport } from '../../shared/contract/usage.js';
import type { HostThread } from '../threads/host-thread.js';
import { isUsed, type Sums, usageOf } from './usage-figures.js';

/** The part of a host that usage needs. */
export type MeasuredHost = Pick<
  HostThread,
  'isAsleep' | 'isLost' | 'beats' | 'heap' | 'onlyBot' | 'botOf'
>;

/** What a bot has used in one window. */
export interface WindowUse {
  id: string;
  /** Null when it has used nothing. */
  usage: BotUsage | null;
}

export interface UsageOptions<Host> {
  windowMs: number;
  /** Whether the bot runs on this host now. */
  isOn(id: string, host: Host): boolean;
  /**
   * A window of `ms` has ended, with these bots: those that used something in it or in the one before.
   * @returns whether it wants to see them again though they use nothing.
   */
  ended(host: Host, uses: readonly WindowUse[], ms: number): boolean;
}

interface Window {
  since: number;
  /** By bot. */
  sums: Map<string, Sums>;
  connections: Map<string, number>;
  /** Memory of child processes, by bot. */
  memory: Map<string, number>;
  /** Usage in the last window, of bots that used something. */
  last: Map<string, BotUsage>;
  timer: NodeJS.Timeout | undefined;
  /** Of the host when the timer found that the window is overdue; null before. */
  beats: number | null;
}

/** How long after its end a window waits for a report, in ms: hosts that are awake report each second. */
const LATE_MS = 2000;

export class Usage<Host extends MeasuredHost> {
  readonly #options: UsageOptions<Host>;
  readonly #now: () => number;
  /** By host, for hosts whose bots have used something, until they are gone. */
  readonly #windows = new Map<Host, Window>();
  #isStopped = false;

  /** @param now a monotonic clock in ms. */
  constructor(options: UsageOptions<Host>, now = () => performance.now()) {
    this.#options = options;
    this.#now = now;
  }

  report(host: Host, { ms, uses, connections, memory }: UsageReport): void {
    if (this.#isStopped || host.isLost) return;
    const window = this.#windowOf(host, ms);
    window.beats = null;
    // What the report is about must be within the window: it may be longer than the window was until now.
    window.since = Math.min(window.since, this.#now() - ms);
    for (const { run, cpuMs, lines, bytes } of runUses(uses)) {
      const id = host.botOf(run);
      if (id === null) continue;
      const sums = window.sums.get(id) ?? { cpuMs: 0, lines: 0, bytes: 0 };
      window.sums.set(id, sums);
      sums.cpuMs += cpuMs;
      sums.lines += lines;
      sums.bytes += bytes;
    }
    if (connections) window.connections = sumsByBot(host, connections);
    if (memory) window.memory = sumsByBot(host, memory);
    if (this.#now() - window.since >= this.#options.windowMs) this.#end(host, window);
    else if (window.timer === undefined) this.#arm(host, window, this.#options.windowMs + LATE_MS);
  }

  /** What bots that use something used in the last window of their host. */
  *all(): Generator<[id: string, usage: BotUsage]> {
    for (const { last } of this.#windows.values()) yield* last;
  }

  /** To be called when the host ends or is lost, with its bots. */
  forget(host: Host): void {
    clearTimeout(this.#windows.get(host)?.timer);
    this.#windows.delete(host);
  }

  stop(): void {
    this.#isStopped = true;
    for (const host of [...this.#windows.keys()]) this.forget(host);
  }

  /** @param ms how long the report that comes is. */
  #windowOf(host: Host, ms: number): Window {
    const known = this.#windows.get(host);
    if (known) {
      // Without a timer nothing was used since the last one.
      if (known.timer === undefined) known.since = this.#now() - ms;
      return known;
    }
    const window: Window = {
      since: this.#now() - ms,
      sums: new Map(),
      connections: new Map(),
      memory: new Map(),
      last: new Map(),
      timer: undefined,
      beats: null,
    };
    this.#windows.set(host, window);
    return window;
  }

  #arm(host: Host, window: Window, waitMs: number): void {
    clearTimeout(window.timer);
    window.timer = setTimeout(() => this.#overdue(host, window), waitMs);
  }

  #overdue(host: Host, window: Window): void {
    const { isAsleep, beats } = host;
    // A host does not beat while the code of a bot holds its loop. It reports when that is over, or is lost.
    if (!isAsleep && (window.beats === null || window.beats === beats)) {
      window.beats = beats;
      this.#arm(host, window, LATE_MS);
    } else this.#end(host, window);
  }

  #end(host: Host, window: Window): void {
    const now = this.#now();
    const ms = now - window.since;
    const { onlyBot } = host;
    const ids = new Set([
      ...window.sums.keys(),
      ...window.connections.keys(),
      ...window.memory.keys(),
      ...window.last.keys(),
    ]);
    const before = window.last;
    window.last = new Map();
    const uses: WindowUse[] = [];
    for (const id of ids) {
      // The bot has left meanwhile.
      if (!this.#options.isOn(id, host)) continue;
      const heapBytes = id === onlyBot ? (host.heap?.used ?? null) : null;
      const ofChildren = window.memory.get(id);
      const bytes = ofChildren === undefined ? heapBytes : ofChildren + (heapBytes ?? 0);
      const connections = window.connections.get(id) ?? 0;
      const usage = usageOf(window.sums.get(id), ms, connections, bytes);
      if (usage === null && !before.has(id)) continue;
      if (usage) window.last.set(id, usage);
      uses.push({ id, usage });
    }
    const wasUsed = [...window.last.values()].some(isUsed);
    window.sums = new Map();
    window.since = now;
    window.beats = null;
    clearTimeout(window.timer);
    window.timer = undefined;
    const isAwaited = this.#options.ended(host, uses, ms);
    // One more window shows that the bots use nothing now.
    if (wasUsed || isAwaited) this.#arm(host, window, this.#options.windowMs + LATE_MS);
  }
}

/** @param flat of pairs, as in UsageReport. */
function sumsByBot(host: Pick<HostThread, 'botOf'>, flat: readonly number[]) {
  const sums = new Map<string, number>();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const id = host.botOf(flat[at] ?? 0);
    if (id !== null) sums.set(id, (sums.get(id) ?? 0) + (flat[at + 1] ?? 0));
  }
  return sums;
}
