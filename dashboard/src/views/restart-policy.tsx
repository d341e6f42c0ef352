// Owns the fields of a restart policy: when a bot that ended by itself is started again.

import type { JsonObject, RestartPolicy } from '../../../src/client/index.js';
import { span } from '../model/time.js';
import type { Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';

/** As the service checks them (docs/API.md, Bots). */
const FIELDS: Record<keyof RestartPolicy, Schema> = {
  policy: {
    title: 'Start again',
    enum: ['always', 'on-failure', 'never'],
    description: 'A bot that ended by itself; on-failure: that threw or could not be started.',
  },
  max_restarts: {
    title: 'Restarts at most',
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    description: 'Within the window; one more and it has failed.',
  },
  window_ms: { title: 'Window, ms', type: 'integer', minimum: 1000 },
  backoff_ms: {
    title: 'First wait, ms',
    type: 'integer',
    minimum: 0,
    description: 'Doubled for each further restart.',
  },
  backoff_cap_ms: { title: 'Longest wait, ms', type: 'integer', minimum: 0 },
  healthy_ms: {
    title: 'Healthy after, ms',
    type: 'integer',
    minimum: 0,
    description: 'A run of this length ends the doubling.',
  },
};

export const RESTART: Schema = { type: 'object', properties: FIELDS };
/** Where there is a policy already none of it can be missing. */
export const RESTART_WHOLE: Schema = { ...RESTART, required: Object.keys(FIELDS) };

interface Props {
  value: JsonObject;
  faults: ReadonlyMap<string, string>;
  onChange: (value: JsonObject) => void;
  /** What holds for what is left empty. */
  hint?: string;
}

export function RestartFields({ value, faults, onChange, hint }: Props) {
  const hasFault = [...faults.keys()].some((path) => path.startsWith('restart.'));
  return (
    <details class="card more" open={hasFault}>
      <summary>
        Restart policy <span class="muted">{inShort(value)}</span>
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

/** `on-failure, at most 10 in 10 min`. */
function inShort({ policy, max_restarts: most, window_ms: window }: JsonObject): string {
  if (typeof policy !== 'string') return '';
  if (policy === 'never' || typeof most !== 'number' || typeof window !== 'number') return policy;
  return `${policy}, at most ${most} in ${span(window)}`;
}
