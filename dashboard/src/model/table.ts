// Runs in tabs. Owns where somebody is in the table of bots: it is so still when they come back from one of them.

import { signal } from '@preact/signals';

interface Table {
  /** Ids; of bots too that have gone. */
  selected: ReadonlySet<string>;
  /** Id of the bot that keys are for. */
  active: string | undefined;
}

const NOTHING: Table = { selected: new Set(), active: undefined };

export const table = signal(NOTHING);
/** How far it is scrolled, in px, and with which query: another shows other bots. */
let scrolled = { query: '', current: 0 };

export function setSelected(selected: ReadonlySet<string>): void {
  table.value = { ...table.peek(), selected };
}

export function setActive(active: string): void {
  table.value = { ...table.peek(), active };
}

export function scrolledOf(query: string): { current: number } {
  if (query !== scrolled.query) scrolled = { query, current: 0 };
  return scrolled;
}

/** For somebody else, or nobody. */
export function forgetTable(): void {
  table.value = NOTHING;
  scrolled = { query: '', current: 0 };
}
