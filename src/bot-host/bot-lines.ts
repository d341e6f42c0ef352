// Runs in a bot host thread. Owns the line budgets of one bot.

import type { Level } from '../shared/contract/event-kinds.js';
import type { LogEvent, LogItem } from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import { LineBudget } from './line-budget.js';
import type { Outbox } from './outbox.js';
import { SecretMask } from './secret-mask.js';

/** Skipped lines are counted for this long, in ms, before a line reports them. */
const REPORT_MS = 1000;

/** A bot that has spent more than this part of its budget of info lines writes much. */
const MUCH = 0.1;
/**
 * Lines of each other level that a bot may write, as a part of its info lines: more warnings than that tell nobody
 * anything.
 */
const OTHER_LEVELS = 0.1;
/** A bot floods when its lines were skipped in this many consecutive seconds. */
const FLOOD_REPORTS = 10;
const RATE = 'rate limit exceeded';
const NO_ROOM = 'its bot host writes faster than the service publishes';
/** Lines that a bot may write after the signal to stop, of all levels together. */
const LAST_LINES = 1000;

/** A line without its message. */
export interface LineKind {
  level: Level;
  scope: string;
  transport: LogEvent['transport'];
  direction: LogEvent['direction'];
  /** Set for a wire message with a correlation id. */
  correlation_id?: string;
}

/**
 * Bounded three times: by the bot's rate, which each level has for itself; `info` lines also by the outbox; and by LAST_LINES once
 * the bot has been told to stop. Lines above a bound are skipped and counted, and a `warn` line reports the count. So the lines of
 * one bot take room from no other, at any level.
 */
export class BotLines {
  readonly #outbox: Outbox;
  readonly #id: string;
  readonly #budgets: Readonly<Record<Level, LineBudget>>;
  readonly #flooded: (reason: string) => void;
  readonly #wrote: (bytes: number) => void;
  /** For everything else that the bot publishes. */
  readonly mask: SecretMask;
  /** Skipped lines by what the report says of them. */
  readonly #skipped = new Map<string, number>();
  /** Number of consecutive reports. */
  #reports = 0;
  #reportedAt = 0;
  #closed = false;
  /** How many more lines it may write; infinite until it is told to stop. */
  #left = Number.POSITIVE_INFINITY;
  #report: NodeJS.Timeout | undefined;

  /**
   * @param perSecond of its info lines, 0 for no limit. @param secrets are masked in everything that the bot publishes.
   * @param flooded is called once for each flood, with what is skipped, in a line. @param wrote is called for each line that is
   * published, with the size of its message as JSON.
   */
  constructor(
    outbox: Outbox,
    id: string,
    perSecond: number,
    secrets: readonly string[] = [],
    flooded: (reason: string) => void = () => {},
    wrote: (bytes: number) => void = () => {},
  ) {
    this.#outbox = outbox;
    this.#id = id;
    this.mask = new SecretMask(secrets);
    this.#flooded = flooded;
    this.#wrote = wrote;
    const other = (): LineBudget => new LineBudget(Math.ceil(perSecond * OTHER_LEVELS));
    this.#budgets = {
      info: new LineBudget(perSecond),
      warn: other(),
      error: other(),
      state: other(),
    };
  }

  /** @param message or what makes it: called when the line is not skipped. */
  write(line: LineKind, message: string | (() => string)): void {
    if (this.#closed) return;
    const now = Date.now();
    const fault = this.#faultOf(line.level, now);
    if (fault !== null) {
      this.skip(fault);
      return;
    }
    this.#left -= 1;
    this.#add(line, message, now);
  }

  /** Writes a line of the host about the bot, which no bound applies to. */
  warn(message: string): void {
    this.#addOfHost('warn', message);
  }

  /** Writes a line about a change of the bot's status. RunStatus bounds these. */
  state(message: string): void {
    this.#addOfHost('state', message);
  }

  /** Counts something that is not published. @param what for the report, after the count. */
  skip(what: string): void {
    if (this.#closed) return;
    this.#skipped.set(what, (this.#skipped.get(what) ?? 0) + 1);
    this.#report ??= setTimeout(() => this.flush(), REPORT_MS);
  }

  /** The bot has been told to stop: a loop that ignores that must not write without end. */
  limitLast(): void {
    this.#left = LAST_LINES;
  }

  /** Reports skipped lines now, if there are any. */
  flush(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    if (this.#skipped.size === 0) return;
    const reports = [...this.#skipped].map(([what, count]) => `${count} ${what}`);
    this.#skipped.clear();
    for (const message of reports) this.warn(message);
    const now = Date.now();
    this.#reports = now - this.#reportedAt < 2 * REPORT_MS ? this.#reports + 1 : 1;
    this.#reportedAt = now;
    if (this.#reports === FLOOD_REPORTS) this.#flooded(reports.join('; '));
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Stops accepting lines. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  #addOfHost(level: Level, message: string): void {
    if (this.#closed) return;
    this.#add({ level, scope: 'bot', transport: null, direction: null }, message, Date.now());
  }

  #add(
    { level, scope, transport, direction, correlation_id }: LineKind,
    message: string | (() => string),
    now: number,
  ): void {
    const text = messageJson(this.mask.text(typeof message === 'string' ? message : message()));
    this.#wrote(Buffer.byteLength(text));
    const item: LogItem = {
      kind: 'log',
      timestamp_ms: now,
      level,
      scope,
      session_id: this.#id,
      transport,
      direction,
      message_json: text,
    };
    if (correlation_id !== undefined) item.correlation_id = correlation_id;
    this.#outbox.add(item);
  }

  /** Why a line is skipped, for the report; null when it is not. */
  #faultOf(level: Level, now: number): string | null {
    if (this.#left <= 0) {
      return `lines were skipped: a bot may write ${LAST_LINES} after the signal to stop`;
    }
    const budget = this.#budgets[level];
    if (level === 'info' && !this.#outbox.hasRoom(budget.share < 1 - MUCH)) {
      return `info lines were skipped: ${NO_ROOM}`;
    }
    return budget.spend(now) ? null : `${level} lines were skipped: ${RATE}`;
  }
}
