// How far an operation is: its state, and its bots by result as a bar and as text.

import type { Operation } from '../../../src/client/index.js';
import { RESULTS, statusText } from '../herd/cells.js';
import type { Tone } from '../parts/tone.js';
import { numberText, t } from '../texts/text.js';

const TONES: Record<Operation['state'], Tone> = {
  waiting: 'off',
  running: 'busy',
  paused: 'wait',
  canceling: 'wait',
  stopping: 'bad',
  done: 'good',
  canceled: 'off',
  stopped: 'bad',
  interrupted: 'bad',
};

/** In the order of the bar. */
const PARTS: readonly [keyof Operation['counts'], Tone][] = [
  ['done', 'good'],
  ['failed', 'bad'],
  ['unknown', 'wait'],
  ['running', 'busy'],
  ['skipped', 'off'],
  ['waiting', 'off'],
];

export function OperationState({ of: { state, rollout } }: { of: Operation }) {
  const waits = rollout?.waits === true && state === 'running';
  return (
    <span class={`tag tone-${waits ? 'wait' : TONES[state]}`}>
      {waits ? t('operation.waits') : t(`operationState.${state}`)}
    </span>
  );
}

export function OperationProgress({ of: { bots, counts, rollout } }: { of: Operation }) {
  const isUndoing = rollout?.undoes != null;
  const shown = PARTS.filter(([name]) => counts[name] > 0 || name === 'done');
  return (
    <div class="operation-progress">
      <div class="operation-bar" aria-hidden="true">
        {shown.map(([name, tone]) => (
          <span
            key={name}
            class={`tone-${tone}`}
            data-result={name}
            style={{ width: `${(100 * counts[name]) / Math.max(1, bots)}%` }}
          />
        ))}
      </div>
      <span class="operation-counts">
        {shown.map(([name]) => (
          <span key={name} data-count={name}>
            {numberText(counts[name])}{' '}
            {statusText(RESULTS[name === 'done' && isUndoing ? 'back' : name])}
          </span>
        ))}
        <span class="muted">{t('operation.of', { bots: t('count.bots', { n: bots }) })}</span>
      </span>
    </div>
  );
}
