import type { IncidentGroup } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { TYPES } from '../incidents/incident-types.js';
import { Sparkline } from '../incidents/sparkline.js';
import { Timeline } from '../incidents/timeline.js';
import { useGroups, useHappenings } from '../incidents/use-incidents.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { LineText } from '../parts/text.js';
import { ViewHead } from '../parts/view-head.js';
import { RangePicker } from '../range/range-picker.js';
import { rangeText } from '../range/range-text.js';
import { IncidentGroupView } from './incident-group.js';

const ORDERS = {
  last: { title: 'Latest', of: ({ last_at_ms }: IncidentGroup) => last_at_ms },
  first: { title: 'Newest cause', of: ({ first_at_ms }: IncidentGroup) => first_at_ms },
  count: { title: 'Most often', of: inRange },
  bots: { title: 'Most bots', of: ({ bot_count }: IncidentGroup) => bot_count },
} as const;
type Order = keyof typeof ORDERS;

/** Incidents by cause. @param cause shows only this one. */
export function IncidentsView({ cause }: { cause: string }) {
  return cause === '' ? <GroupList /> : <IncidentGroupView key={cause} cause={cause} />;
}

function GroupList() {
  const { value, error } = useGroups();
  const { value: beside } = useHappenings(value);
  const asked = route.value.query.get('sort') ?? '';
  const order: Order = Object.hasOwn(ORDERS, asked) ? (asked as Order) : 'last';
  const { of } = ORDERS[order];
  const groups = (value?.groups ?? []).toSorted((a, b) => of(b) - of(a));
  const times = groups.reduce((sum, group) => sum + inRange(group), 0);
  const range = timeRange.value;
  const when = range.from === undefined && range.toMs === undefined ? 'Last day' : rangeText(range);
  return (
    <>
      <ViewHead
        title="Incidents"
        note={
          value
            ? `${when}: ${counted(groups.length, 'cause')}, ${counted(times, 'time')}`
            : undefined
        }
      >
        <label class="sort-by">
          <span>Sort by</span>
          <select
            value={order}
            onChange={({ currentTarget }) =>
              changeQuery({ sort: currentTarget.value === 'last' ? '' : currentTarget.value })
            }
          >
            {Object.entries(ORDERS).map(([name, { title }]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <RangePicker />
      </ViewHead>
      <div class="page">
        {error ? (
          <p role="alert" class="muted">
            {error.message}
          </p>
        ) : null}
        {value && value.missing.length > 0 ? (
          <p role="alert">
            No answer from {value.missing.join(', ')}: its incidents are not counted.
          </p>
        ) : null}
        {value ? (
          <>
            <Timeline beside={beside} counts={sumOf(groups)} loaded={value} />
            <section class="card" aria-labelledby="causes-title">
              <h2 id="causes-title">By cause</h2>
              {groups.length === 0 ? (
                <p class="muted">No incidents in this time.</p>
              ) : (
                <ul class="causes">
                  {groups.map((group) => (
                    <li key={group.cause}>
                      <GroupRow group={group} />
                    </li>
                  ))}
                </ul>
              )}
              {value.forgotten > 0 ? (
                <p class="muted">
                  {counted(value.forgotten, 'older cause')} dropped: there were more than the
                  service keeps.
                </p>
              ) : null}
            </section>
          </>
        ) : error ? null : (
          <p class="muted">Loading…</p>
        )}
      </div>
    </>
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
        <span class="tag tone-bad">{TYPES[type] ?? type}</span>
        <span class="cause-title">
          <LineText text={title} />
        </span>
        {where === null ? null : <code class="cause-where">{visible(where)}</code>}
        {nodes && nodes.length > 0 ? <span class="muted">{nodes.join(', ')}</span> : null}
      </span>
      <Sparkline counts={counts} name={`${counted(times, 'time')} in this range`} />
      <span class="cause-count">
        <strong>{times.toLocaleString('en')}</strong> {times === 1 ? 'time' : 'times'}
      </span>
      <span class="cause-count">
        {bot_count === 1 && only !== undefined ? (
          only
        ) : (
          <>
            <strong>{bot_count.toLocaleString('en')}</strong> bots
          </>
        )}
        {fallen > bot_count ? (
          <span class="muted">, {fallen.toLocaleString('en')} fell</span>
        ) : null}
      </span>
      <span class="cause-times">
        <time title={fullTime(last_at_ms)}>{age(last_at_ms)} ago</time>
        <span class="muted">
          first <time title={fullTime(first_at_ms)}>{age(first_at_ms)} ago</time>
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

function counted(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}
