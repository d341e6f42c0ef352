// Runs in a bot host thread. Owns the bots that run here.

import type { BotKind } from '../bot-sdk/index.js';
import type { Json } from '../shared/contract/json.js';
import { secretStrings } from '../shared/contract/secrets.js';
import type { BotExit, HostedState, HostMethods, HostStart } from '../shared/contract/threads.js';
import { DroverError } from '../shared/errors.js';
import { NetworkRules } from '../shared/network-rules.js';
import { withTimeout } from '../shared/with-timeout.js';
import { BotLines } from './bot-lines.js';
import { BotRun } from './bot-run.js';
import type { Outbox } from './outbox.js';

type Input<K extends keyof HostMethods> = Parameters<HostMethods[K]>[0];

/** What its bots may do. */
export type HostLimits = Pick<HostStart, 'botLinesPerSecond' | 'networkAllow'>;

/** What a host reports about its bots. */
export interface BotHostEvents {
  exited(exit: BotExit): void;
  settled(run: number): void;
}

export class BotHost {
  readonly #kinds: ReadonlyMap<string, BotKind>;
  readonly #outbox: Outbox;
  readonly #limits: HostLimits;
  readonly #network: NetworkRules;
  readonly #events: BotHostEvents;
  readonly #runs = new Map<string, BotRun>();

  constructor(
    kinds: ReadonlyMap<string, BotKind>,
    outbox: Outbox,
    limits: HostLimits,
    events: BotHostEvents,
  ) {
    this.#kinds = kinds;
    this.#outbox = outbox;
    this.#limits = limits;
    this.#network = new NetworkRules(limits.networkAllow);
    this.#events = events;
  }

  /** The host's part of its bots' snapshots. */
  states(): HostedState[] {
    return [...this.#runs.values()].map((run) => run.hostedState());
  }

  start({ id, run: number, kind: name, config }: Input<'start'>): void {
    const kind = this.#kinds.get(name);
    // Main knows the kind, so it did not load on this host.
    if (!kind) throw new DroverError('unavailable', `this bot host has no kind ${name}`);
    if (this.#runs.has(id)) throw new DroverError('conflict', `bot ${id} runs already`);
    const secrets = secretStrings(config, kind.config);
    const lines = new BotLines(this.#outbox, id, this.#limits.botLinesPerSecond, secrets);
    const run = new BotRun(kind, id, number, config, this.#outbox, lines, this.#network);
    this.#runs.set(id, run);
    void run.ended.then((end) => {
      // After stop() the run is no longer here, and a later run may have its id.
      if (this.#runs.get(id) !== run) return;
      this.#runs.delete(id);
      this.#outbox.flush();
      this.#events.exited({ id, run: number, ...end });
    });
    void run.settled.then(() => this.#events.settled(number));
  }

  /** Resolves when the bot has stopped, or is abandoned after `graceMs`. Its last lines are posted by then. */
  async stop({ id, graceMs }: Input<'stop'>): Promise<{ abandoned: boolean }> {
    const run = this.#runs.get(id);
    if (!run) return { abandoned: false };
    this.#runs.delete(id);
    run.stop();
    const stopped = run.ended.then(() => false);
    const abandoned = await withTimeout(stopped, graceMs, () => true);
    if (abandoned) {
      run.log.warn(`did not stop within ${graceMs} ms and is abandoned`);
      run.abandon();
    }
    this.#outbox.flush();
    return { abandoned };
  }

  async invoke(
    { id, command, args, timeoutMs }: Input<'invoke'>,
    cancelled?: AbortSignal,
  ): Promise<Json> {
    const run = this.#runs.get(id);
    if (!run) throw new DroverError('conflict', `bot ${id} is not running`);
    try {
      return await run.invoke({ command, args, timeoutMs, cancelled });
    } finally {
      // Who has the result finds the command's lines in the history.
      this.#outbox.flush();
    }
  }
}
