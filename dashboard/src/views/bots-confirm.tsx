import { useState } from 'preact/hooks';
import type { BotAction } from '../../../src/client/index.js';
import { actionText, actOn, asBefore, botsText, showOutcome } from '../model/actions.js';
import { bots } from '../model/live.js';
import { forRestart } from '../model/stopped.js';
import { Confirm } from '../parts/dialog.js';
import { sayError } from '../parts/toasts.js';
import { t } from '../texts/text.js';
import { DeletionNote, useSpecifications } from './deletion-note.js';

interface ConfirmProps {
  action: BotAction;
  ids: readonly string[];
  onClose: () => void;
  onDone: (errors: ReadonlyMap<string, string>) => void;
}

const NAMES_SHOWN = 8;

export function ConfirmAction({ action, ids: asked, onClose, onDone }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  // As the bots were when the dialog opened.
  const [{ running, stopped, text }] = useState(() => forRestart(asked, bots));
  const [withStopped, setWithStopped] = useState(false);
  const isChoice = action === 'restart' && running.length > 0 && stopped.length > 0;
  const ids = isChoice && !withStopped ? running : asked;
  const many = (of: readonly string[]): string =>
    of.length === 1 ? t('confirm.oneBot') : botsText(of.length);
  const specifications = useSpecifications(asked, action === 'delete');
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const { known } = await specifications.later;
      const before = { bots: asBefore(ids), known };
      let isLong = false;
      const errors = await actOn(action, ids, () => {
        isLong = true;
        onClose();
      });
      if (!errors) return;
      showOutcome(action, ids, errors, before);
      if (!isLong) onDone(errors);
    } catch (thrown) {
      sayError(thrown, t('action.failed', { action: actionText(action) }));
      onClose();
    }
  };
  return (
    <Confirm
      title={t('action.onQuestion', {
        action: actionText(action),
        target: asked.length === 1 ? (asked[0] ?? '') : many(asked),
      })}
      action={t('action.on', { action: actionText(action), target: many(ids) })}
      isDangerous={action === 'delete'}
      isBusy={isBusy}
      onYes={run}
      onClose={onClose}
    >
      <p class="wrap">
        {ids.slice(0, NAMES_SHOWN).join(', ')}
        {ids.length > NAMES_SHOWN ? ` ${t('count.more', { n: ids.length - NAMES_SHOWN })}` : ''}
      </p>
      {isChoice ? (
        <>
          <p>{t('confirm.selected', { bots: text })}</p>
          <label class="check">
            <input
              type="checkbox"
              checked={withStopped}
              onChange={({ currentTarget }) => setWithStopped(currentTarget.checked)}
            />{' '}
            {t('confirm.alsoStart', { n: stopped.length })}
          </label>
        </>
      ) : action === 'restart' && stopped.length > 0 ? (
        <p>{t('confirm.stopped', { n: stopped.length })}</p>
      ) : null}
      {action === 'delete' ? <DeletionNote count={ids.length} known={specifications} /> : null}
    </Confirm>
  );
}
