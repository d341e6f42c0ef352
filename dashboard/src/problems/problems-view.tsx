import type { IncidentGroup, Rule } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { recorded } from '../model/event-source.js';
import { isUnlimited } from '../model/own-token.js';
import { changeQuery, hrefIn, hrefTo, route } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { isLive, timeRange } from '../model/time-range.js';
import { useOneStop } from '../parts/one-stop.js';
import { LineText } from '../parts/text.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { queryIn } from '../query/address-query.js';
import { checkedQuery } from '../query/checked-query.js';
import { QueryBox } from '../query/query-box.js';
import { RangePicker } from '../range/range-picker.js';
import { rangeText } from '../range/range-text.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { AlertHistory } from './alert-history.js';
import { CauseView } from './cause-view.js';
import { typeText } from './incident-types.js';
import { inRange, ORDERS, type Order, type Problem, problemTest } from './problem.js';
import { conditionText, STATES, valueText } from './rule-text.js';
import { RulesCard, useRules } from './rules-card.js';
import { Sparkline } from './sparkline.js';
import { Timeline } from './timeline.js';
import { useBeside, useGroups } from './use-problems.js';

const ORDER_TITLES: Readonly<Record<Order, PlainKey>> = {
  last: 'incidents.latest',
  first: 'incidents.newestCause',
  count: 'incidents.mostOften',
  bots: 'incidents.mostBots',
};

/** The problems, and the rules that watch for them. @param cause shows only this one. */
export function ProblemsView({ cause }: { cause: string }) {
  return cause === '' ? <Problems /> : <CauseView key={cause} cause={cause} />;
}

function Problems() {
  const answer = useGroups();
  const rules = useRules();
  const { value } = answer;
  const beside = useBeside(value);
  const { query } = route.value;
  const asked = query.get('sort') ?? '';
  const order: Order = Object.hasOwn(ORDERS, asked) ? (asked as Order) : 'last';
  const q = queryIn(query);
  const terms = checkedQuery(q, 'lines').terms.map(({ term }) => term);
  const test = problemTest(terms);
  // What fires now is not a problem of a range that is over.
  const firing = isLive.value ? (rules.value ?? []).filter(({ state }) => state === 'firing') : [];
  const all: Problem[] = [
    ...firing.map((rule) => ({ rule })),
    ...(value?.groups ?? []).map((group) => ({ group })),
  ];
  const judged = all.map((problem) => ({ problem, passes: test(problem) }));
  const shown = judged
    .flatMap(({ problem, passes }) => (passes === false ? [] : [problem]))
    .sort((a, b) => descending(ORDERS[order](a), ORDERS[order](b)));
  const groups = shown.flatMap(({ group }) => group ?? []);
  const unsure = judged.filter(({ passes }) => passes === undefined).length;
  const ofRun = recorded.value;
  const range = timeRange.value;
  const when =
    range.from === undefined && range.toMs === undefined
      ? t('incidents.lastDay')
      : rangeText(range);
  const tools = (
    <>
      <label class="sort-by">
        <span>{t('incidents.sortBy')}</span>
        <select
          value={order}
          onChange={({ currentTarget }) =>
            changeQuery({ sort: currentTarget.value === 'last' ? '' : currentTarget.value })
          }
        >
          {Object.entries(ORDER_TITLES).map(([name, title]) => (
            <option key={name} value={name}>
              {t(title)}
            </option>
          ))}
        </select>
      </label>
      <RangePicker />
    </>
  );
  return (
    <>
      {ofRun ? null : (
        <ViewHead
          title={t('page.problems')}
          note={
            value
              ? t('incidents.note', {
                  range: when,
                  causes: t('incidents.causes', { n: groups.length }),
                  times: t('happening.times', {
                    n: groups.reduce((sum, group) => sum + inRange(group), 0),
                  }),
                })
              : undefined
          }
        >
          {tools}
        </ViewHead>
      )}
      <div class="toolbar" role="search">
        <QueryBox use="lines" value={q} waitMs={0} onChange={(next) => changeQuery({ q: next })} />
        {ofRun ? <span class="toolbar-end">{tools}</span> : null}
      </div>
      <div class="page">
        <section class="card" aria-labelledby="causes-title">
          <h2 id="causes-title">{t('problems.list')}</h2>
          <Unanswered of={answer} />
          {value && value.missing.length > 0 ? (
            <p role="alert">{t('incidents.missing', { nodes: value.missing.join(', ') })}</p>
          ) : null}
          {isUnlimited() && isLive.value && rules.value === undefined && rules.error ? (
            <p role="alert">{t('problems.noAlerts', { reason: rules.error.message })}</p>
          ) : null}
          {shown.length > 0 ? (
            <List problems={shown} />
          ) : value ? (
            <p class="muted">{t(all.length > 0 ? 'problems.noneMatch' : 'incidents.none')}</p>
          ) : null}
          {unsure > 0 ? <p class="muted">{t('problems.unsure', { n: unsure })}</p> : null}
          {value && value.forgotten > 0 ? (
            <p class="muted">{t('incidents.forgotten', { n: value.forgotten })}</p>
          ) : null}
        </section>
        {value ? <Timeline beside={beside} counts={sumOf(groups)} loaded={value} /> : null}
        {ofRun ? null : <RulesCard rules={rules} />}
        {ofRun || !isUnlimited() ? null : <AlertHistory />}
      </div>
    </>
  );
}

/** Two ranges without an end are equal. */
function descending(a: number, b: number): number {
  return a === b ? 0 : b - a;
}

function List({ problems }: { problems: readonly Problem[] }) {
  return (
    <ul class="causes" {...useOneStop<HTMLUListElement>('list')}>
      {problems.map(({ group, rule }) => (
        <li key={group ? group.cause : `rule ${rule.id}`}>
          {group ? <GroupRow group={group} /> : <AlertRow rule={rule} />}
        </li>
      ))}
    </ul>
  );
}

/** A rule that fires. It leads to what its query selects. */
function AlertRow({ rule }: { rule: Rule }) {
  void second.value;
  const { name, severity, condition, query, bots, since_ms: since } = rule;
  const { title, tone } = STATES[rule.state];
  return (
    <a
      class="cause"
      href={hrefTo(condition === 'bots' ? 'bots' : 'log', '', { q: query })}
      data-alert={name}
    >
      <span class="cause-what">
        <span class={`tag tone-${tone}`}>{t(title)}</span>
        <span class="cause-title">{visible(name)}</span>
        <span class={`level level-${severity}`}>{severity}</span>
        <span class="muted">{conditionText(rule)}</span>
      </span>
      <span class="cause-value">{valueText(rule)}</span>
      <span class="cause-count" />
      <span class="cause-count">
        {bots.length === 0 ? null : <BotCount bots={bots} count={bots.length} />}
      </span>
      <span class="cause-times">
        {since === null ? null : <time title={fullTime(since)}>{age(since)}</time>}
      </span>
    </a>
  );
}

function BotCount({ bots: [only], count }: { bots: readonly string[]; count: number }) {
  if (count === 1 && only !== undefined) return <>{only}</>;
  return (
    <>
      <strong>{numberText(count)}</strong> {t('incidents.bots', { n: count })}
    </>
  );
}

function GroupRow({ group }: { group: IncidentGroup }) {
  void second.value;
  const { cause, type, title, where, counts, bots, bot_count, fallen } = group;
  const { first_at_ms, last_at_ms, nodes } = group;
  const times = inRange(group);
  return (
    <a class="cause" href={hrefIn('problems', cause)} data-cause={cause}>
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
        <BotCount bots={bots} count={bot_count} />
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
