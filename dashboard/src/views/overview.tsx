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
import { ViewHead } from '../parts/view-head.js';
import { LIVE } from '../range/range.js';
import { Hosts } from './hosts.js';
import { IncidentList } from './incident.js';

// With the library of the chart, which is a third of the page.
const Flow = lazyView(
  async () => (await import('./flow.js')).Flow,
  <section class="card flow is-loading" aria-label="Events" />,
);

const Picker = lazyView(async () => (await import('../range/range-picker.js')).RangePicker);

const REDRAW_MS = 500;
const PRESSURE_MS = 5000;
const INCIDENTS_SHOWN = 10;
/** Read for a time range, in which the newest may not be. */
const INCIDENTS_READ = 1000;

export function OverviewView() {
  return (
    <>
      <ViewHead title="Overview">
        <Picker />
      </ViewHead>
      <div class="page overview">
        <Herd />
        <FailedKinds />
        <Hosts />
        <Flow />
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
      <h2>Bot kinds that failed to load</h2>
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
  const { value, error } = useResource((signal) => api().pressure({ signal }), [], PRESSURE_MS);
  return (
    <section class="card">
      <h2>{shownMoment.value === undefined ? 'Resources' : 'Resources now'}</h2>
      {value ? (
        <Meters report={value} />
      ) : (
        <p class="muted">{error ? error.message : 'Loading…'}</p>
      )}
    </section>
  );
}

function Meters({ report }: { report: PressureReport }) {
  const { cpu, memory, queue, streams, bots: of, short: lacking, store, journal } = report;
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  const meters = [
    { name: 'CPU', key: 'cpu', used: cpu.used, limit: cpu.limit, text: percent(cpu.used) },
    {
      name: 'Memory',
      key: 'memory',
      used: memory.used_bytes,
      limit: memory.limit_bytes,
      text: `${sizeText(memory.used_bytes)} of ${sizeText(memory.limit_bytes)}`,
    },
    {
      name: 'Queue',
      key: 'queue',
      used: queue.used,
      limit: queue.limit,
      text: percent(queue.used),
    },
    {
      name: 'Streams',
      key: 'streams',
      used: streams.open,
      limit: streams.limit,
      text: `${streams.open.toLocaleString('en')} of ${streams.limit.toLocaleString('en')}`,
    },
    {
      name: 'Bots',
      key: 'bots',
      used: of.present,
      limit: of.limit,
      text: `${of.present.toLocaleString('en')} of ${of.limit.toLocaleString('en')}`,
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
                {isShort ? <strong> low</strong> : null}
              </span>
            </li>
          );
        })}
      </ul>
      {store.state !== 'on' ? (
        <p role="alert">Changes are refused, because they cannot be stored: {store.reason}.</p>
      ) : null}
      {journal.state !== 'on' ? (
        <p class="muted">
          The journal is {journal.state}
          {journal.reason ? `: ${journal.reason}` : ''}.
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
  const { value: read, error } = useResource(
    (signal) => api().incidents({ limit: isRange ? INCIDENTS_READ : INCIDENTS_SHOWN, signal }),
    [broken, errors, isRange],
  );
  const value = useMemo(() => {
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = presentBounds();
    return read?.filter(({ at_ms }) => at_ms >= fromMs && at_ms < toMs).slice(0, INCIDENTS_SHOWN);
  }, [read, range]);
  return (
    <section class="card">
      <header class="card-head">
        <h2>Recent incidents</h2>
        <a href={hrefTo('incidents')}>By cause</a>
      </header>
      {value ? (
        value.length === 0 ? (
          <p class="muted">No incidents{isRange ? ' in this time range' : ''}.</p>
        ) : (
          <IncidentList incidents={value} withBot />
        )
      ) : (
        <p class="muted">{error ? error.message : 'Loading…'}</p>
      )}
    </section>
  );
}
