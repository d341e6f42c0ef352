// Runs in the worker of a run. Owns its failures and error lines, grouped by cause.

import type { IncidentGroup } from '../../../src/client/index.js';
import { causeOf } from '../../../src/shared/incidents/cause.js';
import { MAX_BOTS } from './run-bots.js';

/** Causes that are listed. Further ones are counted together. */
const MAX_CAUSES = 1000;
/** Bots that a list of causes names for each of them. */
const MAX_NAMED = 100;
/** Texts whose cause is cached: the same line comes often, and normalising it costs more than reading it. */
const MAX_TEXTS = 20_000;
/** Longest message that is kept, in UTF-16 code units. */
const MAX_MESSAGE = 8192;
/** Time steps of a run, in each of which a cause is counted. The steps of a longer run are longer. */
const MAX_STEPS = 64;

/** A bot failed, or a line has the level `error`, for which the service has no incidents. */
type CauseType = 'failed' | 'error line';

interface Cause {
  cause: string;
  type: CauseType;
  title: string;
  /** The first one, uncut. */
  message: string;
  count: number;
  /** A bit for each bot, by its number: 1,000 causes with 20,000 ids each would not fit into memory. */
  bots: Uint8Array;
  botCount: number;
  /** In ms since the start of the run. */
  firstMs: number;
  lastMs: number;
  /** Occurrences in each step. */
  counts: number[];
  stepMs: number;
}

export class RunCauses {
  readonly #groups = new Map<string, Cause>();
  readonly #known = new Map<string, string>();
  readonly #botIds: string[] = [];
  readonly #botNumbers = new Map<string, number>();
  /** Failures and lines of causes beyond the bound. */
  beyond = 0;
  /** There are more than MAX_BOTS bots, so some are not counted. */
  isFull = false;

  get count(): number {
    return this.#groups.size;
  }

  add(type: CauseType, message: string, bot: string | null, atMs: number): void {
    const text = `${type}\n${bot ?? ''}\n${message}`;
    let key = this.#known.get(text);
    let title: string | undefined;
    if (key === undefined) {
      const [reason = '', ...frames] = message.split('\n');
      const stack = frames.length === 0 ? null : frames.join('\n');
      const incident = { type: 'failed' as const, reason, suspect: bot, stack };
      const found = causeOf(incident);
      key = `${type}\n${found.cause}`;
      title = found.title;
      if (this.#known.size >= MAX_TEXTS) this.#known.clear();
      this.#known.set(text, key);
    }
    let group = this.#groups.get(key);
    if (!group) {
      if (this.#groups.size >= MAX_CAUSES) {
        this.beyond += 1;
        return;
      }
      group = {
        // The same failure may be a line too.
        cause: `${type === 'failed' ? '' : 'line-'}${key.slice(type.length + 1)}`,
        type,
        title: title ?? message,
        message: message.slice(0, MAX_MESSAGE),
        count: 0,
        bots: new Uint8Array(MAX_BOTS / 8),
        botCount: 0,
        firstMs: atMs,
        lastMs: atMs,
        counts: [],
        stepMs: 1000,
      };
      this.#groups.set(key, group);
    }
    group.count += 1;
    group.lastMs = atMs;
    widen(group, this.stepFor(atMs));
    const step = Math.floor(atMs / group.stepMs);
    group.counts[step] = (group.counts[step] ?? 0) + 1;
    if (bot !== null) this.#addBot(group, bot);
  }

  /** The length of the steps of a run that is so long, in ms. */
  stepFor(lengthMs: number): number {
    let stepMs = 1000;
    while (lengthMs >= stepMs * MAX_STEPS) stepMs *= 2;
    return stepMs;
  }

  /**
   * @param stepMs of the whole run. @param startedAtMs when it began. @param only the cause to list; it names all of its bots.
   */
  list(stepMs: number, startedAtMs: number, only: string | undefined): IncidentGroup[] {
    const groups = [...this.#groups.values()];
    return groups.flatMap((group): IncidentGroup[] => {
      widen(group, stepMs);
      const { cause, type, title, message, count, botCount, firstMs, lastMs, counts } = group;
      if (only !== undefined && cause !== only) return [];
      const one = {
        cause,
        type: type as IncidentGroup['type'],
        title,
        where: null,
        reason: message,
        count,
        bots: this.#botsOf(group, only === undefined ? MAX_NAMED : MAX_BOTS),
        bot_count: botCount,
        fallen: 0,
        first_at_ms: startedAtMs + firstMs,
        last_at_ms: startedAtMs + lastMs,
        latest: null,
        counts: Array.from({ length: MAX_STEPS }, (_, at) => counts[at] ?? 0),
      };
      return [one];
    });
  }

  #addBot(group: Cause, bot: string): void {
    let number = this.#botNumbers.get(bot);
    if (number === undefined) {
      if (this.#botIds.length >= MAX_BOTS) {
        this.isFull = true;
        return;
      }
      number = this.#botIds.push(bot) - 1;
      this.#botNumbers.set(bot, number);
    }
    if (hasBot(group, number)) return;
    group.bots[number >> 3] = (group.bots[number >> 3] ?? 0) | (1 << (number & 7));
    group.botCount += 1;
  }

  #botsOf(group: Cause, most: number): string[] {
    const wanted = Math.min(most, group.botCount);
    const found: string[] = [];
    for (let number = 0; found.length < wanted; number++) {
      if (hasBot(group, number)) found.push(this.#botIds[number] as string);
    }
    return found;
  }
}

function hasBot({ bots }: Cause, number: number): boolean {
  return ((bots[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;
}

/** Counts in longer steps. */
function widen(group: Cause, stepMs: number): void {
  while (group.stepMs < stepMs) {
    const { counts } = group;
    group.counts = Array.from(
      { length: Math.ceil(counts.length / 2) },
      (_, at) => (counts[at * 2] ?? 0) + (counts[at * 2 + 1] ?? 0),
    );
    group.stepMs *= 2;
  }
}
