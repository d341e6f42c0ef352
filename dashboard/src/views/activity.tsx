// Who did what: the activities of the page's range, those of one request in one row.

import { ChangesList } from '../config/changes-list.js';
import { fieldsOf } from '../config/history.js';
import { type ActivityRow, groupText, useActivities } from '../model/activities.js';
import { hrefTo, replaceQuery, route } from '../model/route.js';
import { fullTime } from '../model/time.js';
import { hrefAt } from '../model/time-range.js';
import { useMore } from '../parts/more.js';
import { LineText } from '../parts/text.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { QueryBox } from '../query/query-box.js';
import { RangePicker } from '../range/range-picker.js';
import { secondText } from '../range/range-text.js';
import { t } from '../texts/text.js';

/** Events that are read at most: a request for many bots has one for each. */
const MAX_EVENTS = 5000;
/** Rows of the list at once. */
const ROWS = 100;
const SEARCH_WAIT_MS = 300;

export function ActivityView() {
  const query = route.value.query.get('q') ?? '';
  const answer = useActivities(query, MAX_EVENTS);
  const { value } = answer;
  const { shown, more } = useMore(value?.groups ?? [], ROWS);
  return (
    <>
      <ViewHead title={t('page.activity')}>
        <RangePicker />
      </ViewHead>
      <div class="toolbar">
        <QueryBox
          use="lines"
          value={query}
          waitMs={SEARCH_WAIT_MS}
          onChange={(q) => replaceQuery({ q })}
        />
      </div>
      <div class="page">
        <section class="card">
          <Unanswered of={answer} />
          {value === undefined ? null : value.groups.length === 0 ? (
            <p class="muted">{t('activity.none')}</p>
          ) : (
            <ol class="activities" aria-label={t('activity.list')}>
              {shown.map((group, at) => (
                <Row key={at} group={group} />
              ))}
            </ol>
          )}
          {more}
          {value?.isCut ? <p class="muted">{t('activity.more')}</p> : null}
        </section>
      </div>
    </>
  );
}

function Row({ group }: { group: ActivityRow }) {
  const { event, bots, failed } = group;
  const { timestamp_ms: at, address, client, outcome, detail } = event;
  const text = groupText(group);
  const from = [address, client].filter((one) => one !== null).join(', ');
  const [bot] = bots;
  return (
    <li data-outcome={outcome}>
      <a
        class="activity-time"
        href={hrefAt('log', at)}
        title={t('activity.openLog', { time: fullTime(at) })}
      >
        {secondText(at)}
      </a>
      <div class="activity-text">
        <span class={outcome === 'done' ? '' : 'fault'}>
          {bots.length === 1 && bot !== undefined ? <a href={hrefTo('bots', bot)}>{text}</a> : text}
        </span>
        {failed > 0 && failed < bots.length ? (
          <span class="fault"> {t('activity.failed', { n: failed })}</span>
        ) : null}
        {bots.length > 1 ? (
          <details>
            <summary>{t('activity.bots')}</summary>
            <p class="wrap">{bots.join(', ')}</p>
          </details>
        ) : null}
        {detail?.change ? (
          <details>
            <summary>{t('activity.changes')}</summary>
            <ChangesList changes={fieldsOf(detail.change)} label={t('activity.changes')} />
          </details>
        ) : null}
      </div>
      <span class="muted activity-from">
        <LineText text={from} />
      </span>
    </li>
  );
}
