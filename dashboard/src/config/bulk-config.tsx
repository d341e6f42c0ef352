// One change of chosen fields for the selected bots: on how many, its progress, the outcome of each.

import { useMemo, useState } from 'preact/hooks';
import type { InvokeOutcome, JsonObject } from '../../../src/client/index.js';
import { botsText } from '../model/actions.js';
import { BulkRun } from '../model/bulk-run.js';
import { kinds } from '../model/kinds.js';
import { bots, presentOf } from '../model/live.js';
import { api } from '../model/session.js';
import { isStopped } from '../model/stopped.js';
import { useFirstFault } from '../parts/first-fault.js';
import { type Faults, faultsOf, initialOf, type Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { t } from '../texts/text.js';
import { BulkDialog } from '../views/bulk-answers.js';
import { RESTART } from '../views/restart-policy.js';
import { type BulkChange, parseLabelChanges, partOf, updateOf } from './bulk-fields.js';

/** Bots in one batch: a change is a request for each. */
const BATCH = 1;

interface Props {
  ids: readonly string[];
  onClose: () => void;
}

export function BulkConfig({ ids, onClose }: Props) {
  const [run, setRun] = useState<BulkRun>();
  const title = run
    ? t('bulk.changeOf', { bots: botsText(run.answers.size) })
    : t('bulk.change', { bots: botsText(ids.length) });
  return (
    <BulkDialog
      title={title}
      run={run}
      again={t('bulk.anotherChange')}
      onAgain={() => setRun(undefined)}
      onClose={onClose}
      form={<Form ids={ids} onStart={setRun} onClose={onClose} />}
    />
  );
}

function Form({ ids, onStart, onClose }: Props & { onStart: (run: BulkRun) => void }) {
  // As they were when the dialog opened, so that the user changes exactly what is shown.
  const [present] = useState(() => presentOf(ids));
  const found = useMemo(() => [...new Set(present.map(({ kind }) => kind))], [present]);
  const [kind, setKind] = useState(found.length === 1 ? found[0] : undefined);
  const schema = (kinds.value.find((one) => one.kind === kind)?.config ?? {}) as Schema;
  const [fields, setFields] = useState<readonly string[]>([]);
  const [rules, setRules] = useState<readonly string[]>([]);
  const [config, setConfig] = useState<JsonObject>({});
  const [restart, setRestart] = useState<JsonObject>({});
  const [labels, setLabels] = useState('');
  const [faults, setFaults] = useState<Faults>(new Map());
  const form = useFirstFault(faults);
  const targets = fields.length > 0 ? present.filter((bot) => bot.kind === kind) : present;
  const due = fields.length > 0 ? targets.filter((bot) => !isStopped(bot)) : [];
  const failed = due.filter(({ status }) => status === 'failed');
  const [isStarting, setStarting] = useState(true);
  const isNothing = fields.length === 0 && rules.length === 0 && labels.trim() === '';

  const start = (): void => {
    const part = partOf(schema, fields);
    const wrong = new Map([
      ...faultsOf(part, config, 'config'),
      ...faultsOf(partOf(RESTART, rules), restart, 'restart'),
    ]);
    let changes: Pick<BulkChange, 'labels' | 'removedLabels'> = { labels: {}, removedLabels: [] };
    const parsed = parseLabelChanges(labels);
    if ('fault' in parsed) wrong.set('labels', parsed.fault);
    else changes = parsed;
    setFaults(wrong);
    if (wrong.size > 0 || isNothing || targets.length === 0) return;
    const change: BulkChange = {
      config: fields,
      restart: rules,
      values: { config, restart },
      ...changes,
    };
    const starts = new Set(isStarting ? failed.map(({ id }) => id) : []);
    const run = new BulkRun(
      targets.map(({ id }) => id),
      async ([id = ''], signal) => {
        // The bot may have been started or stopped meanwhile.
        const isFailed = starts.has(id) && bots.get(id)?.status === 'failed';
        const answer = await changeOne(id, change, signal);
        // A change alone leaves it failed.
        if (isFailed && 'result' in answer) await api().bots.restart(id, { signal });
        return { [id]: answer };
      },
      BATCH,
    );
    onStart(run);
    void run.run();
  };

  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <div class="dialog-body form">
        {found.length > 1 ? (
          <div class="field">
            <label for="bulk-kind">{t('term.kind')}</label>
            <select
              id="bulk-kind"
              value={kind ?? ''}
              onChange={({ currentTarget: { value } }) => {
                setKind(value === '' ? undefined : value);
                setFields([]);
                setConfig({});
              }}
            >
              <option value="">{t('bulk.allKinds')}</option>
              {found.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
            <p class="hint">{t('bulk.kindsDiffer')}</p>
          </div>
        ) : null}
        {kind === undefined ? null : (
          <Chosen
            title={t('term.configuration')}
            path="config"
            schema={schema}
            chosen={fields}
            value={config}
            faults={faults}
            onChosen={setFields}
            onChange={setConfig}
          />
        )}
        <div class="field">
          <label for="bulk-labels">{t('term.labels')}</label>
          <textarea
            id="bulk-labels"
            rows={2}
            placeholder={t('bulk.labelsPlaceholder')}
            value={labels}
            aria-invalid={faults.has('labels')}
            onInput={({ currentTarget }) => setLabels(currentTarget.value)}
          />
          {faults.has('labels') ? <p class="fault">{faults.get('labels')}</p> : null}
        </div>
        <Chosen
          title={t('bulk.restartPolicy')}
          path="restart"
          schema={RESTART}
          chosen={rules}
          value={restart}
          faults={faults}
          onChosen={setRules}
          onChange={setRestart}
        />
        {failed.length > 0 ? (
          <label class="check">
            <input
              type="checkbox"
              checked={isStarting}
              onChange={({ currentTarget }) => setStarting(currentTarget.checked)}
            />
            {t('bulk.startFailed', { n: failed.length })}
          </label>
        ) : null}
        <p role="status" data-dry={targets.length}>
          {isNothing
            ? t('bulk.chooseChange')
            : dryText(
                targets.length,
                present.length - targets.length,
                due.length - failed.length,
                kind,
              )}
        </p>
      </div>
      <footer>
        <button type="button" onClick={onClose}>
          {t('button.cancel')}
        </button>
        <button type="submit" class="primary" disabled={isNothing || targets.length === 0}>
          {t('bulk.change', { bots: botsText(targets.length) })}
        </button>
      </footer>
    </form>
  );
}

async function changeOne(
  id: string,
  change: BulkChange,
  signal: AbortSignal,
): Promise<InvokeOutcome> {
  const bot = bots.get(id);
  if (!bot) return { error: t('bulk.deleted') };
  const body = updateOf(change, bot);
  if (!body) return { result: t('bulk.same') };
  await api().bots.update(id, body, { signal });
  return { result: t('bulk.changed') };
}

function dryText(count: number, left: number, restarts: number, kind: string | undefined): string {
  const parts = [
    kind === undefined
      ? t('bulk.changes', { bots: botsText(count) })
      : t('bulk.changesOfKind', { bots: botsText(count), kind }),
    restarts > 0 ? t('bulk.willRestart', { n: restarts }) : '',
    left > 0 ? t('bulk.leftOut', { bots: botsText(left) }) : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}

interface ChosenProps {
  title: string;
  path: string;
  schema: Schema;
  chosen: readonly string[];
  value: JsonObject;
  faults: Faults;
  onChosen: (names: readonly string[]) => void;
  onChange: (value: JsonObject) => void;
}

/** Which fields are changed, and to what. */
function Chosen(props: ChosenProps) {
  const { title, path, schema, chosen, value, faults, onChosen, onChange } = props;
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return null;
  const toggle = (name: string, isOn: boolean): void => {
    const { [name]: _, ...rest } = value;
    if (!isOn) {
      onChosen(chosen.filter((one) => one !== name));
      onChange(rest);
      return;
    }
    onChosen([...chosen, name]);
    const preset = initialOf(schema)[name];
    if (preset !== undefined) onChange({ ...value, [name]: preset });
  };
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="bulk-choose">
        {fields.map(([name, { title: shown }]) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ currentTarget }) => toggle(name, currentTarget.checked)}
            />
            {t('bulk.changeField', { field: shown ?? name })}
          </label>
        ))}
      </div>
      {chosen.length === 0 ? null : (
        <SchemaFields
          schema={partOf(schema, chosen)}
          value={value}
          path={path}
          faults={faults}
          onChange={onChange}
        />
      )}
    </fieldset>
  );
}
