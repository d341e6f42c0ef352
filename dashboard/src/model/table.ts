// Runs in tabs. Owns where somebody is in the table of bots: it is so still when they come back from one of them.

import { signal } from '@preact/signals';
import { hrefTo } from './route.js';

interface Table {
  /** Ids; of bots too that have gone. */
  selected: ReadonlySet<string>;
  /** Id of the bot that keys are for. */
  active: string | undefined;
}

const NOTHING: Table = { selected: new Set(), active: undefined };

export const table = signal(NOTHING);
const TOP = { href: hrefTo('bots'), current: 0 };
/** How far it is scrolled, in px, and with which query in its address: another shows other bots. */
let scrolled = { ...TOP };

export function setSelected(selected: ReadonlySet<string>): void {
  table.value = { ...table.peek(), selected };
}

export function setActive(active: string): void {
  table.value = { ...table.peek(), active };
}

export function scrolledOf(query: Record<string, string>): { current: number } {
  const href = hrefTo('bots', '', query);
  if (href !== scrolled.href) scrolled = { href, current: 0 };
  return scrolled;
}

/** The address of the table as it was left. */
export function hrefOfTable(): string {
  return scrolled.href;
}

/** For somebody else, or nobody. */
export function forgetTable(): void {
  table.value = NOTHING;
  scrolled = { ...TOP };
}
