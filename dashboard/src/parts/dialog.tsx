// Owns dialogs: the browser's own, which keep the focus inside, close with Escape and give it back.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { keepFocus } from './focus.js';
import { Icon } from './icons.js';

/** What has the focus at the beginning: the first field, or the button that is named so. */
const FIRST = '.dialog-body :is(input, select, textarea), footer [data-first]';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const giveBack = keepFocus();
    element.current?.showModal();
    // By itself it would be the button that closes it.
    element.current?.querySelector<HTMLElement>(FIRST)?.focus();
    // When it has left the page: until then nothing behind it can have the focus.
    return () => queueMicrotask(giveBack);
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet square" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What the button says. */
  action: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  onYes: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

export function Confirm({
  title,
  action,
  isDangerous = false,
  isBusy = false,
  onYes,
  onClose,
  children,
}: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">{children}</div>
      <footer>
        <button type="button" data-first={isDangerous || undefined} onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          data-first={!isDangerous || undefined}
          class={isDangerous ? 'danger' : 'primary'}
          disabled={isBusy}
          onClick={onYes}
        >
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
