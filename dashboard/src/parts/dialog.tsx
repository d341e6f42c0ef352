import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../texts/text.js';
import { CloseButton } from './close-button.js';
import { keepFocus } from './focus.js';

/** The element that gets the initial focus: the first field, of radio buttons the chosen one, or the marked button. */
const FIRST =
  '.dialog-body :is(input:not([type=radio]:not(:checked)), select, textarea), footer [data-first]';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}

/** The native dialog: it traps the focus, closes on Escape and restores the focus. */
export function Dialog({ title, onClose, children, isWide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the page is painted: a key that is pressed as soon as it shows is not lost.
  useLayoutEffect(() => {
    const giveBack = keepFocus();
    element.current?.showModal();
    // The default would be the close button.
    element.current?.querySelector<HTMLElement>(FIRST)?.focus();
    // Deferred until the dialog is removed: nothing behind an open dialog can be focused.
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
        <CloseButton name={t('button.close')} onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** Text of the confirm button. */
  action: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  onYes: () => void;
  onClose: () => void;
  /** A second, harmless choice, which gets the focus. */
  other?: { action: string; run: () => void };
  children: ComponentChildren;
}

export function Confirm({
  title,
  action,
  isDangerous = false,
  isBusy = false,
  onYes,
  onClose,
  other,
  children,
}: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">{children}</div>
      <footer>
        <button type="button" data-first={(isDangerous && !other) || undefined} onClick={onClose}>
          {t('button.cancel')}
        </button>
        {other ? (
          <button type="button" data-first onClick={other.run}>
            {other.action}
          </button>
        ) : null}
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
