// Runs in main. Reports hosts that break, and tells their bots. A stuck host is examined and killed. HostPool replaces it.

import { fileURLToPath } from 'node:url';
import type { KindFailure } from '../../shared/contract/host-messages.js';
import { messageOf } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { HostThread } from '../threads/host-thread.js';
import { ProcessEnded } from '../threads/process-ended.js';
import type { Found, Incidents, Reported } from './incidents.js';
import type { KindQuarantine } from './kind-quarantine.js';
import { OutOfMemory } from './memory-guard.js';
import type { Quarantine } from './quarantine.js';
import type { BotRegistry } from './registry.js';

/** How long it may take to capture the stack of a stuck host, in ms. */
const CAPTURE_WITHIN_MS = 2000;
/** How long an incident report may delay the end of a broken host, in ms. It is written nevertheless. */
const REPORT_WITHIN_MS = 2000;

export class HostFaults {
  readonly #registry: BotRegistry;
  readonly #incidents: Incidents;
  readonly #quarantine: Quarantine;
  readonly #kinds: KindQuarantine;
  readonly #graceMs: number;
  /** Hosts that are killed for a reason that is reported already. */
  readonly #reported = new WeakMap<HostThread, Found & Pick<Reported, 'id'>>();

  /** @param graceMs how long a bot may take to stop, in ms. */
  constructor(
    registry: BotRegistry,
    incidents: Incidents,
    quarantine: Quarantine,
    kinds: KindQuarantine,
    graceMs: number,
  ) {
    this.#registry = registry;
    this.#incidents = incidents;
    this.#quarantine = quarantine;
    this.#kinds = kinds;
    this.#graceMs = graceMs;
  }

  /** A host's loop does not turn: finds out why, then kills it. Its bots follow their restart policies. */
  async hung(host: HostThread, forMs: number): Promise<void> {
    const captured = await host.capture(CAPTURE_WITHIN_MS);
    const bots = this.#registry.idsOn(host);
    // A thread that is stuck in native code shows no stack; one that was paused between two callbacks shows no bot.
    const kind = captured ? kindIn(captured.frames.map(({ url }) => url).join('\n'), host) : null;
    const blocked = `bot host ${host.number} was blocked for ${forMs} ms`;
    const { suspect, where } = captured?.bot
      ? { suspect: captured.bot, where: ` in bot ${captured.bot}` }
      : this.#suspectOn(host, bots, kind, blocked);
    const reason = `${blocked}${where}`;
    const found: Found = { type: 'hang', reason, suspect, stack: captured?.frames ?? null };
    await this.#report(found, host, bots);
    host.kill();
  }

  async lost(host: HostThread, error: Error): Promise<void> {
    const reported = this.#reported.get(host);
    if (reported) {
      const { reason, suspect, id } = reported;
      return this.#registry.hostLost(host, reason, suspect, id);
    }
    const bots = this.#registry.idsOn(host);
    const { type, isLast, isOwn, kind } = causeOf(error, host);
    // No bot is to blame for an error in the host's own code.
    const { suspect, where } = isOwn
      ? { suspect: null, where: '' }
      : this.#suspectOn(host, bots, kind, messageOf(error), isLast);
    const why = `${messageOf(error)}${where}`;
    const reason = `bot host ${host.number} was lost: ${why}`;
    const found: Found = { type, reason, suspect, stack: error.stack ?? null };
    if (error instanceof ProcessEnded) {
      found.exit = error.exit;
      found.stderr = [...error.stderr];
    }
    const { id, stored } = this.#incidents.report(found, host, bots);
    // Storing the report takes a while, so the bots learn of the loss before.
    this.#registry.hostLost(host, why, suspect, id);
    await stored;
  }

  /** Code of a kind, outside of any bot, has thrown. The bots of the kind on that host end, and the host lives. */
  kindFailed(host: HostThread, { kind, error }: KindFailure): void {
    this.#blame(kind, error, host);
  }

  /** A run does not end though it was stopped long ago, and its host is to be replaced. */
  async overdue(host: HostThread, bot: string): Promise<void> {
    const others = this.#registry.idsOn(host).filter((id) => id !== bot);
    const reason = `bot ${bot} was stopped and still runs after ${this.#graceMs} ms; bot host ${host.number} is replaced${others.length > 0 ? ', its other bots move' : ''}`;
    const found: Found = { type: 'overdue', reason, suspect: bot, stack: null };
    this.#registry.didNotStop(bot);
    await this.#report(found, host, [bot, ...others]);
  }

  /**
   * Which bot has broken its host, when no stack tells. When that is not known either, bots that were on such a host before are
   * quarantined, or the kind whose code the stack names.
   * @param kind that one. @param fault what happened, in a line. @param isLast whether the bot whose code ran last can be it.
   * @returns the bot, and that in words, for the end of a reason.
   */
  #suspectOn(
    host: HostThread,
    bots: readonly string[],
    kind: string | null,
    fault: string,
    isLast = true,
  ): { suspect: string | null; where: string } {
    const { lastBot, onlyBot } = host;
    const suspect = onlyBot ?? (isLast ? lastBot : null);
    if (suspect !== null) {
      this.#quarantine.forget(suspect);
      const why =
        suspect === onlyBot
          ? `bot ${suspect} was alone there`
          : `the code of bot ${suspect} ran last there`;
      return { suspect, where: `; ${why}` };
    }
    if (kind !== null) {
      this.#blame(kind, fault, host);
      const held = this.#kinds.holdOf(kind) ? ', which is quarantined' : '';
      return { suspect, where: `; it was code of the bot kind ${kind}, of no bot${held}` };
    }
    const quarantined = this.#quarantine.lost(bots, Date.now());
    let where = '; which bot caused it is not known';
    if (quarantined > 0) {
      where += `, and ${quarantined} bots that were on such a host before are quarantined`;
    }
    return { suspect, where };
  }

  /** The code of a kind, outside of any bot, has broken a host. */
  #blame(kind: string, fault: string, host: HostThread): void {
    if (!this.#kinds.lost(kind, fault, Date.now())) return;
    const reason = `the bot kind ${kind} is quarantined, because its code broke bot hosts again: ${fault}; its bots are not started before it is released`;
    const found: Found = { type: 'kind_quarantined', reason, suspect: null, stack: null };
    this.#incidents.report(found, host, this.#registry.idsOfKind(kind));
  }

  /** Before the host ends, so that the report exists when its bots return; but a disk that hangs does not delay that for ever. */
  #report(found: Found, host: HostThread, bots: string[]): Promise<void> {
    const { id, stored } = this.#incidents.report(found, host, bots);
    this.#reported.set(host, { ...found, id });
    return withTimeout(stored, REPORT_WITHIN_MS, () => {});
  }
}

interface Cause {
  type: 'out_of_memory' | 'host_lost';
  /** The bot whose code ran last may have caused the loss. */
  isLast: boolean;
  /** No bot can have caused the loss. */
  isOwn: boolean;
  /** The kind whose code, outside of any bot, has caused the loss. */
  kind: string | null;
}

function causeOf(error: Error, host: Pick<HostThread, 'kinds'>): Cause {
  if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
    // While the loop turned, the code that ran last was that of any bot whose timer was due.
    const isLast = !(error instanceof OutOfMemory) || error.wasBlocked;
    return { type: 'out_of_memory', isLast, isOwn: false, kind: null };
  }
  // Native code of a bot can end the thread; an error that names no run is not that of the bot whose code ran last.
  const isLast =
    error instanceof ProcessEnded ? !error.isOwn : /^worker exited/.test(messageOf(error));
  const kind = isLast ? null : kindIn(String(error.stack), host);
  return { type: 'host_lost', isLast, isOwn: !isLast && kind === null, kind };
}

/** The kind whose module the stack names first. CommonJS modules are there as paths, the others as URLs. */
function kindIn(stack: string, { kinds }: Pick<HostThread, 'kinds'>): string | null {
  let [first, found]: [number, string | null] = [Number.POSITIVE_INFINITY, null];
  for (const [kind, { module }] of kinds) {
    // A program of the configuration has no file.
    if (!module.startsWith('file:')) continue;
    for (const name of [module, fileURLToPath(module)]) {
      const at = stack.indexOf(name);
      if (at >= 0 && at < first) [first, found] = [at, kind];
    }
  }
  return found;
}
