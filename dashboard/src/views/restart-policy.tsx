import type { JsonObject, RestartPolicy } from '../../../src/client/index.js';
import { span } from '../model/time.js';
import type { Faults, Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { type PlainKey, t } from '../texts/text.js';

function field(title: PlainKey, description: PlainKey | undefined, rest: Schema): Schema {
  return { title: t(title), ...(description && { description: t(description) }), ...rest };
}

/** The service's rules (docs/API.md, Bots). */
const FIELDS: Record<keyof RestartPolicy, Schema> = {
  policy: field('restart.policy', 'restart.policyHint', {
    enum: ['always', 'on-failure', 'never'],
  }),
  max_restarts: field('restart.most', 'restart.mostHint', {
    type: 'integer',
    minimum: 0,
    maximum: 1000,
  }),
  window_ms: field('restart.window', undefined, { type: 'integer', minimum: 1000 }),
  backoff_ms: field('restart.backoff', 'restart.backoffHint', { type: 'integer', minimum: 0 }),
  backoff_cap_ms: field('restart.backoffCap', undefined, { type: 'integer', minimum: 0 }),
  healthy_ms: field('restart.healthy', 'restart.healthyHint', { type: 'integer', minimum: 0 }),
};

export const RESTART: Schema = { type: 'object', properties: FIELDS };
/** For an existing policy, where only one field can be empty: without `max_restarts` there is no limit. */
export const RESTART_COMPLETE: Schema = {
  ...RESTART,
  required: Object.keys(FIELDS).filter((name) => name !== 'max_restarts'),
};

interface Props {
  value: JsonObject;
  faults: Faults;
  onChange: (value: JsonObject) => void;
  hint?: string;
}

export function RestartFields({ value, faults, onChange, hint }: Props) {
  const hasFault = [...faults.keys()].some((path) => path.startsWith('restart.'));
  return (
    <details class="card more" open={hasFault}>
      <summary>
        {t('bulk.restartPolicy')} <span class="muted">{summaryOf(value)}</span>
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
  if (policy !== 'never' && most === null) return t('restart.noLimit', { policy });
  if (policy === 'never' || typeof most !== 'number' || typeof window !== 'number') return policy;
  return t('restart.atMost', { policy, n: most, time: span(window) });
}
