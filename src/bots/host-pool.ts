// Runs in main. Owns the bot hosts: the shared ones, one for each dedicated bot, and what takes the place of a lost one.

import { setTimeout as delay } from 'node:timers/promises';
import type { BotExit, HostedState, LoadedKinds } from '../contract/threads.js';
import { DroverError, messageOf } from '../errors.js';
import { type HostOptions, HostThread, type Reattached } from './host-thread.js';
import { type EventSink, sessionItem } from './service-events.js';

export interface HostPoolOptions extends HostOptions {
  /** Number of shared hosts. */
  count: number;
}

/** What the pool tells of its hosts. */
export interface PoolEvents {
  exited(exit: BotExit): void;
  /** A host is gone and all of its bots with it. A shared one is being replaced. */
  lost(host: HostThread, error: Error): void;
}

/** Pause before a lost host is replaced, in ms, so that one that dies at once does not spin. */
const RESPAWN_MS = 250;
const END_WITHIN_MS = 1000;
/** How long a new broadcaster waits for what a host knows of its bots, in ms. */
const REATTACH_WITHIN_MS = 500;

export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #broadcaster: EventSink;
  readonly #events: PoolEvents;
  /** Hosts that can take bots, by number. Those of dedicated bots are among them. */
  readonly #hosts = new Map<number, HostThread>();
  readonly #shared = new Set<number>();
  /** Those who wait for a shared host. Bounded by the number of bots. */
  #waiting: (() => void)[] = [];
  #nextDedicated: number;
  #stopping = false;

  constructor(options: HostPoolOptions, broadcaster: EventSink, events: PoolEvents) {
    this.#options = options;
    this.#broadcaster = broadcaster;
    this.#events = events;
    this.#nextDedicated = options.count;
  }

  /** Starts the shared hosts. @returns what they have loaded. */
  async start(): Promise<LoadedKinds> {
    const numbers = Array.from({ length: this.#options.count }, (_, number) => number);
    const [loaded] = await Promise.all(numbers.map((number) => this.#spawn(number, true)));
    if (!loaded) throw new Error('there is no bot host');
    return loaded;
  }

  /** Number of shared hosts. */
  get count(): number {
    return this.#options.count;
  }

  all(): IterableIterator<HostThread> {
    return this.#hosts.values();
  }

  /** @throws DroverError `unavailable` when the host is not there any more. */
  get(number: number): HostThread {
    const host = this.#hosts.get(number);
    if (!host) throw new DroverError('unavailable', `bot host ${number} is gone`);
    return host;
  }

  /**
   * A place for one more bot: the shared host with the fewest, or a host of its own. Waits while all shared hosts are
   * being replaced. To be given back with {@link leave}.
   */
  async place(dedicated: boolean): Promise<HostThread> {
    if (dedicated) {
      const number = this.#nextDedicated++;
      await this.#spawn(number, false);
      const host = this.get(number);
      host.load += 1;
      return host;
    }
    for (;;) {
      let best: HostThread | undefined;
      for (const number of this.#shared) {
        const host = this.#hosts.get(number);
        if (host && (best === undefined || host.load < best.load)) best = host;
      }
      if (best) {
        best.load += 1;
        return best;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** A bot has left its host. A dedicated host ends with its bot. */
  leave(host: HostThread): void {
    host.load -= 1;
    if (this.#shared.has(host.number) || this.#hosts.get(host.number) !== host) return;
    this.#hosts.delete(host.number);
    void host.end(END_WITHIN_MS);
  }

  /**
   * Gives every host a channel to a new broadcaster.
   * @param restore is called with what the hosts know of their bots, before any of their new events is taken.
   */
  async reattach(restore: (hosted: HostedState[]) => void): Promise<void> {
    const attempts = [...this.#hosts.values()].map((host) =>
      // A host that is lost meanwhile gets its own channel when it is replaced.
      host.reattach().catch(() => undefined),
    );
    // Nobody waits for a host that hangs: the stream goes on without it, and so does the watchdog, which needs it.
    const answers = attempts.map((attempt) =>
      Promise.race([attempt, delay(REATTACH_WITHIN_MS, undefined, { ref: false })]),
    );
    const done = await Promise.all(answers);
    restore(done.flatMap((answer) => answer?.bots ?? []));
    for (const [n, attempt] of attempts.entries()) {
      if (done[n]) done[n].attach();
      else void attempt.then((late) => late && this.#attachLate(late));
    }
  }

  /** The broadcaster has not had the states of these bots when it was restored. */
  #attachLate({ bots, attach }: Reattached): void {
    const items = bots.map(({ id, ...patch }) => sessionItem(id, patch));
    this.#broadcaster.peer.tell('publish', { items });
    attach();
  }

  /** Ends all hosts. Bots are to be stopped before. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#hosts.values()].map((host) => host.end(END_WITHIN_MS)));
  }

  async #spawn(number: number, shared: boolean): Promise<LoadedKinds> {
    const host: HostThread = new HostThread(number, this.#options, this.#broadcaster, {
      exited: this.#events.exited,
      lost: (error) => this.#lost(host, shared, error),
    });
    const loaded = await host.open();
    this.#hosts.set(number, host);
    if (shared) {
      this.#shared.add(number);
      for (const resume of this.#waiting.splice(0)) resume();
    }
    return loaded;
  }

  #lost(host: HostThread, shared: boolean, error: Error): void {
    if (this.#hosts.get(host.number) === host) this.#hosts.delete(host.number);
    if (this.#stopping) return;
    this.#events.lost(host, error);
    if (!shared) return;
    setTimeout(() => {
      if (this.#stopping) return;
      // One that does not come up is lost again, and this is tried again.
      this.#spawn(host.number, true).catch((thrown) =>
        process.stderr.write(`drover: bot host ${host.number}: ${messageOf(thrown)}\n`),
      );
    }, RESPAWN_MS);
  }
}
