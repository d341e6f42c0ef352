import type { IncidentGroup } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { botsText } from '../model/actions.js';
import { ask } from '../model/asked.js';
import type { Answered } from '../model/asking.js';
import { recorded } from '../model/event-source.js';
import { bots, botsVersion, serviceErrors } from '../model/live.js';
import { may } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { hrefIn } from '../model/route.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { age, fullTime, second } from '../model/time.js';
import { hrefAt } from '../model/time-range.js';
import { Fact } from '../parts/fact.js';
import { Icon } from '../parts/icons.js';
import { useMore } from '../parts/more.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { useOneStop } from '../parts/one-stop.js';
import { Status } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { natural } from '../query/natural.js';
import { RangePicker } from '../range/range-picker.js';
import { numberText, rich, t } from '../texts/text.js';
import { IncidentList } from './incident.js';
import { typeText } from './incident-types.js';
import { Timeline } from './timeline.js';
import { type LoadedGroups, useBeside, useGroups } from './use-problems.js';

const REDRAW_MS = 500;
/** Reports that are listed, the newest; the group counts all. */
const MAX_REPORTS = 50;
const ICONS = { restart: 'restart', stop: 'stop', config: 'edit' } as const;
/** Bots that are listed at once. */
const BOTS_LISTED = 60;

/** One cause: its message, its bots, what else happened at the time, and actions. */
export function CauseView({ cause }: { cause: string }) {
  const answer = useGroups(cause);
  const { value } = answer;
  const group = value?.groups[0];
  if (value && group) return <Group answer={answer} loaded={value} group={group} />;
  return (
    <>
      {recorded.value ? null : (
        <ViewHead title={t('page.problems')}>
          <RangePicker />
        </ViewHead>
      )}
      <div class="page">
        <Unanswered of={answer} />
        {value ? (
          <p class="muted">
            {t('incidents.noneOfCause')} <Back />
          </p>
        ) : null}
      </div>
    </>
  );
}

function Back() {
  return <a href={hrefIn('problems')}>{t('incidents.all')}</a>;
}

interface GroupProps {
  answer: Answered<LoadedGroups>;
  loaded: LoadedGroups;
  group: IncidentGroup;
}

function Group({ answer, loaded, group }: GroupProps) {
  void second.value;
  useThrottled(botsVersion, REDRAW_MS);
  const beside = useBeside(loaded);
  const ofRun = recorded.value;
  const { cause, type, title, where, reason, count, bot_count, fallen, nodes } = group;
  const { first_at_ms, last_at_ms } = group;
  // The service gives them in the order in which they first fell. Others have been deleted.
  const present = group.bots.filter((id) => ofRun || bots.has(id)).sort(natural.compare);
  const running = present.filter((id) => bots.get(id)?.desired === 'running');
  const button = (action: keyof typeof ICONS, ids: readonly string[], text: string) => (
    <button
      type="button"
      // Not `disabled`: a disabled button loses the focus.
      aria-disabled={ids.length === 0}
      onClick={() => ids.length > 0 && ask({ action, ids })}
    >
      <Icon name={ICONS[action]} />
      {text}
    </button>
  );
  return (
    <>
      {ofRun ? (
        <p class="run-note">
          <Back />
        </p>
      ) : (
        <ViewHead title={t('timeline.incident')} note={<Back />}>
          {may('control') ? (
            <>
              {button(
                'restart',
                present,
                t('incidents.restartAll', { bots: botsText(present.length) }),
              )}
              {button('stop', running, t('incidents.stopAll', { bots: botsText(running.length) }))}
              {button(
                'config',
                present,
                t('incidents.changeAll', { bots: botsText(present.length) }),
              )}
            </>
          ) : (
            <NeedsScope scope="control" to={t('scope.restartOrStop')} />
          )}
          <RangePicker />
        </ViewHead>
      )}
      <div class="page incident-group">
        <Unanswered of={answer} />
        <section class="card" aria-labelledby="cause-title">
          <h2 id="cause-title" class="group-title">
            <span class="tag tone-bad">{typeText(type)}</span> <LineText text={title} isWhole />
          </h2>
          <dl class="facts">
            <Fact name={t('incidents.lastReason')}>
              <LineText text={reason} isWhole />
            </Fact>
            {where === null ? null : (
              <Fact name={t('incidents.where')}>
                <code>{visible(where)}</code>
              </Fact>
            )}
            <Fact name={t('incidents.howOften')}>
              {rich('incidents.timesInAll', {
                n: count,
                first: age(first_at_ms),
                firstAt: <a href={hrefAt('log', first_at_ms)}>{fullTime(first_at_ms)}</a>,
                last: age(last_at_ms),
                lastAt: <a href={hrefAt('log', last_at_ms)}>{fullTime(last_at_ms)}</a>,
              })}
            </Fact>
            <Fact name={t('term.bots')}>
              {numberText(bot_count)}
              {present.length < bot_count ? t('incidents.present', { n: present.length }) : ''}
              {fallen > bot_count ? t('incidents.fellInAll', { n: fallen }) : ''}
            </Fact>
            {nodes && nodes.length > 0 ? (
              <Fact name={t('page.nodes')}>{nodes.join(', ')}</Fact>
            ) : null}
          </dl>
          {loaded.missing.length > 0 ? (
            <p role="alert">{t('incidents.missing', { nodes: loaded.missing.join(', ') })}</p>
          ) : null}
        </section>
        <Timeline beside={beside} counts={group.counts} loaded={loaded} />
        <div class="columns">
          {ofRun ? null : <Reports cause={cause} count={count} />}
          <GroupBots ids={present} />
        </div>
      </div>
    </>
  );
}

function Reports({ cause, count }: { cause: string; count: number }) {
  const errors = useThrottled(serviceErrors, REDRAW_MS);
  const answer = useResource(
    (signal) => api().incidents({ cause, limit: MAX_REPORTS, signal }),
    [cause],
    { when: [errors] },
  );
  const { value } = answer;
  return (
    <section class="card" aria-labelledby="reports-title">
      <h2 id="reports-title">{t('incidents.reports')}</h2>
      <Unanswered of={answer} />
      {value ? (
        <>
          <IncidentList incidents={value} withBot />
          {value.length < count ? (
            <p class="muted">{t('incidents.newest', { n: value.length, all: count })}</p>
          ) : null}
        </>
      ) : null}
    </section>
  );
}

function GroupBots({ ids }: { ids: readonly string[] }) {
  const oneStop = useOneStop<HTMLUListElement>('list');
  const { shown, more } = useMore(ids, BOTS_LISTED);
  return (
    <section class="card" aria-labelledby="group-bots-title">
      <h2 id="group-bots-title">{t('term.bots')}</h2>
      {ids.length === 0 ? <p class="muted">{t('incidents.noneLeft')}</p> : null}
      <ul class="group-bots" {...oneStop}>
        {shown.map((id) => (
          <li key={id}>
            <a href={hrefIn('bots', id)}>{id}</a>{' '}
            {recorded.value ? null : <Status status={bots.get(id)?.status ?? ''} />}
          </li>
        ))}
      </ul>
      {more}
    </section>
  );
}
