// Runs in the journal thread. The past of fields of one bot: `GET /api/bots/{id}/history`.
//
// Every `session` event has the whole snapshot, so the newest one of a part says what a field was then: to draw a day, not every
// event of the day must be read. The range is read downwards in parts of the same length, and the blocks that may be read are divided
// evenly among the parts that are still to come.

import type { BotSnapshot } from '../shared/contract/events.js';
import type {
  FieldHistory,
  FieldHistoryRequest,
  HistoryPoint,
} from '../shared/contract/journal-messages.js';
import type { BotField, FieldValue } from '../shared/query/bot-field.js';
import { readBotField } from '../shared/query/read-bot-field.js';
import type { Filter } from '../shared/stream/filter.js';
import { frameData, KIND_CODE } from '../shared/stream/frame.js';
import type { Block, Head } from './block.js';
import { limits, type QueryParts, segmentsOf, type Wanted } from './event-search.js';
import type { JournalReader } from './journal-reader.js';
import { Slices } from './slices.js';

/** Most blocks that are read for one answer, in addition to one for each part. */
export const MAX_BLOCKS = 2000;
/** Blocks that are read for the snapshot before the range. */
const BEFORE_BLOCKS = 50;
const EVERYTHING: Wanted = {
  order: 'newest',
  afterSeq: null,
  beforeSeq: null,
  afterMs: null,
  beforeMs: null,
};
/** Number of the part before the range. */
const BEFORE = -1;

/** Yields to other work while it reads. */
export async function fieldHistory(
  parts: QueryParts,
  request: FieldHistoryRequest,
  filter: Filter,
): Promise<FieldHistory> {
  const { reader } = parts;
  const { afterMs, beforeMs } = request;
  const history = new History(request);
  const { end } = limits(parts, { ...EVERYTHING, beforeMs }, filter);
  const budget = new Budget(reader, history);
  const slices = new Slices(parts);
  /** Frames from this on are done. */
  let at = end;
  for (const { segment, places } of segmentsOf(
    parts,
    { first: 0, end },
    filter.sessions ?? [],
  ).reverse()) {
    if (segment >= at) continue;
    const frames = [...places()].map((place) => segment + place).sort((one, other) => other - one);
    // The block is read together with its head and kept, because the newest block may be rewritten whenever this search
    // yields.
    let block: Block | undefined;
    for (const seq of frames) {
      if (seq >= at) continue;
      if (!block?.has(seq)) {
        const head = reader.headUpTo(seq);
        // Skip a block that retention has removed, or that has nothing for the filter.
        if (!head?.has(seq)) continue;
        if (!filter.mayMatch(head.kinds, head.levels)) {
          at = head.first;
          continue;
        }
        const next = budget.take(head);
        if (next === null) return history.answer();
        if (next < head.next) {
          at = next;
          continue;
        }
        block = reader.block(head);
      }
      if (block && block.kind(seq) === KIND_CODE.session && filter.matches(block, seq)) {
        const { snapshot } = JSON.parse(frameData(block.text(seq))) as { snapshot: BotSnapshot };
        const time = block.time(seq);
        if (time < beforeMs) history.add(time, snapshot);
        if (time < afterMs) return history.answer();
      }
      if (slices.isOver) await slices.turn();
    }
    if (slices.isOver) await slices.turn();
  }
  return history.answer();
}

/** Divides the blocks among the parts. */
class Budget {
  readonly #reader: JournalReader;
  readonly #history: History;
  #left = MAX_BLOCKS;
  #share = 0;
  #part = Number.POSITIVE_INFINITY;

  constructor(reader: JournalReader, history: History) {
    this.#reader = reader;
    this.#history = history;
  }

  /**
   * Takes a block. @returns the frame up to which to read on: that of the block's end, or below it when the share of its part is
   * spent; null when nothing more is to be read.
   */
  take(head: Head): number | null {
    const part = this.#history.partOf(head.highest);
    if (part < this.#part) {
      this.#part = part;
      this.#share =
        part === BEFORE ? BEFORE_BLOCKS : Math.max(1, Math.ceil(this.#left / (part + 1)));
    }
    if (this.#share === 0) {
      if (this.#part === BEFORE) return null;
      // Frames below this block are of earlier parts.
      const start = this.#reader.atTime(this.#history.startOf(this.#part));
      if (start && start.next < head.next) {
        this.#history.cut(this.#part);
        return start.next;
      }
    } else this.#share -= 1;
    this.#left = Math.max(0, this.#left - 1);
    return head.next;
  }
}

/** The parts as far as they are read, the newest first. */
class History {
  readonly #request: FieldHistoryRequest;
  readonly #fields: readonly BotField[];
  readonly #stepMs: number;
  readonly #points = new Map<number, HistoryPoint>();
  readonly #cut = new Set<number>();

  constructor(request: FieldHistoryRequest) {
    const { afterMs, beforeMs, points, fields } = request;
    this.#request = request;
    this.#stepMs = Math.max(1, Math.ceil((beforeMs - afterMs) / points));
    this.#fields = fields.map((name) => readBotField(name, 'field'));
  }

  startOf(part: number): number {
    return this.#request.afterMs + part * this.#stepMs;
  }

  partOf(time: number): number {
    const { afterMs, beforeMs } = this.#request;
    const within = Math.min(time, beforeMs - 1) - afterMs;
    return within < 0 ? BEFORE : Math.floor(within / this.#stepMs);
  }

  /** Marks a part of which the rest is not read. */
  cut(part: number): void {
    this.#cut.add(part);
  }

  add(time: number, snapshot: BotSnapshot): void {
    const part = this.partOf(time);
    const known = this.#points.get(part);
    if (!known) {
      const values = this.#fields.map((field) => [field.name, valuesOf(field.of(snapshot))]);
      const point = { at_ms: time, count: 1, complete: true, values: Object.fromEntries(values) };
      this.#points.set(part, point);
      return;
    }
    known.count += 1;
    for (const field of this.#fields) {
      const value = field.of(snapshot);
      const values = known.values[field.name];
      if (values && typeof value === 'number') widen(values, value, value);
    }
  }

  answer(): FieldHistory {
    const sorted = [...this.#points].sort(([one], [other]) => one - other);
    for (const [part, point] of sorted) point.complete = !this.#cut.has(part);
    return {
      from_ms: this.#request.afterMs,
      step_ms: this.#stepMs,
      before: this.#points.get(BEFORE) ?? null,
      points: sorted.filter(([part]) => part !== BEFORE).map(([, point]) => point),
    };
  }
}

type Values = HistoryPoint['values'][string];

function valuesOf(last: FieldValue): Values {
  const number = typeof last === 'number' ? last : null;
  return { last, min: number, max: number };
}

function widen(values: Values, low: number, high: number): void {
  values.min = Math.min(values.min ?? low, low);
  values.max = Math.max(values.max ?? high, high);
}
