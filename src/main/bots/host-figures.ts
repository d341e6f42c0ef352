// Runs in main. Owns the last samples of how busy each bot host was. It has no timer: a request is a sample.

import { HANGS_MS, type HostInfo } from '../../shared/contract/hosts.js';
import type { HostThread } from '../threads/host-thread.js';
import type { LoopWatch, WatchedLoop } from './loop-watch.js';

/** The part of a host that is measured. */
export type MeasuredHost = WatchedLoop &
  Pick<HostThread, 'number' | 'state' | 'isolation' | 'bots' | 'heap' | 'busySeconds'>;

/** Least time between two samples, in ms: several pages ask at once, and a shorter time says little about a load. */
const LEAST_MS = 400;
/** Longest time between two samples that are compared, in ms: a longer one says little about now. */
const MOST_MS = 5000;

interface Sample {
  at: number;
  busySeconds: number;
}

export class HostFigures<Host extends MeasuredHost> {
  readonly #hosts: () => Iterable<Host>;
  readonly #loops: Pick<LoopWatch<Host>, 'silentMs' | 'delayMs'>;
  /** The two last samples of each host, at least LEAST_MS apart. */
  readonly #samples = new WeakMap<Host, { last: Sample; before: Sample | undefined }>();

  /** @param hosts all whose threads exist. */
  constructor(hosts: () => Iterable<Host>, loops: Pick<LoopWatch<Host>, 'silentMs' | 'delayMs'>) {
    this.#hosts = hosts;
    this.#loops = loops;
  }

  /**
   * By number.
   * @param reached how many bots of each host the caller may see, by the host's number; null for all of them. Hosts without any are
   * left out.
   */
  list(reached: ReadonlyMap<number, number> | null): HostInfo[] {
    const shown: HostInfo[] = [];
    for (const host of this.#hosts()) {
      // Sampled in any case: the figures of one caller must not depend on what another may see.
      const cpu = this.#cpu(host);
      const bots = reached === null ? host.bots : reached.get(host.number);
      if (bots === undefined) continue;
      shown.push({ ...this.#info(host), bots, cpu });
    }
    return shown.sort((a, b) => a.host - b.host);
  }

  #info(host: Host): Omit<HostInfo, 'bots' | 'cpu'> {
    const { number, isolation, heap } = host;
    const silentMs = host.isAsleep || host.beats === 0 ? null : this.#loops.silentMs(host);
    return {
      host: number,
      node: null,
      isolation,
      state: stateOf(host, silentMs),
      silent_ms: silentMs,
      delay_ms: this.#loops.delayMs(host),
      heap: heap && { used_bytes: heap.used, limit_bytes: heap.limit },
    };
  }

  #cpu(host: Host): number | null {
    const now: Sample = { at: performance.now(), busySeconds: host.busySeconds };
    const known = this.#samples.get(host);
    const isRecent = known !== undefined && now.at - known.last.at < LEAST_MS;
    const { before } = known && isRecent ? known : { before: known?.last };
    if (!isRecent) this.#samples.set(host, { last: now, before });
    if (!before || now.at - before.at > MOST_MS) return null;
    const seconds = (now.at - before.at) / 1000;
    const share = Math.max(0, now.busySeconds - before.busySeconds) / seconds;
    return Math.round(share * 1000) / 1000;
  }
}

function stateOf(host: MeasuredHost, silentMs: number | null): HostInfo['state'] {
  switch (host.state) {
    case 'loading':
      return 'starting';
    case 'stuck':
      return 'hangs';
    case 'ending':
    case 'lost':
    case 'gone':
      return 'ending';
    default:
      if (silentMs !== null && silentMs >= HANGS_MS) return 'hangs';
      if (host.state === 'retiring') return 'retiring';
      return host.isAsleep ? 'idle' : 'working';
  }
}
