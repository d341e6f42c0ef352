import { useState } from 'preact/hooks';
import type { Json, JsonObject, NewBot } from '../../../src/client/index.js';
import { cluster } from '../model/cluster.js';
import { kinds, kindsAnswer } from '../model/kinds.js';
import { go, hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { Dialog } from '../parts/dialog.js';
import { useFirstFault } from '../parts/first-fault.js';
import { parseLabels } from '../parts/labels.js';
import {
  type Faults,
  faultsOf,
  filled,
  initialOf,
  REQUIRED,
  type Schema,
} from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { say } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { faultFrom } from './faults.js';
import { ANYWHERE, fieldsOf, type Placement, PlacementFields } from './placement.js';
import { RESTART, RestartFields } from './restart-policy.js';

type Isolation = NonNullable<NewBot['isolation']>;

/** Bots that are created at once. */
const MAX_COUNT = 100;

/** What the form begins with. */
export interface Like {
  kind: string;
  config: JsonObject;
  labels: string;
}

interface Props {
  like?: Like | undefined;
  onClose: () => void;
}

export function CreateBot({ like, onClose }: Props) {
  const [id, setId] = useState('');
  const [count, setCount] = useState(1);
  const [created, setCreated] = useState('');
  const [kindName, setKindName] = useState(like?.kind ?? '');
  const [config, setConfig] = useState<JsonObject | undefined>(like?.config);
  const [labels, setLabels] = useState(like?.labels ?? '');
  const [restart, setRestart] = useState<JsonObject>({});
  const [isStarted, setStarted] = useState(true);
  const [isDedicated, setDedicated] = useState(false);
  const [isolation, setIsolation] = useState<Isolation | ''>('');
  const [group, setGroup] = useState('');
  const [placement, setPlacement] = useState<Placement>(ANYWHERE);
  const [faults, setFaults] = useState<Faults>(new Map());
  const form = useFirstFault(faults);
  const [isBusy, setBusy] = useState(false);
  const kind = kinds.value.find((one) => one.kind === kindName) ?? kinds.value[0];
  const schema = (kind?.config ?? {}) as Schema;
  const value = config ?? initialOf(schema);

  const create = async (isLast: boolean): Promise<void> => {
    const found = new Map([
      ...faultsOf(schema, value, 'config'),
      ...faultsOf(RESTART, restart, 'restart'),
    ]);
    if (id === '') found.set('id', REQUIRED);
    else if (count > 1 && !id.includes(NUMBER))
      found.set('id', t('create.needsNumber', { mark: NUMBER }));
    if (!(count >= 1 && count <= MAX_COUNT))
      found.set('count', t('create.tooMany', { n: MAX_COUNT }));
    if (!kind) found.set('', t('create.noKinds'));
    if (found.size > 0 || !kind) return setFaults(found);
    setBusy(true);
    setFaults(new Map());
    let [n, done] = [1, 0];
    try {
      const desired = isStarted ? 'running' : 'stopped';
      for (; n <= count; n++) {
        await api().bots.create({
          id: numbered(id, n),
          kind: kind.kind,
          config: numbered(filled(value), n),
          labels: parseLabels(numbered(labels, n)),
          restart: filled(restart),
          dedicated: isDedicated,
          ...(isolation !== '' && { isolation }),
          ...(group !== '' && { host_group: group }),
          ...fieldsOf(placement),
          desired,
        });
        done = n;
      }
      const what = count === 1 ? numbered(id, 1) : t('count.bots', { n: count });
      say(t('create.done', { bot: what }));
      setBusy(false);
      if (!isLast) {
        setCreated(what);
        setId(count === 1 ? '' : id);
        return;
      }
      onClose();
      if (count === 1) go(hrefTo('bots', numbered(id, 1)));
    } catch (thrown) {
      const found = faultFrom(thrown, { config: schema, restart: RESTART });
      if (done > 0) found.set('', t('create.stopped', { done, all: count, bot: numbered(id, n) }));
      setFaults(found);
      setBusy(false);
    }
  };

  return (
    <Dialog title={t('bots.new')} onClose={onClose} isWide>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void create(true);
        }}
      >
        <div class="dialog-body form">
          <div class="field-pair">
            <div class="field">
              <label for="new-id">
                {t('create.id')} <span class="required">{t('schema.required')}</span>
              </label>
              <input
                id="new-id"
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                maxLength={64}
                value={id}
                aria-invalid={faults.has('id')}
                onInput={({ currentTarget }) => setId(currentTarget.value)}
              />
              {faults.has('id') ? <p class="fault">{faults.get('id')}</p> : null}
            </div>
            <div class="field">
              <label for="new-count">{t('create.count')}</label>
              <input
                id="new-count"
                type="number"
                min={1}
                max={MAX_COUNT}
                step={1}
                value={count}
                aria-invalid={faults.has('count')}
                onInput={({ currentTarget }) => setCount(Math.floor(Number(currentTarget.value)))}
              />
              <p class={faults.has('count') ? 'fault' : 'hint'}>
                {faults.get('count') ?? t('create.countHint', { mark: NUMBER })}
              </p>
            </div>
            <div class="field">
              <label for="new-kind">{t('term.kind')}</label>
              <select
                id="new-kind"
                value={kind?.kind}
                onChange={({ currentTarget }) => {
                  setKindName(currentTarget.value);
                  setConfig(undefined);
                  setFaults(new Map());
                }}
              >
                {kinds.value.map((one) => (
                  <option key={one.kind}>{one.kind}</option>
                ))}
              </select>
              {kind ? (
                <p class="hint">{kind.description}</p>
              ) : (
                <Unanswered of={kindsAnswer.value} />
              )}
            </div>
          </div>
          <fieldset key={kind?.kind}>
            <legend>{t('term.configuration')}</legend>
            <SchemaFields
              schema={schema}
              value={value}
              path="config"
              faults={faults}
              onChange={setConfig}
            />
          </fieldset>
          <div class="field">
            <label for="new-labels">{t('term.labels')}</label>
            <textarea
              id="new-labels"
              rows={2}
              placeholder={t('labels.placeholder')}
              value={labels}
              onInput={({ currentTarget }) => setLabels(currentTarget.value)}
            />
          </div>
          <RestartFields
            value={restart}
            faults={faults}
            onChange={setRestart}
            hint={t('create.restartHint')}
          />
          <div class="field-pair">
            <div class="field">
              <label for="new-isolation">{t('create.runsIn')}</label>
              <select
                id="new-isolation"
                value={isolation}
                onChange={({ currentTarget }) =>
                  setIsolation(currentTarget.value as Isolation | '')
                }
              >
                <option value="">{t('create.auto')}</option>
                <option value="thread">{t('create.thread')}</option>
                <option value="process">{t('create.process')}</option>
              </select>
              <p class="hint">{t('create.processHint')}</p>
            </div>
            <div class="field">
              <label for="new-group">{t('create.hostGroup')}</label>
              <input
                id="new-group"
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                maxLength={64}
                value={group}
                aria-invalid={faults.has('host_group')}
                onInput={({ currentTarget }) => setGroup(currentTarget.value)}
              />
              <p class={faults.has('host_group') ? 'fault' : 'hint'}>
                {faults.get('host_group') ?? t('create.hostGroupHint')}
              </p>
            </div>
          </div>
          {cluster.value === null ? null : (
            <PlacementFields value={placement} faults={faults} onChange={setPlacement} />
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={isStarted}
              onChange={({ currentTarget }) => setStarted(currentTarget.checked)}
            />
            {t('create.start')}
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={isDedicated}
              onChange={({ currentTarget }) => setDedicated(currentTarget.checked)}
            />
            {t('create.dedicated')}
          </label>
          {faults.has('') ? (
            <p class="fault" role="alert">
              {faults.get('')}
            </p>
          ) : null}
        </div>
        <footer>
          <span class="muted" role="status">
            {created === '' ? '' : t('create.done', { bot: created })}
          </span>
          <button type="button" onClick={onClose}>
            {created === '' ? t('button.cancel') : t('button.done')}
          </button>
          <button type="button" disabled={isBusy} onClick={() => void create(false)}>
            {t('create.another')}
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            {t('button.create')}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Stands for the number of a bot, in its id and in its values. */
const NUMBER = '{n}';

/** The same with each `{n}` replaced by the number. */
function numbered<T extends Json>(value: T, n: number): T {
  const text = JSON.stringify(value).replaceAll(NUMBER, String(n));
  return JSON.parse(text) as T;
}
