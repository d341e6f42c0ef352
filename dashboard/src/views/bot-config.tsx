// Owns the configuration of a bot: the form of its kind, labels and restart policy. Only what was changed is sent, so that
// what is secret, and not shown, stays as it is.

import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type {
  BotSnapshot,
  JsonObject,
  BotConfig as Kept,
  UpdateBotBody,
} from '../../../src/client/index.js';
import { kinds } from '../model/kinds.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { useFirstFault } from '../parts/first-fault.js';
import { labelsText, parseLabels, rebasedLabels } from '../parts/labels.js';
import { changesBetween, faultsOf, filled, type Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { say } from '../parts/toasts.js';
import { faultFrom } from './faults.js';
import { RESTART_WHOLE, RestartFields } from './restart-policy.js';

/** @param isShown or only there so that nothing of what was typed is lost. */
export function BotConfig({ bot, isShown }: { bot: BotSnapshot; isShown: boolean }) {
  const { value, error, reload } = useResource(
    (signal) => api().bots.config(bot.id, { signal }),
    [bot.id],
  );
  useEffect(() => {
    if (isShown && (value || error)) reload();
  }, [isShown]);
  if (!value) return <p class="empty muted">{error ? error.message : 'Loading …'}</p>;
  return <ConfigForm bot={bot} kept={value} onSaved={reload} />;
}

function ConfigForm({ bot, kept, onSaved }: { bot: BotSnapshot; kept: Kept; onSaved: () => void }) {
  const schema = (kinds.value.find((one) => one.kind === bot.kind)?.config ?? {}) as Schema;
  /** What the fields began with; what differs from it is what somebody has changed here. */
  const [base, setBase] = useState<{ config: JsonObject; restart: JsonObject }>(kept);
  const [config, setConfig] = useState<JsonObject>(kept.config);
  /** Undefined until they are touched: then they are those of the bot, whoever changes them. */
  const [labels, setLabels] = useState<{ text: string; base: Record<string, string> }>();
  const [restart, setRestart] = useState<JsonObject>(kept.restart);
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const form = useFirstFault(faults);
  const [isBusy, setBusy] = useState(false);
  const undo = (): void => {
    setBase(kept);
    setConfig(kept.config);
    setLabels(undefined);
    setRestart(kept.restart);
    setFaults(new Map());
  };

  const changed = changesBetween(filled(base.config), filled(config));
  const isChanged = Object.keys(changed).length > 0;
  const areLabelsChanged = labels !== undefined && labels.text.trim() !== labelsText(labels.base);
  const restartChanged = changesBetween(base.restart, filled(restart));
  const isRestartChanged = Object.keys(restartChanged).length > 0;
  const isTouched = isChanged || areLabelsChanged || isRestartChanged;
  // At once: after the next paint somebody may have begun to type.
  useLayoutEffect(() => {
    if (!isTouched) undo();
  }, [kept]);
  const isMovedOn = labels !== undefined && labelsText(labels.base) !== labelsText(bot.labels);
  const save = async (): Promise<void> => {
    // What is secret is not shown, and so cannot be missing.
    const found = new Map([
      ...faultsOf(withoutSecretNeeds(schema), config, 'config'),
      ...faultsOf(RESTART_WHOLE, restart, 'restart'),
    ]);
    setFaults(found);
    if (found.size > 0) return;
    setBusy(true);
    try {
      const body: UpdateBotBody = {
        ...(isChanged ? { config: changed } : {}),
        ...(areLabelsChanged
          ? { labels: rebasedLabels(labels.base, parseLabels(labels.text), bot.labels) }
          : {}),
        ...(isRestartChanged ? { restart: restartChanged } : {}),
      };
      await api().bots.update(bot.id, body);
      // What was typed meanwhile is not saved.
      setBase({ config, restart });
      setLabels((now) => (now === labels ? undefined : now));
      say(isChanged ? `${bot.id} changed; if it runs it is restarted` : `${bot.id} changed`);
      onSaved();
    } catch (thrown) {
      setFaults(faultFrom(thrown, { config: schema, restart: RESTART_WHOLE }));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      ref={form}
      class="page form config-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <div class="config-columns">
        <div>
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
        </div>
        <div>
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
          <RestartFields value={restart} faults={faults} onChange={setRestart} />
          {kept.dedicated ? <p class="muted">It has a host thread of its own.</p> : null}
        </div>
      </div>
      {faults.has('') ? (
        <p class="fault" role="alert">
          {faults.get('')}
        </p>
      ) : null}
      <div class="form-end">
        <button type="submit" class="primary" disabled={isBusy || !isTouched}>
          Save
        </button>
        <button type="button" disabled={!isTouched} onClick={undo}>
          Undo
        </button>
        <span class="muted">{isChanged ? 'A bot that runs is restarted.' : ''}</span>
      </div>
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
