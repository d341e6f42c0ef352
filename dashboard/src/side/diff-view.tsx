// The configurations of two bots, with what differs between them.

import { useId, useState } from 'preact/hooks';
import type { JsonObject } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { kinds } from '../model/kinds.js';
import { bots, botsVersion } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { natural } from '../query/natural.js';
import { t } from '../texts/text.js';
import { type DiffRow, diffOf } from './config-diff.js';
import { hrefOfBots } from './side-address.js';

const REDRAW_MS = 500;
/** Ids that are offered for each bot. */
const MAX_OFFERED = 500;

export function DiffView() {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const { query } = route.value;
  const [one, other] = [query.get('a') ?? '', query.get('b') ?? ''];
  const [isWhole, setWhole] = useState(false);
  const [first, second] = [bots.get(one), bots.get(other)];
  const answer = useResource(
    async (signal) => {
      if (one === '' || other === '') return undefined;
      const configOf = (id: string) => api().bots.config(id, { signal });
      return await Promise.all([configOf(one), configOf(other)]);
    },
    [one, other],
    { when: [first?.since_ms, second?.since_ms] },
  );
  const { value: configs } = answer;
  const rows = configs
    ? diffOf(
        partsOf(configs[0] as unknown as JsonObject, first),
        partsOf(configs[1] as unknown as JsonObject, second),
      )
    : [];
  const different = rows.filter(({ isSame }) => !isSame);
  const shown = isWhole ? rows : different;
  const hasSecrets = kinds.value.some(
    ({ kind, config }) =>
      [first?.kind, second?.kind].includes(kind) &&
      JSON.stringify(config).includes('"writeOnly":true'),
  );
  void version;
  return (
    <>
      <ViewHead title={t('page.diff')}>
        {first && second && one !== other ? (
          <a class="button" href={hrefOfBots([one, other])}>
            {t('side.logs')}
          </a>
        ) : null}
      </ViewHead>
      <div class="page diff-view">
        <div class="diff-bots">
          <BotChoice name={t('diff.first')} value={one} onChange={(id) => changeQuery({ a: id })} />
          <BotChoice
            name={t('diff.second')}
            value={other}
            onChange={(id) => changeQuery({ b: id })}
          />
        </div>
        {one === '' || other === '' ? (
          <p class="muted">{t('diff.chooseTwo')}</p>
        ) : !configs ? (
          <Unanswered of={answer} />
        ) : (
          <section class="card">
            <header class="card-head">
              <h2 data-differences={different.length}>
                {different.length === 0 ? t('diff.none') : t('diff.count', { n: different.length })}
              </h2>
              <label class="check">
                <input
                  type="checkbox"
                  checked={isWhole}
                  onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
                />
                {t('diff.showSame')}
              </label>
            </header>
            {hasSecrets ? <p class="muted">{t('diff.secrets')}</p> : null}
            {shown.length === 0 ? null : <DiffTable rows={shown} one={one} other={other} />}
          </section>
        )}
      </div>
    </>
  );
}

/** What belongs to a bot's configuration, with its kind and labels before the rest. */
function partsOf(
  config: JsonObject,
  bot: { kind: string; labels: Record<string, string> } | undefined,
): JsonObject {
  return { ...(bot ? { kind: bot.kind, labels: bot.labels } : {}), ...config };
}

interface ChoiceProps {
  name: string;
  value: string;
  onChange: (id: string) => void;
}

function BotChoice({ name, value, onChange }: ChoiceProps) {
  const list = useId();
  const ids = [...bots.keys()].sort(natural.compare).slice(0, MAX_OFFERED);
  return (
    <label class="field">
      {name}
      <input
        type="text"
        list={list}
        autocomplete="off"
        spellcheck={false}
        maxLength={64}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {ids.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </label>
  );
}

function DiffTable({ rows, one, other }: { rows: readonly DiffRow[]; one: string; other: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard
    <div class="table-box" tabIndex={0} role="region" aria-label={t('term.fields')}>
      <table class="diff-table">
        <thead>
          <tr>
            <th scope="col">{t('diff.field')}</th>
            <th scope="col">
              <a href={hrefTo('bots', one, { tab: 'config' })}>{one}</a>
            </th>
            <th scope="col">
              <a href={hrefTo('bots', other, { tab: 'config' })}>{other}</a>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ path, one: a, other: b, isSame }) => (
            <tr key={path} class={isSame ? '' : 'is-different'}>
              <th scope="row">
                <code>{visible(path)}</code>
                {isSame ? null : <span class="unseen"> {t('diff.differs')}</span>}
              </th>
              <td>
                {a === undefined ? (
                  <span class="muted">{t('value.notSet')}</span>
                ) : (
                  <code>{visible(a)}</code>
                )}
              </td>
              <td>
                {b === undefined ? (
                  <span class="muted">{t('value.notSet')}</span>
                ) : (
                  <code>{visible(b)}</code>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
