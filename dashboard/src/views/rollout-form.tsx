// Starts a rollout: to all bots of a kind, or to the selected bots.

import { useState } from 'preact/hooks';
import type { JsonObject, StartRollout } from '../../../src/client/index.js';
import { botsText } from '../model/actions.js';
import { presentOf } from '../model/live.js';
import { isUnlimited } from '../model/own-token.js';
import { go, hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { FormDialog } from '../parts/form-dialog.js';
import {
  type Faults,
  faultsOf,
  filled,
  initialOf,
  isObject,
  type Schema,
} from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { t } from '../texts/text.js';

interface Props {
  ids: readonly string[];
  /** All bots of it. */
  kind: string | undefined;
  onClose: () => void;
}

/** The service's rules (docs/API.md, Operations). */
function fieldsFor(kind: string | undefined): Schema {
  const number = (name: 'canary' | 'parallel' | 'max_failed', rest: Schema): Schema => ({
    ...{ type: 'integer', title: t(`rolloutForm.${name}`), minimum: 0 },
    ...rest,
  });
  return {
    type: 'object',
    properties: {
      ...(kind !== undefined && {
        version: {
          ...{ type: 'boolean', default: true, title: t('rolloutForm.version', { kind }) },
          description: t('rolloutForm.versionHint'),
        },
      }),
      config: {
        ...{ type: 'object', title: t('rolloutForm.config') },
        description: t('rolloutForm.configHint', { open: '{', close: '}' }),
      },
      canary: number('canary', {
        ...{ default: 0, maximum: 10_000, description: t('rolloutForm.canaryHint') },
      }),
      parallel: number('parallel', { default: 10, minimum: 1, maximum: 1000 }),
      healthy: {
        ...{ type: 'number', title: t('rolloutForm.healthy'), default: 30 },
        ...{ minimum: 0, maximum: 3600, description: t('rolloutForm.healthyHint') },
      },
      max_failed: number('max_failed', { default: 0, description: t('rolloutForm.failedHint') }),
    },
  };
}

export function RolloutForm({ ids, kind: whole, onClose }: Props) {
  // As they were when the dialog opened.
  const [{ schema, kind, target }] = useState(() => {
    const kinds = [...new Set(presentOf(ids).map((bot) => bot.kind))];
    const kind = whole ?? (kinds.length === 1 ? kinds[0] : undefined);
    const target =
      whole === undefined ? botsText(ids.length) : t('rolloutForm.allOf', { kind: whole });
    // A token that is limited to some bots cannot choose the version of a kind.
    return { schema: fieldsFor(isUnlimited() ? kind : undefined), kind, target };
  });
  const [value, setValue] = useState<JsonObject>(() => initialOf(schema));
  const faults: Faults = faultsOf(schema, value, 'rollout');
  const isVersion = value['version'] === true;
  const config = isObject(value['config']) ? value['config'] : {};
  const isNothing = !isVersion && Object.keys(config).length === 0;

  const send = async (): Promise<void> => {
    const { canary, parallel, max_failed, healthy } = filled(value) as Record<string, number>;
    const body: StartRollout = {
      ...(isVersion && kind !== undefined && { kind }),
      ...(whole === undefined ? { ids: [...ids] } : !isVersion && { query: kindQuery(whole) }),
      ...(Object.keys(config).length > 0 && { config }),
      ...(canary !== undefined && { canary }),
      ...(parallel !== undefined && { parallel }),
      ...(max_failed !== undefined && { max_failed }),
      ...(healthy !== undefined && { healthy_ms: Math.round(healthy * 1000) }),
    };
    const { id } = await api().operations.startRollout(body);
    onClose();
    go(hrefTo('operations', id));
  };

  return (
    <FormDialog
      title={t('rolloutForm.title', { target })}
      action={t('rolloutForm.start')}
      isReady={faults.size === 0 && !isNothing}
      send={send}
      onClose={onClose}
    >
      <SchemaFields
        schema={schema}
        value={value}
        path="rollout"
        faults={faults}
        onChange={setValue}
      />
      {isNothing ? <p class="muted">{t('rolloutForm.nothing')}</p> : null}
    </FormDialog>
  );
}

function kindQuery(kind: string): string {
  return `kind:${JSON.stringify(kind)}`;
}
