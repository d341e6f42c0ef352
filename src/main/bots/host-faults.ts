// Runs in main. Owns what is done about a host that breaks: a dossier, its bots told, and an end to one that hangs. The
// pool then replaces it.

import { setTimeout as delay } from 'node:timers/promises';
import type { Incident } from '../../shared/contract/bots.js';
import { messageOf } from '../../shared/errors.js';
import type { HostThread } from '../threads/host-thread.js';
import type { Incidents } from './incidents.js';
import { OutOfMemory } from './memory-guard.js';
import type { Quarantine } from './quarantine.js';
import type { BotRegistry } from './registry.js';
import { captureStack } from './stack-capture.js';

/** How long the stack of a stuck host may take to be found, in ms. */
const CAPTURE_WITHIN_MS = 2000;
/** How long a dossier may keep a broken host from being ended, in ms; it is written all the same. */
const REPORT_WITHIN_MS = 2000;

export class HostFaults {
  readonly #registry: BotRegistry;
  readonly #incidents: Incidents;
  /** Hosts that are killed for a reason that has a dossier already. */
  readonly #condemned = new WeakMap<HostThread, Pick<Incident, 'reason' | 'suspect'>>();

  readonly #quarantine: Quarantine;
  readonly #graceMs: number;

  /** @param graceMs how long a bot may take to stop, in ms. */
  constructor(
    registry: BotRegistry,
    incidents: Incidents,
    separation: Quarantine,
    graceMs: number,
  ) {
    this.#registry = registry;
    this.#incidents = incidents;
    this.#quarantine = separation;
    this.#graceMs = graceMs;
  }

  /** A host's loop stands still: finds out why, then ends it. Its bots follow their restart policies. */
  async hung(host: HostThread, forMs: number): Promise<void> {
    const captured = await captureStack(host.threadId, CAPTURE_WITHIN_MS);
    // A thread that is stuck in native code shows no stack.
    const suspect = captured ? captured.bot : host.lastBot;
    const where = captured ? ` in bot ${suspect}` : `; the code of bot ${suspect} ran last there`;
    const reason = `bot host ${host.number} stood still for ${forMs} ms${suspect === null ? '' : where}`;
    const found = {
      type: 'hang' as const,
      reason,
      suspect,
      stack: captured?.frames ?? null,
    };
    await this.#report(found, host, this.#registry.idsOn(host));
    this.#condemned.set(host, found);
    host.kill();
  }

  /** A host is gone. */
  async lost(host: HostThread, error: Error): Promise<void> {
    const bots = this.#registry.idsOn(host);
    const { lastBot, onlyBot } = host;
    const known = this.#condemned.get(host);
    if (known) return this.#registry.hostLost(host, known.reason, known.suspect);
    const message = messageOf(error);
    const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    const type = outOfMemory ? ('out_of_memory' as const) : ('host_lost' as const);
    // An error of the host's own is no bot's.
    let suspect = outOfMemory || /^worker exited/.test(message) ? lastBot : null;
    // Of a loop that turned, whose code ran last was whose timer was due.
    if (error instanceof OutOfMemory && !error.stoodStill) suspect = onlyBot;
    let why = message;
    if (suspect !== null) {
      why +=
        suspect === onlyBot
          ? `; bot ${suspect} was alone there`
          : `; the code of bot ${suspect} ran last there`;
      this.#quarantine.forget(suspect);
    } else if (outOfMemory) {
      const apart = this.#quarantine.lost(bots, Date.now());
      why += '; whose it was is not known';
      if (apart > 0) why += `, and ${apart} bots that were on such a host before are put apart`;
    }
    // Its bots first: the dossier takes a while.
    this.#registry.hostLost(host, why, suspect);
    const reason = `bot host ${host.number} was lost: ${why}`;
    const found = { type, reason, suspect, stack: error.stack ?? null };
    await this.#incidents.report(found, host, bots);
  }

  /** A run goes on although it was to end long ago, and its bot is to be started again. */
  async overdue(host: HostThread, bot: string): Promise<void> {
    const reason = `bot ${bot} was to end and still runs after ${this.#graceMs} ms; bot host ${host.number} is replaced, its other bots move`;
    const found = { type: 'overdue' as const, reason, suspect: bot, stack: null };
    const others = this.#registry.idsOn(host).filter((id) => id !== bot);
    await this.#report(found, host, [bot, ...others]);
    this.#condemned.set(host, found);
  }

  /** Before the host ends, so that the dossier is there when its bots come back; but not on a disk that does not answer. */
  async #report(...incident: Parameters<Incidents['report']>): Promise<void> {
    const late = new AbortController();
    const limit = delay(REPORT_WITHIN_MS, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([this.#incidents.report(...incident), limit]);
    late.abort();
  }
}
