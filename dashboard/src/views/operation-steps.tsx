// What can be asked of an operation, as far as its state and the token allow it.

import { useState } from 'preact/hooks';
import type { Operation } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import {
  hasEnded,
  type OperationChange,
  type RolloutChange,
} from '../../../src/shared/contract/operation-bounds.js';
import { isUnlimited, may, ownToken } from '../model/own-token.js';
import { api } from '../model/session.js';
import { Confirm } from '../parts/dialog.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { sayError } from '../parts/toasts.js';
import { t } from '../texts/text.js';

type Step = OperationChange | RolloutChange;

/** They are asked for at once: a pause must not wait for an answer, and both can be taken back. */
const AT_ONCE: readonly Step[] = ['pause', 'resume'];

function stepsOf({ state, rollout }: Operation, isUndone: boolean): Step[] {
  const isOpen = state === 'waiting' || state === 'running' || state === 'paused';
  const isRollout = rollout?.undoes === null;
  const steps: [Step, boolean][] = [
    ['promote', isOpen && rollout?.waits === true],
    ['pause', state === 'running'],
    ['resume', state === 'paused'],
    ['cancel', isOpen],
    ['abort', isOpen && isRollout],
    ['revert', hasEnded({ state }) && isRollout && !isUndone],
  ];
  return steps.flatMap(([step, is]) => (is ? step : []));
}

interface Props {
  operation: Operation;
  /** Whether another operation takes it back. */
  isUndone: boolean;
  onDone: () => void;
}

export function OperationSteps({ operation, isUndone, onDone }: Props) {
  const [asking, setAsking] = useState<Step>();
  const steps = stepsOf(operation, isUndone);
  const isOwn = isUnlimited() || operation.actor.token === ownToken.value?.id;
  if (steps.length === 0 || !isOwn) return null;
  if (!may('control')) return <NeedsScope scope="control" to={t('scope.changeOperations')} />;
  const run = async (step: Step): Promise<void> => {
    setAsking(undefined);
    try {
      await api().operations[step](operation.id);
    } catch (thrown) {
      sayError(thrown, t('action.failed', { action: t(`operationStep.${step}`) }));
    }
    onDone();
  };
  return (
    <>
      {steps.map((step) => (
        <button
          key={step}
          type="button"
          class={step === 'abort' ? 'danger' : step === 'promote' ? 'primary' : ''}
          onClick={() => (AT_ONCE.includes(step) ? void run(step) : setAsking(step))}
        >
          {t(`operationStep.${step}`)}
        </button>
      ))}
      {asking ? (
        <Confirm
          title={t('action.onQuestion', {
            action: t(`operationStep.${asking}`),
            target: visible(operation.title),
          })}
          action={t(`operationStep.${asking}`)}
          isDangerous={asking !== 'promote'}
          onYes={() => void run(asking)}
          onClose={() => setAsking(undefined)}
        >
          <p>{askText(asking, operation)}</p>
        </Confirm>
      ) : null}
    </>
  );
}

function askText(step: Step, { counts, rollout }: Operation): string {
  switch (step) {
    case 'promote':
      return t('operationAsk.promote', { n: counts.waiting });
    case 'abort':
      return t('operationAsk.abort', { n: counts.done + counts.running + counts.failed });
    case 'revert':
      return t('operationAsk.revert');
    default:
      return t(rollout ? 'operationAsk.cancelRollout' : 'operationAsk.cancel', {
        n: counts.waiting,
      });
  }
}
