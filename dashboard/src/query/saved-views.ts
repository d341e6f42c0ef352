// Runs in tabs. Owns the saved views in localStorage: names for addresses, of this browser only. All tabs follow changes.

import { signal } from '@preact/signals';
import { t } from '../texts/text.js';

export interface SavedView {
  name: string;
  /** `bots` or `log`. */
  view: string;
  /** The query of the address. */
  query: string;
}

const KEY = 'drover.views';
/** Further ones are refused. */
export const MAX_VIEWS = 50;
export const MAX_NAME = 60;

export const savedViews = signal<readonly SavedView[]>(read());

/** Saves under a name; one of the same view with that name is replaced. @returns the error, if any. */
export function saveView(saved: SavedView): string | undefined {
  const others = savedViews.peek().filter((one) => !isSame(one, saved));
  if (others.length >= MAX_VIEWS) return t('views.tooMany', { n: MAX_VIEWS });
  return write([...others, saved]);
}

export function removeView(saved: SavedView): string | undefined {
  return write(savedViews.peek().filter((one) => !isSame(one, saved)));
}

function isSame(one: SavedView, other: SavedView): boolean {
  return one.view === other.view && one.name === other.name;
}

function write(views: readonly SavedView[]): string | undefined {
  savedViews.value = [...views].sort((a, b) => a.name.localeCompare(b.name, 'en'));
  try {
    localStorage.setItem(KEY, JSON.stringify(savedViews.value));
    return undefined;
  } catch {
    return t('storage.notStored');
  }
}

function read(): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(0, MAX_VIEWS) : [];
  } catch {
    return [];
  }
}

function isView(stored: unknown): stored is SavedView {
  const { name, view, query } = (stored ?? {}) as Partial<Record<keyof SavedView, unknown>>;
  return [name, view, query].every((part) => typeof part === 'string');
}

window.addEventListener('storage', ({ key }) => {
  if (key === KEY) savedViews.value = read();
});
