import type { BotSnapshot, GapEvent, LogEvent, Operation } from '../../../src/client/index.js';
import { gapLine, logLine } from './line.js';
import { Ring } from './line-ring.js';
import type { Handover, Line, StatusChange, Update } from './messages.js';
import { Seconds } from './seconds.js';

/** Bounds of the lines; the oldest are dropped. Older lines are in the service's journal. */
const MAX_LINES = 20_000;
const MAX_LINE_CHARS = 16 * 1024 * 1024;
/** Bound of the status changes of all bots together; the oldest are dropped. */
const MAX_CHANGES = 10_000;
/** Operations whose last event is kept; the one that has changed least recently is dropped. The service lists all. */
const MAX_OPERATIONS = 200;

/** The position of a tab. */
export interface Cursor {
  line: number;
  change: number;
  second: number;
  operation: number;
  /** Bots that have changed since. */
  readonly bots: Set<string>;
}

export type News = Omit<Update, 'connection' | 'clockAheadMs' | 'lag' | 'isComplete'>;

/** The state built from the stream. A cursor reads what has changed since its last read. */
export class HubState {
  readonly #bots = new Map<string, BotSnapshot>();
  readonly #lines = new Ring<Line>(MAX_LINES, MAX_LINE_CHARS, ({ text }) => text.length);
  readonly #changes = new Ring<StatusChange>(MAX_CHANGES);
  readonly #seconds = new Seconds();
  /** By id, numbered in the order of their last events. */
  readonly #operations = new Map<string, { n: number; operation: Operation }>();
  #nextOperation = 0;
  readonly #changed: (bot: string) => void;

  /** @param changed is called for each changed bot, to be added to the cursors. */
  constructor(changed: (bot: string) => void) {
    this.#changed = changed;
  }

  get botIds(): string[] {
    return [...this.#bots.keys()];
  }

  clear(): void {
    this.#bots.clear();
    this.#lines.clear();
    this.#changes.clear();
    this.#seconds.clear();
    this.#operations.clear();
  }

  /** Restores the state of a previous hub. @returns the id of its last line, null for none. */
  restore({ bots, lines, changes, seconds, countedSince }: Handover): string | null {
    for (const bot of bots) this.#bots.set(bot.id, bot);
    for (const line of lines) this.#lines.push(line);
    for (const change of changes) this.#changes.push(change);
    this.#seconds.add(seconds, countedSince);
    return lines.at(-1)?.id ?? null;
  }

  /** The stream is open. */
  beginCounting(): void {
    this.#seconds.begin(Date.now());
  }

  addLine(id: string, event: LogEvent): void {
    this.#lines.push(logLine(id, event));
    this.#seconds.count(Date.now(), event.level);
  }

  /** @param at when it was received, by the service's clock. */
  addGap(id: string, gap: GapEvent, at: number): void {
    this.#lines.push(gapLine(id, gap, at));
  }

  applySnapshot(snapshot: BotSnapshot): void {
    const { id, status, since_ms: at } = snapshot;
    const before = this.#bots.get(id);
    if (before?.status !== status || before.since_ms !== at) {
      this.#changes.push({ bot: id, status, at });
    }
    if (status === 'deleted') this.#bots.delete(id);
    else this.#bots.set(id, snapshot);
    this.#changed(id);
  }

  applyOperation(operation: Operation): void {
    this.#operations.delete(operation.id);
    this.#operations.set(operation.id, { n: this.#nextOperation++, operation });
    for (const [id] of this.#operations) {
      if (this.#operations.size <= MAX_OPERATIONS) break;
      this.#operations.delete(id);
    }
  }

  /** Counts an event other than a log line. */
  countOther(): void {
    this.#seconds.count(Date.now(), undefined);
  }

  drop(bot: string): void {
    if (this.#bots.delete(bot)) this.#changed(bot);
  }

  /**
   * The changes since a cursor, and the advanced cursor; the full state without a cursor, or if the cursor was lapped.
   * @param isForced returns a result even if nothing has changed.
   */
  since(cursor: Cursor | undefined, isForced: boolean): { news: News; cursor: Cursor } | undefined {
    const [lines, changes] = [this.#lines, this.#changes];
    const isLapped = !cursor || cursor.line < lines.first || cursor.change < changes.first;
    const operations = [...this.#operations.values()].flatMap(({ n, operation }) =>
      isLapped || n >= cursor.operation ? operation : [],
    );
    const isNews =
      isLapped ||
      isForced ||
      cursor.bots.size > 0 ||
      operations.length > 0 ||
      cursor.line < lines.next ||
      cursor.change < changes.next ||
      this.#seconds.from(cursor.second + 1).length > 0;
    if (!isNews) return undefined;
    const seconds = this.#seconds.from(isLapped ? 0 : cursor.second);
    const ids = isLapped ? this.botIds : [...cursor.bots];
    const news: News = {
      reset: isLapped,
      lines: lines.from(isLapped ? 0 : cursor.line),
      firstLine: lines.first,
      changes: changes.from(isLapped ? 0 : cursor.change),
      bots: ids.flatMap((id) => this.#bots.get(id) ?? []),
      gone: ids.filter((id) => !this.#bots.has(id)),
      operations,
      seconds,
      countedSince: this.#seconds.since,
    };
    const second = seconds.at(-1)?.[0] ?? cursor?.second ?? 0;
    const [line, change, operation] = [lines.next, changes.next, this.#nextOperation];
    return { news, cursor: { line, change, second, operation, bots: new Set() } };
  }
}
