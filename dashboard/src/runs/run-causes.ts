// Runs in the worker of a run. Owns its failures and error lines, grouped by cause.

import type { IncidentGroup } from '../../../src/client/index.js';
import { causeOf } from '../../../src/shared/incidents/cause.js';

/** Causes that are listed. Further ones are counted together. */
const MAX_CAUSES = 1000;
/** Bots that a cause names, the first of them. */
const MAX_BOTS = 100;
/** Texts whose cause is kept: the same line comes often, and to normalise it costs more than to read it. */
const MAX_TEXTS = 20_000;
/** Units of a message that are kept. */
const MAX_MESSAGE = 8192;
/** Steps in which a cause is counted: of a longer run they are longer. */
const MAX_STEPS = 64;

/** A bot failed, or a line has the level `error`: the service has no incidents of those. */
type CauseType = 'failed' | 'error line';

interface Cause {
  cause: string;
  type: CauseType;
  title: string;
  /** As it was first, the whole of it. */
  message: string;
  count: number;
  bots: Set<string>;
  /** In ms since the start of the run. */
  firstMs: number;
  lastMs: number;
  /** How often in each step. */
  counts: number[];
  stepMs: number;
}

export class RunCauses {
  readonly #groups = new Map<string, Cause>();
  readonly #known = new Map<string, string>();
  /** Failures and lines of causes beyond the bound. */
  beyond = 0;

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
        bots: new Set(),
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
    if (bot !== null && group.bots.size < MAX_BOTS) group.bots.add(bot);
  }

  /** The length of the steps of a run that is so long, in ms. */
  stepFor(lengthMs: number): number {
    let stepMs = 1000;
    while (lengthMs >= stepMs * MAX_STEPS) stepMs *= 2;
    return stepMs;
  }

  /** @param stepMs of the whole run. @param startedAtMs when it began. */
  list(stepMs: number, startedAtMs: number): IncidentGroup[] {
    return [...this.#groups.values()].map((group) => {
      widen(group, stepMs);
      const { cause, type, title, message, count, bots, firstMs, lastMs, counts } = group;
      return {
        cause,
        type: type as IncidentGroup['type'],
        title,
        where: null,
        reason: message,
        count,
        bots: [...bots],
        bot_count: bots.size,
        fallen: 0,
        first_at_ms: startedAtMs + firstMs,
        last_at_ms: startedAtMs + lastMs,
        latest: null,
        counts: Array.from({ length: MAX_STEPS }, (_, at) => counts[at] ?? 0),
      };
    });
  }
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
