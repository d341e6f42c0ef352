import { useMemo } from 'preact/hooks';
import type { PressureReport } from '../../../src/client/index.js';
import { Herd } from '../herd/herd.js';
import { failedKinds } from '../model/kinds.js';
import { bots, botsVersion, serviceErrors } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { presentBounds, shownMoment, timeRange } from '../model/time-range.js';
import { lazyView } from '../parts/lazy-view.js';
import { sizeText } from '../parts/size.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { IncidentList } from '../problems/incident.js';
import { LIVE } from '../range/range.js';
import { t } from '../texts/text.js';
import { Hosts } from './hosts.js';

// With the library of the chart, which is a third of the page.
const Flow = lazyView(
  async () => (await import('./flow.js')).Flow,
  <section class="card flow is-loading" />,
);

const KindsCard = lazyView(async () => (await import('./kinds-card.js')).KindsCard);
const Picker = lazyView(async () => (await import('../range/range-picker.js')).RangePicker);

const REDRAW_MS = 500;
const PRESSURE_MS = 5000;
const INCIDENTS_SHOWN = 10;
/** Read for a time range, in which the newest may not be. */
const INCIDENTS_READ = 1000;

export function OverviewView() {
  return (
    <>
      <ViewHead title={t('page.overview')}>
        <Picker withHandle />
      </ViewHead>
      <div class="page overview">
        <Herd />
        <FailedKinds />
        <Hosts />
        <Flow />
        <KindsCard />
        <div class="columns">
          <Pressure />
          <Incidents />
        </div>
      </div>
    </>
  );
}

function FailedKinds() {
  if (failedKinds.value.length === 0) return null;
  return (
    <section class="card notice">
      <h2>{t('overview.failedKinds')}</h2>
      <ul>
        {failedKinds.value.map(({ module, error }) => (
          <li key={module}>
            <code>{module}</code>: {error}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Pressure() {
  const answer = useResource((signal) => api().pressure({ signal }), [], {
    everyMs: PRESSURE_MS,
  });
  return (
    <section class="card">
      <h2>
        {shownMoment.value === undefined ? t('overview.resources') : t('overview.resourcesNow')}
      </h2>
      <Unanswered of={answer} />
      {answer.value ? <Meters report={answer.value} /> : null}
    </section>
  );
}

function Meters({ report }: { report: PressureReport }) {
  const { cpu, memory, queue, streams, bots: of, short: lacking, store, journal } = report;
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  const meters = [
    { name: t('term.cpu'), key: 'cpu', used: cpu.used, limit: cpu.limit, text: percent(cpu.used) },
    {
      name: t('term.memory'),
      key: 'memory',
      used: memory.used_bytes,
      limit: memory.limit_bytes,
      text: t('count.of', { n: sizeText(memory.used_bytes), all: sizeText(memory.limit_bytes) }),
    },
    {
      name: t('overview.queue'),
      key: 'queue',
      used: queue.used,
      limit: queue.limit,
      text: percent(queue.used),
    },
    {
      name: t('nodes.streams'),
      key: 'streams',
      used: streams.open,
      limit: streams.limit,
      text: t('count.of', { n: streams.open, all: streams.limit }),
    },
    {
      name: t('term.bots'),
      key: 'bots',
      used: of.present,
      limit: of.limit,
      text: t('count.of', { n: of.present, all: of.limit }),
    },
  ];
  return (
    <>
      <ul class="meters">
        {meters.map(({ name, key, used, limit, text }) => {
          const isShort = (lacking as readonly string[]).includes(key);
          const share = limit > 0 ? Math.min(1, used / limit) : 0;
          return (
            <li key={key} class={isShort ? 'is-short' : ''}>
              <span>{name}</span>
              <meter aria-label={name} min={0} max={1} high={0.8} value={share}>
                {text}
              </meter>
              <span class="meter-text">
                {text}
                {isShort ? <strong> {t('overview.low')}</strong> : null}
              </span>
            </li>
          );
        })}
      </ul>
      {store.state !== 'on' ? (
        <p role="alert">{t('overview.notStored', { reason: store.reason ?? '' })}</p>
      ) : null}
      {journal.state !== 'on' ? (
        <p class="muted">
          {t('overview.journal', {
            state: journal.state,
            reason: journal.reason ? `: ${journal.reason}` : '',
          })}
        </p>
      ) : null}
    </>
  );
}

function Incidents() {
  // A failure changes a bot's status or restart count; the incident report follows shortly after, announced by an error line.
  const errors = useThrottled(serviceErrors, REDRAW_MS);
  const version = useThrottled(botsVersion, REDRAW_MS);
  const broken = useMemo(() => {
    let sum = 0;
    for (const { restarts, status } of bots.values()) {
      sum += restarts + (status === 'failed' ? 1 : 0) + (status === 'backoff' ? 1 : 0);
    }
    return sum;
  }, [version]);
  const range = timeRange.value;
  const isRange = range !== LIVE;
  const answer = useResource(
    (signal) => api().incidents({ limit: isRange ? INCIDENTS_READ : INCIDENTS_SHOWN, signal }),
    [isRange],
    { when: [broken, errors] },
  );
  const { value: read } = answer;
  const value = useMemo(() => {
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = presentBounds();
    return read?.filter(({ at_ms }) => at_ms >= fromMs && at_ms < toMs).slice(0, INCIDENTS_SHOWN);
  }, [read, range]);
  return (
    <section class="card">
      <header class="card-head">
        <h2>{t('overview.incidents')}</h2>
        <a href={hrefTo('problems')}>{t('incidents.byCause')}</a>
      </header>
      <Unanswered of={answer} />
      {value?.length === 0 ? (
        <p class="muted">{t(isRange ? 'overview.noIncidentsInRange' : 'overview.noIncidents')}</p>
      ) : null}
      {value && value.length > 0 ? <IncidentList incidents={value} withBot /> : null}
    </section>
  );
}
