import { BulkConfig } from '../config/bulk-config.js';
import { type Asked, asked } from '../model/asked.js';
import { ConfirmAction } from './bots-confirm.js';
import { BulkCommand } from './bulk-command.js';
import { RolloutForm } from './rollout-form.js';

/** The dialog of the question that is being asked about bots. */
export function AskedView({ question }: { question: Asked }) {
  const { action, ids, kind, onDone } = question;
  const close = (): void => {
    // Another may have been asked meanwhile.
    if (asked.peek() === question) asked.value = null;
  };
  if (action === 'command') return <BulkCommand ids={ids} onClose={close} />;
  if (action === 'config') return <BulkConfig ids={ids} onClose={close} />;
  if (action === 'rollout') return <RolloutForm ids={ids} kind={kind} onClose={close} />;
  return (
    <ConfirmAction
      action={action}
      ids={ids}
      onClose={close}
      onDone={(errors) => {
        close();
        onDone?.(errors);
      }}
    />
  );
}
