// Owns the toasts: short messages at the edge of the page. Errors stay until they are closed.

import { signal } from '@preact/signals';
import { Icon } from './icons.js';

interface Toast {
  key: number;
  text: string;
  isError: boolean;
}

/** Bound; the oldest is removed. */
const MAX_TOASTS = 4;
const SHOWN_MS = 5000;

const toasts = signal<Toast[]>([]);
let next = 0;

export function say(text: string): void {
  const { key } = add(text, false);
  setTimeout(() => drop(key), SHOWN_MS);
}

export function sayError(thrown: unknown, what = ''): void {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  add(what === '' ? text : `${what}: ${text}`, true);
}

/** On sign-out: they belong to the previous session. */
export function clearToasts(): void {
  toasts.value = [];
}

function add(text: string, isError: boolean): Toast {
  const toast = { key: next++, text, isError };
  toasts.value = [...toasts.value, toast].slice(-MAX_TOASTS);
  return toast;
}

function drop(key: number): void {
  toasts.value = toasts.value.filter((toast) => toast.key !== key);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ key, text, isError }) => (
        <div key={key} class={isError ? 'toast error' : 'toast'}>
          <span>{text}</span>
          <button
            type="button"
            class="quiet square"
            aria-label="Dismiss"
            title="Dismiss"
            onClick={() => drop(key)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
