// Runs in tabs. Owns the pinned fields in localStorage: names of data fields for each kind of bots, in this browser only. All tabs follow
// changes.

import { signal } from '@preact/signals';
import { t } from '../texts/text.js';

type Pins = Readonly<Record<string, readonly string[]>>;

const KEY = 'drover.pins';
/** Of one kind; further ones are refused. What is read of the journal at once has 10. */
export const MAX_PINS = 10;
/** Kinds with pins; the ones that were changed longest ago are forgotten. */
const MAX_KINDS = 50;

const pins = signal<Pins>(read());

export function pinsOf(kind: string): readonly string[] {
  return Object.hasOwn(pins.value, kind) ? (pins.value[kind] ?? []) : [];
}

/** Pins a field, or unpins it. @returns the error, if any. */
export function togglePin(kind: string, path: string): string | undefined {
  const before = pinsOf(kind);
  const isPinned = before.includes(path);
  if (!isPinned && before.length >= MAX_PINS) {
    return t('data.tooManyPins', { n: MAX_PINS, kind });
  }
  const now = isPinned ? before.filter((one) => one !== path) : [...before, path];
  const others = Object.entries(pins.peek()).filter(([one]) => one !== kind);
  const kept = [...others, ...(now.length > 0 ? [[kind, now] as const] : [])].slice(-MAX_KINDS);
  pins.value = Object.fromEntries(kept);
  try {
    localStorage.setItem(KEY, JSON.stringify(pins.value));
    return undefined;
  } catch {
    return t('storage.notStored');
  }
}

function read(): Pins {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (typeof stored !== 'object' || stored === null) return {};
    const known = Object.entries(stored).flatMap(([kind, paths]) =>
      Array.isArray(paths)
        ? [[kind, paths.filter((path) => typeof path === 'string').slice(0, MAX_PINS)] as const]
        : [],
    );
    return Object.fromEntries(known.slice(-MAX_KINDS));
  } catch {
    return {};
  }
}

window.addEventListener('storage', ({ key }) => {
  if (key === KEY) pins.value = read();
});
