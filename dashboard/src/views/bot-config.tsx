// The configuration form of a bot. It sends only changed fields: secrets are not shown, and must stay as they are.

import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type {
  BotSnapshot,
  JsonObject,
  BotConfig as SavedConfig,
  UpdateBotBody,
} from '../../../src/client/index.js';
import type { BotParts } from '../../../src/shared/contract/config-changes.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { type ChangedField, changedFields } from '../config/changes.js';
import { ChangesList } from '../config/changes-list.js';
import { drafts, keepDraft } from '../config/drafts.js';
import { ConfigHistory } from '../config/history-card.js';
import { kinds, kindsAnswer } from '../model/kinds.js';
import { connection } from '../model/live.js';
import { may } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { useFirstFault } from '../parts/first-fault.js';
import { labelsText, parseLabels, rebasedLabels } from '../parts/labels.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { changesBetween, type Faults, faultsOf, filled, type Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { SetSecrets } from '../parts/secret-field.js';
import { say, sayError } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { rich, t } from '../texts/text.js';
import { faultFrom } from './faults.js';
import { RESTART_COMPLETE, RestartFields } from './restart-policy.js';

/** @param isShown false keeps the form mounted but hidden, so that typed input is not lost. */
export function BotConfig({ bot, isShown }: { bot: BotSnapshot; isShown: boolean }) {
  const answer = useResource((signal) => api().bots.config(bot.id, { signal }), [bot.id]);
  const { value, error, reload } = answer;
  useEffect(() => {
    if (isShown && (value || error)) reload();
  }, [isShown]);
  const kindsNow = kindsAnswer.value;
  // Without its kind, it would be a form without fields.
  if (!value || !kindsNow.value) return <Unanswered of={value ? kindsNow : answer} />;
  return (
    <>
      <Unanswered of={answer} />
      <ConfigForm bot={bot} saved={value} onSaved={reload} />
    </>
  );
}

function ConfigForm({
  bot,
  saved,
  onSaved,
}: {
  bot: BotSnapshot;
  saved: SavedConfig;
  onSaved: () => void;
}) {
  const schema = (kinds.value.find((one) => one.kind === bot.kind)?.config ?? {}) as Schema;
  /** The initial values of the fields; a difference from them is an edit. */
  const [draft] = useState(() => drafts.peek().get(bot.id));
  const [base, setBase] = useState<{ config: JsonObject; restart: JsonObject }>(
    draft?.base ?? saved,
  );
  const [config, setConfig] = useState<JsonObject>(draft?.config ?? saved.config);
  /** Undefined until they are edited; until then the bot's current labels are shown. */
  const [labels, setLabels] = useState(draft?.labels);
  const [restart, setRestart] = useState<JsonObject>(draft?.restart ?? saved.restart);
  const [faults, setFaults] = useState<Faults>(new Map());
  const form = useFirstFault(faults);
  const [isBusy, setBusy] = useState(false);
  const undo = (): void => {
    setBase(saved);
    setConfig(saved.config);
    setLabels(undefined);
    setRestart(saved.restart);
    setFaults(new Map());
  };

  const changed = changesBetween(filled(base.config), filled(config));
  const isChanged = Object.keys(changed).length > 0;
  const areLabelsChanged = labels !== undefined && labels.text.trim() !== labelsText(labels.base);
  const restartChanged = changesBetween(base.restart, filled(restart));
  const isRestartChanged = Object.keys(restartChanged).length > 0;
  const isTouched = isChanged || areLabelsChanged || isRestartChanged;
  const secrets = useMemo(() => saved.secrets && new Set(saved.secrets), [saved]);
  const changes = [
    ...changedFields('config', filled(base.config), filled(config), schema, secrets),
    ...(areLabelsChanged ? labelChanges(labels.base, labels.text) : []),
    ...changedFields('restart', base.restart, filled(restart)),
  ];
  // The page may show another bot, or another view, before they are saved: at once after the last key, too.
  useLayoutEffect(() => {
    const names = changes.map(({ path }) => path.replace(/^config\./, ''));
    keepDraft(bot.id, isTouched ? { base, config, labels, restart, names } : undefined);
  }, [base, config, labels, restart, isTouched]);
  const restore = ({ config: was, labels: hadLabels, restart: hadRestart }: BotParts): void => {
    setBase(saved);
    setConfig(was);
    setLabels({ text: labelsText(hadLabels as Record<string, string>), base: bot.labels });
    setRestart(hadRestart);
    form.current?.scrollIntoView({ block: 'start' });
    say(t('config.restored'));
  };
  // A layout effect: after the next paint the user may already be typing.
  useLayoutEffect(() => {
    if (!isTouched) undo();
  }, [saved]);
  const isOpen = connection.value.state === 'open';
  // An error of the form as a whole does not outlive an edit, or a lost connection.
  const forget = (): void =>
    setFaults((now) => (now.has('') ? new Map([...now].filter(([at]) => at !== '')) : now));
  useEffect(forget, [config, labels, restart]);
  useEffect(() => {
    if (isOpen) forget();
  }, [isOpen]);
  const isMovedOn = labels !== undefined && labelsText(labels.base) !== labelsText(bot.labels);
  const save = async (): Promise<void> => {
    // Secrets are not shown, so an empty one is not missing.
    const found = new Map([
      ...faultsOf(withOptionalSecrets(schema), config, 'config'),
      ...faultsOf(RESTART_COMPLETE, restart, 'restart'),
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
      // Edits made during the request are not saved yet.
      setBase({ config, restart });
      setLabels((now) => (now === labels ? undefined : now));
      const { labels: hadLabels } = bot;
      const undo = (): void => {
        api()
          .bots.update(bot.id, { labels: hadLabels })
          .then(() => say(t('config.undone', { bot: bot.id })))
          .catch((thrown: unknown) => sayError(thrown, t('action.undoFailed')));
      };
      say(
        isChanged ? t('config.savedRestarts', { bot: bot.id }) : t('config.saved', { bot: bot.id }),
        areLabelsChanged && !isChanged && !isRestartChanged
          ? { title: t('button.undo'), run: undo }
          : undefined,
      );
      onSaved();
    } catch (thrown) {
      setFaults(faultFrom(thrown, { config: schema, restart: RESTART_COMPLETE }));
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
      <fieldset class="config-columns" disabled={!may('control')}>
        <div>
          <fieldset class="card">
            <legend>{t('term.configuration')}</legend>
            <SetSecrets.Provider value={secrets}>
              <SchemaFields
                schema={schema}
                value={config}
                path="config"
                faults={faults}
                onChange={setConfig}
              />
            </SetSecrets.Provider>
          </fieldset>
        </div>
        <div>
          <div class="card field">
            <label for="bot-labels">{t('term.labels')}</label>
            <textarea
              id="bot-labels"
              rows={3}
              placeholder={t('labels.placeholder')}
              value={labels?.text ?? labelsText(bot.labels)}
              onInput={({ currentTarget: { value: text } }) =>
                setLabels({ text, base: labels?.base ?? bot.labels })
              }
            />
            {isMovedOn ? (
              <p class="hint">
                {rich('config.labelsMoved', {
                  labels: (
                    <span class="mono">
                      {visible(labelsText(bot.labels).replaceAll('\n', ', ')) || t('value.none')}
                    </span>
                  ),
                })}
              </p>
            ) : null}
          </div>
          <RestartFields value={restart} faults={faults} onChange={setRestart} />
          <p class="muted">{hostText(saved)}</p>
          {saved.fleet ? <p class="muted">{fleetText(saved.fleet)}</p> : null}
          <ConfigHistory bot={bot} saved={saved} onRestore={restore} />
        </div>
      </fieldset>
      {isTouched ? (
        <section class="card" aria-label={t('config.unsaved')}>
          <h2>{t('config.unsavedCount', { n: changes.length })}</h2>
          <ChangesList changes={changes} label={t('config.whatChanges')} />
        </section>
      ) : null}
      <div class="form-end">
        {may('control') ? (
          <>
            <button type="submit" class="primary" disabled={isBusy || !isTouched}>
              {t('button.save')}
            </button>
            <button type="button" disabled={!isTouched} onClick={undo}>
              {t('button.discard')}
            </button>
            {faults.has('') ? (
              <p class="fault" role="alert">
                {faults.get('')}
              </p>
            ) : (
              <span class="muted">
                {isChanged
                  ? t(bot.status === 'failed' ? 'config.staysFailed' : 'config.restarts')
                  : ''}
              </span>
            )}
          </>
        ) : (
          <NeedsScope scope="control" to={t('scope.changeBots')} />
        )}
      </div>
    </form>
  );
}

/** What the edited text changes; an invalid line is reported when the form is saved. */
function labelChanges(base: Record<string, string>, text: string): ChangedField[] {
  try {
    return changedFields('labels', base, parseLabels(text));
  } catch {
    return [{ path: 'labels', was: labelsText(base), is: text }];
  }
}

function withOptionalSecrets(schema: Schema): Schema {
  const properties = schema.properties ?? {};
  return {
    ...schema,
    required: (schema.required ?? []).filter((name) => !properties[name]?.writeOnly),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [
        name,
        field.properties ? withOptionalSecrets(field) : field,
      ]),
    ),
  };
}

function fleetText({ name: fleet, drift }: NonNullable<SavedConfig['fleet']>): string {
  if (drift.length === 0) return t('bot.managed', { fleet });
  return t('bot.managedDrift', { fleet, paths: drift.join(', ') });
}

/** Its kind of host, and the bots that share it. */
function hostText({ isolation, dedicated, host_group: group }: SavedConfig): string {
  const isProcess = isolation === 'process';
  if (dedicated) return t(isProcess ? 'placement.dedicatedProcess' : 'placement.dedicatedThread');
  if (group !== null)
    return t(isProcess ? 'placement.groupProcess' : 'placement.groupThread', { group });
  return t(isProcess ? 'placement.sharedProcess' : 'placement.sharedThread');
}
