import type { IncidentGroup } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { typeText } from '../incidents/incident-types.js';
import { Sparkline } from '../incidents/sparkline.js';
import { Timeline } from '../incidents/timeline.js';
import { useBeside, useGroups } from '../incidents/use-incidents.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { useOneStop } from '../parts/one-stop.js';
import { LineText } from '../parts/text.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { RangePicker } from '../range/range-picker.js';
import { rangeText } from '../range/range-text.js';
import { numberText, t } from '../texts/text.js';
import { IncidentGroupView } from './incident-group.js';

const ORDERS = {
  last: { title: 'incidents.latest', of: ({ last_at_ms }: IncidentGroup) => last_at_ms },
  first: { title: 'incidents.newestCause', of: ({ first_at_ms }: IncidentGroup) => first_at_ms },
  count: { title: 'incidents.mostOften', of: inRange },
  bots: { title: 'incidents.mostBots', of: ({ bot_count }: IncidentGroup) => bot_count },
} as const;
type Order = keyof typeof ORDERS;

/** Incidents by cause. @param cause shows only this one. */
export function IncidentsView({ cause }: { cause: string }) {
  return cause === '' ? <GroupList /> : <IncidentGroupView key={cause} cause={cause} />;
}

function GroupList() {
  const answer = useGroups();
  const { value } = answer;
  const beside = useBeside(value);
  const asked = route.value.query.get('sort') ?? '';
  const order: Order = Object.hasOwn(ORDERS, asked) ? (asked as Order) : 'last';
  const { of } = ORDERS[order];
  const groups = (value?.groups ?? []).toSorted((a, b) => of(b) - of(a));
  const times = groups.reduce((sum, group) => sum + inRange(group), 0);
  const range = timeRange.value;
  const when =
    range.from === undefined && range.toMs === undefined
      ? t('incidents.lastDay')
      : rangeText(range);
  return (
    <>
      <ViewHead
        title={t('page.incidents')}
        note={
          value
            ? t('incidents.note', {
                range: when,
                causes: t('incidents.causes', { n: groups.length }),
                times: t('happening.times', { n: times }),
              })
            : undefined
        }
      >
        <label class="sort-by">
          <span>{t('incidents.sortBy')}</span>
          <select
            value={order}
            onChange={({ currentTarget }) =>
              changeQuery({ sort: currentTarget.value === 'last' ? '' : currentTarget.value })
            }
          >
            {Object.entries(ORDERS).map(([name, { title }]) => (
              <option key={name} value={name}>
                {t(title)}
              </option>
            ))}
          </select>
        </label>
        <RangePicker />
      </ViewHead>
      <div class="page">
        <Unanswered of={answer} />
        {value && value.missing.length > 0 ? (
          <p role="alert">{t('incidents.missing', { nodes: value.missing.join(', ') })}</p>
        ) : null}
        {value ? (
          <>
            <Timeline beside={beside} counts={sumOf(groups)} loaded={value} />
            <section class="card" aria-labelledby="causes-title">
              <h2 id="causes-title">{t('incidents.byCause')}</h2>
              {groups.length === 0 ? (
                <p class="muted">{t('incidents.none')}</p>
              ) : (
                <Groups groups={groups} />
              )}
              {value.forgotten > 0 ? (
                <p class="muted">{t('incidents.forgotten', { n: value.forgotten })}</p>
              ) : null}
            </section>
          </>
        ) : null}
      </div>
    </>
  );
}

function Groups({ groups }: { groups: readonly IncidentGroup[] }) {
  return (
    <ul class="causes" {...useOneStop<HTMLUListElement>('list')}>
      {groups.map((group) => (
        <li key={group.cause}>
          <GroupRow group={group} />
        </li>
      ))}
    </ul>
  );
}

function GroupRow({ group }: { group: IncidentGroup }) {
  void second.value;
  const { cause, type, title, where, counts, bots, bot_count, fallen } = group;
  const { first_at_ms, last_at_ms, nodes } = group;
  const times = inRange(group);
  const [only] = bots;
  return (
    <a class="cause" href={hrefTo('incidents', cause)} data-cause={cause}>
      <span class="cause-what">
        <span class="tag tone-bad">{typeText(type)}</span>
        <span class="cause-title">
          <LineText text={title} />
        </span>
        {where === null ? null : <code class="cause-where">{visible(where)}</code>}
        {nodes && nodes.length > 0 ? <span class="muted">{nodes.join(', ')}</span> : null}
      </span>
      <Sparkline counts={counts} name={t('incidents.inRange', { n: times })} />
      <span class="cause-count">
        <strong>{numberText(times)}</strong> {t('incidents.times', { n: times })}
      </span>
      <span class="cause-count">
        {bot_count === 1 && only !== undefined ? (
          only
        ) : (
          <>
            <strong>{numberText(bot_count)}</strong> {t('incidents.bots', { n: bot_count })}
          </>
        )}
        {fallen > bot_count ? (
          <span class="muted">{t('incidents.fell', { n: fallen })}</span>
        ) : null}
      </span>
      <span class="cause-times">
        <time title={fullTime(last_at_ms)}>{t('time.ago', { time: age(last_at_ms) })}</time>
        <span class="muted">
          {t('incidents.first')}{' '}
          <time title={fullTime(first_at_ms)}>{t('time.ago', { time: age(first_at_ms) })}</time>
        </span>
      </span>
    </a>
  );
}

function sumOf(groups: readonly IncidentGroup[]): number[] {
  const [first] = groups;
  if (!first) return [];
  return first.counts.map((_, at) =>
    groups.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0),
  );
}

/** How often in the range that is shown. */
function inRange({ counts }: IncidentGroup): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
