// Owns the toasts: short messages at the edge of the page. Errors stay until they are closed; one with an action stays longer than
// others, and as long as the pointer or the focus is on it.

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts/text.js';
import { CloseButton } from './close-button.js';

/** What can be done about a message, once. */
export interface ToastAction {
  title: string;
  run: () => void;
}

/** Where more about it is. */
export interface ToastLink {
  title: string;
  href: string;
}

interface Toast {
  key: number;
  text: string;
  isError: boolean;
  action?: ToastAction | undefined;
  link?: ToastLink | undefined;
}

/** Bound; the oldest is removed. */
const MAX_TOASTS = 4;
const SHOWN_MS = 5000;
/** How long one with an action is shown, and so how long the action can be taken. */
export const ACTION_MS = 20_000;

const toasts = signal<Toast[]>([]);
let next = 0;

export function say(text: string, action?: ToastAction, link?: ToastLink): void {
  add(text, false, action, link);
}

export function sayError(thrown: unknown, what = ''): void {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  add(what === '' ? text : `${what}: ${text}`, true);
}

/** Takes the action of the newest message that has one. */
export function takeLastAction(): void {
  const last = toasts.peek().findLast(({ action }) => action !== undefined);
  if (last) take(last);
}

/** On sign-out: they belong to the previous session. */
export function clearToasts(): void {
  toasts.value = [];
}

function add(text: string, isError: boolean, action?: ToastAction, link?: ToastLink): void {
  toasts.value = [...toasts.value, { key: next++, text, isError, action, link }].slice(-MAX_TOASTS);
}

function drop(key: number): void {
  toasts.value = toasts.value.filter((toast) => toast.key !== key);
}

function take({ key, action }: Toast): void {
  drop(key);
  action?.run();
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <OneToast key={toast.key} toast={toast} />
      ))}
    </div>
  );
}

function OneToast({ toast }: { toast: Toast }) {
  const { key, text, isError, action, link } = toast;
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isError || isHeld) return;
    const timer = setTimeout(() => drop(key), action || link ? ACTION_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isHeld]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: who points at it, or is in it, is still reading
    <div
      class={isError ? 'toast error' : 'toast'}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocusIn={() => setHeld(true)}
      onFocusOut={() => setHeld(false)}
    >
      <span>{text}</span>
      {link ? (
        <a href={link.href} onClick={() => drop(key)}>
          {link.title}
        </a>
      ) : null}
      {action ? (
        <button type="button" onClick={() => take(toast)}>
          {action.title}
        </button>
      ) : null}
      <CloseButton name={t('toast.dismiss')} onClick={() => drop(key)} />
    </div>
  );
}
