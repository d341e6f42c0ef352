// Runs in the worker of a run. Owns its failures and error lines, grouped by cause.

import { causeOf } from '../../../src/shared/incidents/cause.js';
import { MAX_CAUSE_BOTS, type RunCause } from './run-facts.js';

/** Causes that are listed. Further ones are counted together. */
const MAX_CAUSES = 1000;
/** Texts whose cause is kept: the same line comes often, and to normalise it costs more than to read it. */
const MAX_TEXTS = 20_000;
/** Units of a message that are kept. */
const MAX_MESSAGE = 8192;

export class RunCauses {
  readonly #groups = new Map<string, RunCause>();
  readonly #known = new Map<string, string>();
  /** Failures and lines of causes beyond the bound. */
  beyond = 0;

  add(type: RunCause['type'], message: string, bot: string | null, atMs: number): void {
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
        cause: key.slice(type.length + 1),
        type,
        title: title ?? message,
        message: message.slice(0, MAX_MESSAGE),
        count: 0,
        bots: [],
        firstMs: atMs,
        lastMs: atMs,
      };
      this.#groups.set(key, group);
    }
    group.count += 1;
    group.lastMs = atMs;
    if (bot !== null && group.bots.length < MAX_CAUSE_BOTS && !group.bots.includes(bot)) {
      group.bots.push(bot);
    }
  }

  /** Failures first, then what is most frequent. */
  list(): RunCause[] {
    return [...this.#groups.values()].sort(
      (a, b) =>
        Number(a.type === 'error line') - Number(b.type === 'error line') ||
        b.count - a.count ||
        a.firstMs - b.firstMs,
    );
  }
}
