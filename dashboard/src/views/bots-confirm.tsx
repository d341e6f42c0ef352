import { useState } from 'preact/hooks';
import type { BotAction } from '../../../src/client/index.js';
import { ACTION_NAMES, actOn, showOutcome } from '../model/actions.js';
import { Confirm } from '../parts/dialog.js';
import { sayError } from '../parts/toasts.js';

/** An action to confirm. The ids are fixed when the dialog opens, so that the user confirms exactly what is shown. */
export interface Question {
  action: BotAction;
  ids: readonly string[];
}

interface ConfirmProps extends Question {
  onClose: () => void;
  onDone: (errors: ReadonlyMap<string, string>) => void;
}

const NAMES_SHOWN = 8;

export function ConfirmAction({ action, ids, onClose, onDone }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  const many = ids.length === 1 ? ids[0] : `${ids.length.toLocaleString('en')} bots`;
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const errors = await actOn(action, ids);
      showOutcome(action, ids, errors);
      onDone(errors);
    } catch (thrown) {
      sayError(thrown, `${ACTION_NAMES[action]} failed`);
      onClose();
    }
  };
  return (
    <Confirm
      title={`${ACTION_NAMES[action]} ${many}?`}
      action={`${ACTION_NAMES[action]} ${ids.length === 1 ? 'bot' : `${ids.length.toLocaleString('en')} bots`}`}
      isDangerous={action === 'delete'}
      isBusy={isBusy}
      onYes={run}
      onClose={onClose}
    >
      <p class="wrap">
        {ids.slice(0, NAMES_SHOWN).join(', ')}
        {ids.length > NAMES_SHOWN
          ? ` and ${(ids.length - NAMES_SHOWN).toLocaleString('en')} more`
          : ''}
      </p>
      {action === 'delete' ? (
        <p>
          {ids.length === 1 ? 'The bot is' : 'The bots are'} stopped and deleted together with{' '}
          {ids.length === 1 ? 'its' : 'their'} configuration. This cannot be undone.
        </p>
      ) : null}
    </Confirm>
  );
}
