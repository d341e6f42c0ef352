// Runs in a bot host thread. Owns the bots that run here.

import type { BotKind } from '../bot-sdk/index.js';
import type { BotCommand } from '../shared/commands/host-commands.js';
import { CommandArgs } from '../shared/contract/command-args.js';
import type { CommandOutcome } from '../shared/contract/command-messages.js';
import { failureLine, resultLine } from '../shared/contract/dispatch-line.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  HostedState,
  KindFailure,
  LateError,
} from '../shared/contract/host-messages.js';
import type { JsonObject } from '../shared/contract/json.js';
import { answerable } from '../shared/contract/rpc.js';
import { secretStrings } from '../shared/contract/secrets.js';
import type { BotStart, HostMethods, HostStart } from '../shared/contract/threads.js';
import { DroverError, messageOf, type PlainError } from '../shared/errors.js';
import { kindAjv } from '../shared/kind-ajv.js';
import type { CommandLog } from '../shared/memory/command-log.js';
import { NetworkRules } from '../shared/network-rules.js';
import { withTimeout } from '../shared/with-timeout.js';
import { BotLines } from './bot-lines.js';
import { BotRun } from './bot-run.js';
import type { CommandCall } from './command-call.js';
import { watchIntervals } from './current-bot.js';
import { explain, stackOf } from './error-text.js';
import type { LeaseFence } from './fence.js';
import { commandSchemas } from './kinds.js';
import { LeftOpen } from './open-handles.js';
import type { Outbox } from './outbox.js';
import { redactText } from './redact.js';

type Input<K extends keyof HostMethods> = Parameters<HostMethods[K]>[0];

/** Failures of one kind's module that main hears of: an interval of it may throw for ever. */
const MAX_KIND_FAILURES = 10;

/** Limits and rights of its bots. */
export type HostLimits = Pick<HostStart, 'botLinesPerSecond' | 'networkAllow' | 'commandTimeoutMs'>;

/** Reports of a host about its bots. */
export interface BotHostEvents {
  exited(exit: BotExit): void;
  /** The bot has the status in which its kind is ready, for the first time in this run. */
  ready(run: number): void;
  settled(run: number): void;
  flooded(flood: BotFlood): void;
  lateError(error: LateError): void;
  /** The run has published a line, with a message of so many bytes. */
  wrote(run: number, bytes: number): void;
  offered(offer: CommandOffer): void;
  kindFailed(failure: KindFailure): void;
}

export class BotHost {
  readonly #kinds: ReadonlyMap<string, BotKind>;
  readonly #outbox: Outbox;
  readonly #limits: HostLimits;
  readonly #network: NetworkRules;
  readonly #events: BotHostEvents;
  readonly #runs = new Map<string, BotRun>();
  readonly #leftOpen = new LeftOpen(({ id, number: run }, error) =>
    this.#events.lateError({ id, run, error, isLeftOpen: true }),
  );
  readonly #log: Pick<CommandLog, 'note'>;
  readonly #fence: LeaseFence | null;
  readonly #ajv = kindAjv();
  /** How often code of the kind's module has thrown. */
  readonly #failures = new Map<BotKind, number>();
  /** Validators by kind; made for the first command. */
  readonly #args = new Map<BotKind, CommandArgs>();

  /** @param log where the commands are noted before they run. @param fence of the node's lease; null without a cluster. */
  constructor(
    kinds: ReadonlyMap<string, BotKind>,
    outbox: Outbox,
    limits: HostLimits,
    events: BotHostEvents,
    log: Pick<CommandLog, 'note'>,
    fence: LeaseFence | null = null,
  ) {
    this.#log = log;
    this.#fence = fence;
    this.#kinds = kinds;
    this.#outbox = outbox;
    this.#limits = limits;
    this.#network = new NetworkRules(limits.networkAllow);
    this.#events = events;
    watchIntervals((run, interval) => this.#leftOpen.endInterval(run, interval));
  }

  /** The host's part of its bots' snapshots. */
  states(): HostedState[] {
    return [...this.#runs.values()].map((run) => run.hostedState());
  }

  /** Starts bots. @returns those that it could not start, by run. */
  startAll({ bots }: Input<'start'>): Awaited<ReturnType<HostMethods['start']>> {
    const failed: Record<number, PlainError> = {};
    for (const bot of bots) {
      try {
        this.start(bot);
      } catch (thrown) {
        failed[bot.run] = answerable(`start of bot ${bot.id}`, thrown).toPlain();
      }
    }
    return { failed };
  }

  /** @throws DroverError when the bot cannot be started. */
  start({ id, run: number, kind: name, config, stays = false, term, permit }: BotStart): void {
    const kind = this.#kinds.get(name);
    // Main knows the kind, so it did not load on this host.
    if (!kind) throw new DroverError('unavailable', `this bot host has no kind ${name}`);
    if (this.#runs.has(id)) throw new DroverError('conflict', `bot ${id} runs already`);
    const secrets = secretStrings(config, kind.config);
    const { botLinesPerSecond } = this.#limits;
    const lines = new BotLines(
      this.#outbox,
      id,
      botLinesPerSecond,
      secrets,
      (reason) => this.#events.flooded({ id, run: number, reason }),
      (bytes) => this.#events.wrote(number, bytes),
    );
    const run = new BotRun({
      kind,
      id,
      number,
      config,
      outbox: this.#outbox,
      lines,
      network: this.#network,
      ready: () => this.#events.ready(number),
      reportLate: (error) => this.#events.lateError({ id, run: number, error }),
      fence: this.#fence?.forBot(stays) ?? null,
      term,
      permit,
    });
    run.onOffer = ({ infos }) => this.#events.offered({ kind: name, commands: infos });
    this.#runs.set(id, run);
    void run.ended.then((end) => {
      // After stop() a later run may have the id of this one.
      if (this.#runs.get(id) !== run) return;
      this.#runs.delete(id);
      this.#outbox.flush();
      this.#events.exited({ id, run: number, ...end });
    });
    void run.settled.then(() => {
      this.#events.settled(number);
      this.#leftOpen.note(run);
    });
  }

  /** Whether the bot keeps its connections without the node's lease, from now on. */
  exemptFromLease({ id, stays }: Input<'exemptFromLease'>): void {
    this.#runs.get(id)?.exemptFromLease(stays);
  }

  /** A command that was allowed under the bot's former labels does not begin any more when this returns. */
  setPermit({ id, permit }: Input<'setPermit'>): void {
    const run = this.#runs.get(id);
    if (run) run.permit = permit;
  }

  /** Code of the kind's module, outside of any run, has thrown. Its bots share that module, so they end. */
  failKind(kind: BotKind, thrown: unknown): void {
    const runs = [...this.#runs.values()].filter((run) => run.kind === kind);
    const error = redactText(explain(thrown));
    const told = (this.#failures.get(kind) ?? 0) + 1;
    this.#failures.set(kind, told);
    if (told <= MAX_KIND_FAILURES) {
      this.#events.kindFailed({ kind: kind.kind, error, bots: runs.length });
    }
    const cause = new Error(`${error}; it was code of the bot kind ${kind.kind}, of no bot`);
    const stack = stackOf(thrown);
    if (stack !== null) cause.stack = stack;
    for (const run of runs) run.fail(cause);
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
      run.warn(`did not stop within ${graceMs} ms and is abandoned`);
      run.abandon();
    }
    this.#outbox.flush();
    return { abandoned };
  }

  /**
   * Runs a command: checks the arguments, and publishes the outcome in order with the bot's own lines.
   * @param settle is called once, unless this returns null. {@link flush} before the outcome leaves.
   * @returns the call, whose outcome may have come already; null when the bot does not run here, or has another permit.
   */
  dispatch(
    { bot: id, command, args, permit }: BotCommand,
    settle: (outcome: CommandOutcome) => void,
  ): CommandCall | null {
    const run = this.#runs.get(id);
    if (!run?.admits(permit) || run.isOver) return null;
    return run.command(
      command,
      () => {
        const given = JSON.parse(args) as JsonObject;
        (run.offered?.args ?? this.#argsOf(run.kind)).check(command, given);
        this.#log.note(command, id);
        return given;
      },
      (outcome) => {
        const isResult = typeof outcome === 'string';
        const line = isResult ? resultLine : failureLine;
        this.#outbox.add(line(id, command, isResult ? outcome : messageOf(outcome)));
        settle(outcome);
      },
    );
  }

  /** Publishes that a command was not run. @returns false when {@link dispatch} would not run it: nothing is published then. */
  refuse(id: string, command: string, permit: number, error: DroverError): boolean {
    if (!this.#runs.get(id)?.admits(permit)) return false;
    this.#outbox.add(failureLine(id, command, messageOf(error)));
    return true;
  }

  /** Posts all that bots and commands have published until now. */
  flush(): void {
    this.#outbox.flush();
  }

  #argsOf(kind: BotKind): CommandArgs {
    let args = this.#args.get(kind);
    if (!args) {
      args = new CommandArgs(kind.kind, commandSchemas(kind), this.#ajv);
      this.#args.set(kind, args);
    }
    return args;
  }
}
