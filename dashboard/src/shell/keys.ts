// Owns the keyboard: what is typed while no field has the focus goes to the newest binding that knows it.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../model/route.js';
import { settings } from '../model/settings.js';

export interface Binding {
  /** As `KeyboardEvent.key` says; two with a space between are typed one after the other. */
  keys: string;
  /** For the help sheet. */
  does: string;
  run: () => void;
}

interface Group {
  title: string;
  bindings: readonly Binding[];
}

/** How long the second key of two may take, in ms. */
const SECOND_KEY_MS = 1500;

export const groups = signal<readonly Group[]>([]);
export const isHelpOpen = signal(false);

const EVERYWHERE: Group = {
  title: 'Everywhere',
  bindings: [
    { keys: 'g o', does: 'Overview', run: () => go('#/overview') },
    { keys: 'g b', does: 'Bots', run: () => go('#/bots') },
    { keys: 'g l', does: 'Log', run: () => go('#/log') },
    { keys: 'g t', does: 'Tokens', run: () => go('#/tokens') },
    { keys: 'g s', does: 'Settings', run: () => go('#/settings') },
    { keys: '/', does: 'Search', run: focusSearch },
    { keys: '?', does: 'This sheet', run: () => (isHelpOpen.value = !isHelpOpen.value) },
  ],
};

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]');
  field?.focus();
  field?.select();
}

/** All groups, for the help sheet. */
export function allGroups(): readonly Group[] {
  return [EVERYWHERE, ...groups.value];
}

/** Binds keys while the component is there. */
export function useKeys(title: string, bindings: readonly Binding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    // What they do is looked up when it is done: closures go stale.
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
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement;
  // What lies behind a dialog is not to be worked, wherever the focus is: a click beside its fields takes it out of them.
  const isBehindDialog = document.querySelector('dialog[open]') !== null;
  if (isBehindDialog && !(event.key === '?' && isHelpOpen.peek())) return;
  if (isField(target)) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  // Letters, figures and signs; arrows, Enter and Escape are no characters.
  if (event.key.length === 1 && !settings.peek().keys) return;
  // These do what they do on whatever has the focus.
  if ((event.key === 'Enter' || event.key === ' ') && target.closest('button, a, summary')) return;
  const pair = event.timeStamp - firstAt < SECOND_KEY_MS ? `${first} ${event.key}` : '';
  const found = find(pair) ?? find(event.key);
  first = event.key;
  firstAt = event.timeStamp;
  if (!found) return;
  first = '';
  event.preventDefault();
  found.run();
});

function find(keys: string): Binding | undefined {
  if (keys === '') return undefined;
  for (const { bindings } of [...groups.peek(), EVERYWHERE].reverse()) {
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
