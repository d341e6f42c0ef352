// Runs in the hub. Owns the list of the firing rules, which is requested once for all tabs.

import type { LogEvent, Rule } from '../../../src/client/index.js';
import { saysFiring } from '../../../src/shared/contract/alert-line.js';
import { RULES_SCOPE } from '../../../src/shared/contract/scopes.js';

/** What the user is notified of. */
export interface Alarm {
  /** Of this alert: the browser shows one notification for it. */
  tag: string;
  text: string;
}

interface Parts {
  /** Rejects for a token that may not see rules. */
  load(): Promise<Rule[]>;
  /** The set of firing rules has changed. */
  changed(firing: readonly Rule[]): void;
  alarm(alarm: Alarm): void;
}

export class HubAlerts {
  readonly #parts: Parts;
  firing: readonly Rule[] = [];
  #isLoading = false;
  /** Asked for while it was loading. */
  #isOutdated = false;
  /** Increases with each session: answers of an earlier one are dropped. */
  #session = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A line of the log: one is on the stream for each alert. */
  saw(id: string, { scope, message }: LogEvent): void {
    if (scope !== RULES_SCOPE) return;
    this.refresh();
    // Bots cannot write in this scope.
    if (saysFiring(message)) this.#parts.alarm({ tag: `drover-alert-${id}`, text: message });
  }

  refresh(): void {
    if (this.#isLoading) this.#isOutdated = true;
    else void this.#load();
  }

  clear(): void {
    this.#session += 1;
    this.#isLoading = false;
    this.#isOutdated = false;
    this.#set([]);
  }

  async #load(): Promise<void> {
    const session = this.#session;
    this.#isLoading = true;
    do {
      this.#isOutdated = false;
      const rules = await this.#parts.load().catch(() => undefined);
      if (session !== this.#session) return;
      if (rules) this.#set(rules.filter(({ state }) => state === 'firing'));
    } while (this.#isOutdated);
    this.#isLoading = false;
  }

  #set(firing: readonly Rule[]): void {
    const isSame = JSON.stringify(firing) === JSON.stringify(this.firing);
    this.firing = firing;
    if (!isSame) this.#parts.changed(firing);
  }
}
