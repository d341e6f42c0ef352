// Owns the configuration of a bot: the form of its kind, labels and restart policy. Only what was changed is sent, so that
// what is secret, and not shown, stays as it is.

import { useEffect, useState } from 'preact/hooks';
import type {
  BotSnapshot,
  JsonObject,
  BotConfig as Kept,
  UpdateBotBody,
} from '../../../src/client/index.js';
import { kinds } from '../model/kinds.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { labelsText, parseLabels, rebasedLabels } from '../parts/labels.js';
import { changesBetween, faultsOf, filled, type Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { say } from '../parts/toasts.js';
import { faultFrom } from './faults.js';

export function BotConfig({ bot }: { bot: BotSnapshot }) {
  const { value, error, reload } = useResource(
    (signal) => api().bots.config(bot.id, { signal }),
    [bot.id],
  );
  if (!value) return <p class="empty muted">{error ? error.message : 'Loading …'}</p>;
  return <ConfigForm bot={bot} kept={value} onSaved={reload} />;
}

function ConfigForm({ bot, kept, onSaved }: { bot: BotSnapshot; kept: Kept; onSaved: () => void }) {
  const schema = (kinds.value.find((one) => one.kind === bot.kind)?.config ?? {}) as Schema;
  const [config, setConfig] = useState<JsonObject>(kept.config);
  /** Undefined until they are touched: then they are those of the bot, whoever changes them. */
  const [labels, setLabels] = useState<{ text: string; base: Record<string, string> }>();
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setConfig(kept.config), [kept]);

  const changed = changesBetween(filled(kept.config), filled(config));
  const isChanged = Object.keys(changed).length > 0;
  const areLabelsChanged = labels !== undefined && labels.text.trim() !== labelsText(labels.base);
  const isMovedOn = labels !== undefined && labelsText(labels.base) !== labelsText(bot.labels);
  const save = async (): Promise<void> => {
    // What is secret is not shown, and so cannot be missing.
    const found = faultsOf(withoutSecretNeeds(schema), config, 'config');
    setFaults(found);
    if (found.size > 0) return;
    setBusy(true);
    try {
      const body: UpdateBotBody = {
        ...(isChanged ? { config: changed } : {}),
        ...(areLabelsChanged
          ? { labels: rebasedLabels(labels.base, parseLabels(labels.text), bot.labels) }
          : {}),
      };
      await api().bots.update(bot.id, body);
      setLabels(undefined);
      say(isChanged ? `${bot.id} changed; if it runs it is restarted` : `${bot.id} changed`);
      onSaved();
    } catch (thrown) {
      setFaults(faultFrom(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="page narrow form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <fieldset class="card">
        <legend>Configuration</legend>
        <SchemaFields
          schema={schema}
          value={config}
          path="config"
          faults={faults}
          onChange={setConfig}
        />
      </fieldset>
      <div class="card field">
        <label for="bot-labels">Labels</label>
        <textarea
          id="bot-labels"
          rows={3}
          placeholder="team=a, one a line"
          value={labels?.text ?? labelsText(bot.labels)}
          onInput={({ currentTarget: { value: text } }) =>
            setLabels({ text, base: labels?.base ?? bot.labels })
          }
        />
        {isMovedOn ? (
          <p class="hint">
            Meanwhile somebody has made them{' '}
            <span class="mono">{labelsText(bot.labels).replaceAll('\n', ', ') || 'none'}</span>.
            What you have not touched stays so.
          </p>
        ) : null}
      </div>
      {faults.has('') ? (
        <p class="fault" role="alert">
          {faults.get('')}
        </p>
      ) : null}
      <div class="form-end">
        <button
          type="submit"
          class="primary"
          disabled={isBusy || (!isChanged && !areLabelsChanged)}
        >
          Save
        </button>
        <button
          type="button"
          disabled={!isChanged && !areLabelsChanged}
          onClick={() => {
            setConfig(kept.config);
            setLabels(undefined);
            setFaults(new Map());
          }}
        >
          Undo
        </button>
        <span class="muted">{isChanged ? 'A bot that runs is restarted.' : ''}</span>
      </div>
      <details class="card">
        <summary>Restart policy{kept.dedicated ? ', host thread of its own' : ''}</summary>
        <dl class="data">
          {Object.entries(kept.restart).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{String(value)}</dd>
            </div>
          ))}
        </dl>
      </details>
    </form>
  );
}

function withoutSecretNeeds(schema: Schema): Schema {
  const properties = schema.properties ?? {};
  return {
    ...schema,
    required: (schema.required ?? []).filter((name) => !properties[name]?.writeOnly),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [
        name,
        field.properties ? withoutSecretNeeds(field) : field,
      ]),
    ),
  };
}
