// Owns the keyboard shortcuts. A key pressed outside of a field goes to the most recently added binding for it.

import { computed, signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { mayOpen } from '../model/own-token.js';
import { go, hrefTo } from '../model/route.js';
import { settings } from '../model/settings.js';
import { takeLastAction } from '../parts/toasts.js';
import { type PlainKey, t } from '../texts/text.js';

export interface Binding {
  /** `KeyboardEvent.key`; two keys separated by a space are a sequence. */
  keys: string;
  /** For the help sheet. */
  does: string;
  run: () => void;
}

interface Group {
  title: string;
  bindings: readonly Binding[];
}

/** Longest time between the two keys of a sequence, in ms. */
const SECOND_KEY_MS = 1500;

export const groups = signal<readonly Group[]>([]);
export const isHelpOpen = signal(false);
export const isPaletteOpen = signal(false);
/** What was typed for the palette before it was loaded. */
let ahead = '';

export function takeTypedAhead(): string {
  const text = ahead;
  ahead = '';
  return text;
}

const PAGES: readonly (readonly [keys: string, page: string, title: PlainKey])[] = [
  ['g o', 'overview', 'page.overview'],
  ['g b', 'bots', 'term.bots'],
  ['g l', 'log', 'page.log'],
  ['g p', 'problems', 'page.problems'],
  ['g a', 'activity', 'page.activity'],
  ['g w', 'operations', 'page.operations'],
  ['g r', 'runs', 'page.runs'],
  ['g t', 'tokens', 'page.tokens'],
  ['g s', 'settings', 'page.settings'],
];

const everywhere = computed<Group>(() => ({
  title: t('help.everywhere'),
  bindings: [
    ...PAGES.filter(([, page]) => mayOpen(page)).map(([keys, page, title]) => ({
      keys,
      does: t(title),
      run: () => go(hrefTo(page)),
    })),
    {
      keys: 'Ctrl k',
      does: t('help.palette'),
      run: () => (isPaletteOpen.value = true),
    },
    { keys: 'z', does: t('help.undo'), run: takeLastAction },
    { keys: '/', does: t('help.search'), run: focusSearch },
    {
      keys: '?',
      does: t('help.help'),
      run: () => (isHelpOpen.value = !isHelpOpen.value),
    },
  ],
}));

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]');
  field?.focus();
  field?.select();
}

/** All groups that have keys for this token, for the help sheet. */
export function allGroups(): readonly Group[] {
  return [everywhere.value, ...groups.value].filter(({ bindings }) => bindings.length > 0);
}

/** Adds key bindings while the component is mounted. */
export function useKeys(title: string, bindings: readonly Binding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  // Before the page is painted: a key that is pressed as soon as it shows is not lost.
  useLayoutEffect(() => {
    // Looks up the current closure on each key press.
    const group: Group = {
      title,
      bindings: bindings.map(({ keys, does }, at) => ({
        keys,
        does,
        run: () => latest.current[at]?.run(),
      })),
    };
    groups.value = [...groups.value, group];
    return () => {
      groups.value = groups.value.filter((other) => other !== group);
    };
  }, [title]);
}

let first = '';
let firstAt = 0;

window.addEventListener('keydown', (event) => {
  if (event.defaultPrevented) return;
  if (isPaletteKey(event)) {
    event.preventDefault();
    // Not over another dialog, whose question comes first.
    ahead = '';
    isPaletteOpen.value = !isPaletteOpen.peek() && document.querySelector('dialog[open]') === null;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isPaletteOpen.peek() && document.querySelector('dialog[open]') === null) {
    event.preventDefault();
    if (event.key === 'Escape') {
      ahead = '';
      isPaletteOpen.value = false;
    } else if (event.key.length === 1) ahead += event.key;
    return;
  }
  const target = event.target as HTMLElement;
  // Shortcuts of the page behind an open dialog are off, also after a click inside the dialog moved the focus to the body.
  const isBehindDialog = document.querySelector('dialog[open]') !== null;
  if (isBehindDialog && !(event.key === '?' && isHelpOpen.peek())) return;
  if (isField(target)) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  // Single characters. Arrows, Enter and Escape have longer names.
  if (event.key.length === 1 && !settings.peek().keys) return;
  // The focused control handles these itself.
  if ((event.key === 'Enter' || event.key === ' ') && target.closest('button, a, summary')) return;
  if (event.key === ' ' && target.matches('input')) return;
  const pair = event.timeStamp - firstAt < SECOND_KEY_MS ? `${first} ${event.key}` : '';
  const found = find(pair) ?? find(event.key);
  first = event.key;
  firstAt = event.timeStamp;
  if (!found) return;
  first = '';
  event.preventDefault();
  found.run();
});

/** From anywhere, also out of a field: it is no character. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey && !shiftKey;
}

function find(keys: string): Binding | undefined {
  if (keys === '') return undefined;
  for (const { bindings } of [...groups.peek(), everywhere.value].reverse()) {
    const found = bindings.find((binding) => binding.keys === keys);
    if (found) return found;
  }
  return undefined;
}

function isField(element: HTMLElement): boolean {
  return (
    element.matches('input:not([type=checkbox]), textarea, select') || element.isContentEditable
  );
}
