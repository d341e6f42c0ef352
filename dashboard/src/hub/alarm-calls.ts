import type { Alarm } from './alerts.js';

/** How long a tab may take to tell the user, in ms: browsers freeze hidden tabs. */
const TOLD_MS = 2000;
/** Alarms that wait for a tab; a further one is dropped: it is on the page, and so many at once are enough for a person. */
const MAX_OPEN = 20;

/**
 * Runs in the hub. Owns the alarms that no tab has shown yet: one tab shows each, so that many tabs raise one notification. The tab that
 * does not answer is frozen, and the next one is asked.
 */
export class AlarmCalls<T> {
  readonly #tabs: () => T[];
  readonly #send: (tab: T, alarm: Alarm) => void;
  readonly #open = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(tabs: () => T[], send: (tab: T, alarm: Alarm) => void) {
    this.#tabs = tabs;
    this.#send = send;
  }

  raise(alarm: Alarm): void {
    if (this.#open.size < MAX_OPEN) this.#ask(alarm, []);
  }

  told(tag: string): void {
    clearTimeout(this.#open.get(tag));
    this.#open.delete(tag);
  }

  clear(): void {
    for (const tag of [...this.#open.keys()]) this.told(tag);
  }

  /** @param asked those that have not answered. */
  #ask(alarm: Alarm, asked: readonly T[]): void {
    const next = this.#tabs().find((tab) => !asked.includes(tab));
    if (next === undefined) {
      this.told(alarm.tag);
      return;
    }
    this.#open.set(
      alarm.tag,
      setTimeout(() => this.#ask(alarm, [...asked, next]), TOLD_MS),
    );
    this.#send(next, alarm);
  }
}
