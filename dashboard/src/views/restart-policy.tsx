import type { JsonObject, RestartPolicy } from '../../../src/client/index.js';
import { span } from '../model/time.js';
import type { Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';

/** The service's rules (docs/API.md, Bots). */
const FIELDS: Record<keyof RestartPolicy, Schema> = {
  policy: {
    title: 'Policy',
    enum: ['always', 'on-failure', 'never'],
    description: 'When to restart a bot that exits. on-failure: only after an error.',
  },
  max_restarts: {
    title: 'Maximum restarts',
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    description:
      'Within the window. After more restarts the bot fails. Cleared for an existing bot: no limit.',
  },
  window_ms: { title: 'Window (ms)', type: 'integer', minimum: 1000 },
  backoff_ms: {
    title: 'Initial backoff (ms)',
    type: 'integer',
    minimum: 0,
    description: 'Doubles with each restart.',
  },
  backoff_cap_ms: { title: 'Maximum backoff (ms)', type: 'integer', minimum: 0 },
  healthy_ms: {
    title: 'Healthy after (ms)',
    type: 'integer',
    minimum: 0,
    description: 'A run of this length resets the backoff.',
  },
};

export const RESTART: Schema = { type: 'object', properties: FIELDS };
/** For an existing policy, where only one field can be empty: without `max_restarts` there is no limit. */
export const RESTART_COMPLETE: Schema = {
  ...RESTART,
  required: Object.keys(FIELDS).filter((name) => name !== 'max_restarts'),
};

interface Props {
  value: JsonObject;
  faults: ReadonlyMap<string, string>;
  onChange: (value: JsonObject) => void;
  hint?: string;
}

export function RestartFields({ value, faults, onChange, hint }: Props) {
  const hasFault = [...faults.keys()].some((path) => path.startsWith('restart.'));
  return (
    <details class="card more" open={hasFault}>
      <summary>
        Restart policy <span class="muted">{summaryOf(value)}</span>
      </summary>
      {hint === undefined ? null : <p class="hint">{hint}</p>}
      <div class="field-pair">
        <SchemaFields
          schema={RESTART}
          value={value}
          path="restart"
          faults={faults}
          onChange={onChange}
        />
      </div>
    </details>
  );
}

/** `on-failure, at most 60 in 1 h`. */
function summaryOf({ policy, max_restarts: most, window_ms: window }: JsonObject): string {
  if (typeof policy !== 'string') return '';
  if (policy !== 'never' && most === null) return `${policy}, without limit`;
  if (policy === 'never' || typeof most !== 'number' || typeof window !== 'number') return policy;
  return `${policy}, at most ${most} in ${span(window)}`;
}
