// Runs in tabs. Owns the state of the bot table (selection, scroll position), so that it survives opening a bot.

import { signal } from '@preact/signals';
import { recorded } from './event-source.js';
import { hrefTo } from './route.js';

interface Table {
  /** Ids, also of bots that were deleted since. */
  selected: ReadonlySet<string>;
  /** Id of the bot that shortcuts apply to. */
  active: string | undefined;
}

const NOTHING: Table = { selected: new Set(), active: undefined };

export const table = signal(NOTHING);
const TOP = { href: hrefTo('bots'), current: 0 };
/** Scroll position in px, for the table with this address. */
let scrolled = { ...TOP };

/** Nothing of a recording can be selected: what is selected is acted on now. */
export function setSelected(selected: ReadonlySet<string>): void {
  if (recorded.peek()) return;
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

/** The last address of the table. */
export function hrefOfTable(): string {
  return scrolled.href;
}

/** On sign-out. */
export function forgetTable(): void {
  table.value = NOTHING;
  scrolled = { ...TOP };
}
