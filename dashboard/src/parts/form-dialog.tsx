import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../texts/text.js';
import { Dialog } from './dialog.js';

interface Props {
  title: string;
  /** Text of the button that sends it. */
  action: string;
  /** Whether the input can be sent. */
  isReady: boolean;
  /** @throws Error that the form shows. */
  send: () => Promise<void>;
  onClose: () => void;
  /** The fields. */
  children: ComponentChildren;
}

/** A dialog with a form, which stays open and shows the error until the service accepts it. */
export function FormDialog({ title, action, isReady, send, onClose, children }: Props) {
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setFault('');
    try {
      await send();
    } catch (thrown) {
      setFault((thrown as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) void submit();
        }}
      >
        <div class="dialog-body form">
          {children}
          {fault === '' ? null : (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
        </div>
        <footer>
          <button type="button" onClick={onClose}>
            {t('button.cancel')}
          </button>
          <button type="submit" class="primary" disabled={isBusy || !isReady}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
