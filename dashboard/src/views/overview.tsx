// Owns the overview: how many bots are how, what flows, how near the service is to its bounds, what broke.

import { useMemo, useState } from 'preact/hooks';
import {
  ApiError,
  type PressureReport,
  type Stats,
  type StatsBucket,
} from '../../../src/client/index.js';
import type { Second } from '../hub/messages.js';
import { failedKinds } from '../model/kinds.js';
import {
  bots,
  botsVersion,
  clockAheadMs,
  connection,
  isLoaded,
  seconds,
  secondsVersion,
} from '../model/live.js';
import { useResource } from '../model/resource.js';
import { hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { clockTime, day, second, serverNow } from '../model/time.js';
import { type ChartSeries, StackedChart, short } from '../parts/chart.js';
import { Status, type Tone, toneOf } from '../parts/status.js';
import { ViewHead } from '../parts/view-head.js';
import { IncidentList } from './incident.js';

const REDRAW_MS = 500;
const PRESSURE_MS = 5000;
const STATS_MS = 10_000;
const INCIDENTS_SHOWN = 10;
/** The rate is that of the last whole seconds. */
const RATE_SECONDS = 5;
const TONE_ORDER: Tone[] = ['bad', 'wait', 'busy', 'good', 'off'];

export function OverviewView() {
  return (
    <>
      <ViewHead title="Overview" />
      <div class="page overview">
        <Counts />
        <FailedKinds />
        <Flow />
        <div class="columns">
          <Pressure />
          <Incidents />
        </div>
      </div>
    </>
  );
}

function Counts() {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const { status } of bots.values()) found.set(status, (found.get(status) ?? 0) + 1);
    const rank = (status: string): number => TONE_ORDER.indexOf(toneOf(status));
    return [...found].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
  }, [version]);
  return (
    <section class="tiles" aria-label="Bots by status">
      <a class="tile" href="#/bots">
        <span class="tile-name">All bots</span>
        <span class="tile-number" data-count="all">
          {isLoaded.value ? bots.size.toLocaleString('en') : '–'}
        </span>
      </a>
      {counts.map(([status, count]) => (
        <a key={status} class={`tile tone-${toneOf(status)}`} href={hrefTo('bots', '', { status })}>
          <span class="tile-name">
            <Status status={status} />
          </span>
          <span class="tile-number" data-count={status}>
            {count.toLocaleString('en')}
          </span>
        </a>
      ))}
    </section>
  );
}

function FailedKinds() {
  if (failedKinds.value.length === 0) return null;
  return (
    <section class="card notice">
      <h2>Kinds that do not load</h2>
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

const RANGES = [
  { name: '5 min', seconds: 300, isLive: true },
  { name: '15 min', seconds: 900, isLive: true },
  { name: '1 h', seconds: 3600, isLive: false },
  { name: '24 h', seconds: 86_400, isLive: false },
] as const;
type Range = (typeof RANGES)[number];
const LEVELS = [
  { name: 'error', colour: 'level-error' },
  { name: 'warn', colour: 'level-warn' },
  { name: 'state', colour: 'level-state' },
  { name: 'info', colour: 'level-info' },
  { name: 'other', colour: 'level-other' },
] as const;
const COLUMNS = { info: 2, warn: 3, error: 4, state: 5, other: 6 } as const;

function Flow() {
  const [range, setRange] = useState<Range>(RANGES[0]);
  const [point, setPoint] = useState<number>();
  void second.value;
  useThrottled(secondsVersion, 1000);
  const past = useResource(
    (signal) => api().stats({ after: Math.floor(serverNow() - range.seconds * 1000), signal }),
    [range, connection.value.state === 'open'],
    range.isLive ? undefined : STATS_MS,
  );
  const shown =
    range.isLive || !past.value ? liveSeries(range.seconds, past.value) : pastSeries(past.value);
  const at = point !== undefined && point < shown.times.length ? point : undefined;
  const rate = rateOf(seconds);
  const when = at === undefined ? undefined : (shown.times[at] as number) * 1000;
  return (
    <section class="card flow" aria-label="Events">
      <header class="card-head">
        <div class="rate">
          <span class="rate-number" data-rate>
            {short(rate)}
          </span>
          <span class="muted">events/s</span>
        </div>
        <ul class="legend">
          {shown.series.map(({ name, colour, values }) => (
            <li key={name}>
              <span class={`swatch swatch-${colour}`} aria-hidden="true" />
              {name}
              {at === undefined ? null : <strong> {short(values[at] ?? 0)}</strong>}
            </li>
          ))}
          {when === undefined ? null : (
            <li class="muted">
              {range.seconds > 86_000 ? `${day(when)} ` : ''}
              {clockTime(when).slice(0, 8)}
            </li>
          )}
        </ul>
        <fieldset class="segments" aria-label="Range">
          {RANGES.map((one) => (
            <label key={one.name}>
              <input
                type="radio"
                name="range"
                checked={one === range}
                onChange={() => setRange(one)}
              />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
      </header>
      {!range.isLive && past.error && !past.value ? (
        <p class="muted">{noStats(past.error)}</p>
      ) : (
        <StackedChart
          times={shown.times}
          series={shown.series}
          height={200}
          label={`Events per second by level, last ${range.name}; now ${short(rate)} per second`}
          onPoint={setPoint}
        />
      )}
    </section>
  );
}

function noStats(error: Error): string {
  const { status } = error as ApiError;
  if (error instanceof ApiError && status === 404)
    return 'This service keeps no journal to count in.';
  return `Nothing to show: ${error.message}`;
}

interface Shown {
  times: number[];
  series: ChartSeries[];
}

/** Seconds without an event are zero; before the stream began, what the journal has counted. The present one is not over. */
function liveSeries(length: number, past: Stats | undefined): Shown {
  const end = Math.floor(Date.now() / 1000);
  const times = Array.from({ length }, (_, at) => end - length + at);
  const bySecond = new Map(seconds.map((one) => [one[0], one]));
  const begun = seconds[0]?.[0] ?? end;
  // The hub counts by this machine's clock.
  const ahead = clockAheadMs.peek() / 1000;
  const step = past?.step_s ?? 10;
  const byBucket = new Map(past?.buckets.map((bucket) => [bucket.at_ms / 1000, bucket]));
  const series = LEVELS.map(({ name, colour }) => ({
    name,
    colour,
    values: times.map((time) => {
      if (time >= begun) return bySecond.get(time)?.[COLUMNS[name]] ?? 0;
      const bucket = byBucket.get(Math.floor((time - ahead) / step) * step);
      return countIn(bucket, name) / step;
    }),
  }));
  return { times, series };
}

function countIn(bucket: StatsBucket | undefined, name: (typeof LEVELS)[number]['name']): number {
  return (name === 'other' ? bucket?.other : bucket?.levels[name]) ?? 0;
}

function pastSeries({ step_s, buckets }: Stats): Shown {
  const times: number[] = [];
  const rows: (StatsBucket | undefined)[] = [];
  for (const bucket of buckets) {
    const at = bucket.at_ms / 1000;
    // Empty ones are left out of the answer.
    for (let last = times.at(-1); last !== undefined && last + step_s < at; last += step_s) {
      times.push(last + step_s);
      rows.push(undefined);
    }
    times.push(at);
    rows.push(bucket);
  }
  const series = LEVELS.map(({ name, colour }) => ({
    name,
    colour,
    values: rows.map((row) => countIn(row, name) / step_s),
  }));
  return { times, series };
}

function rateOf(all: readonly Second[]): number {
  const now = Math.floor(Date.now() / 1000);
  let events = 0;
  for (const one of all.slice(-RATE_SECONDS - 2)) {
    if (one[0] < now && one[0] >= now - RATE_SECONDS) events += one[1];
  }
  return events / RATE_SECONDS;
}

function Pressure() {
  const { value, error } = useResource(
    (signal) => api().pressure({ signal }),
    [connection.value.state],
    PRESSURE_MS,
  );
  return (
    <section class="card">
      <h2>Pressure</h2>
      {value ? (
        <Meters report={value} />
      ) : (
        <p class="muted">{error ? error.message : 'Loading …'}</p>
      )}
    </section>
  );
}

function Meters({ report }: { report: PressureReport }) {
  const { cpu, memory, queue, streams, bots: of, short: lacking } = report;
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  const megabytes = (bytes: number): string =>
    `${Math.round(bytes / 1024 / 1024).toLocaleString('en')} MB`;
  const meters = [
    { name: 'CPU', key: 'cpu', used: cpu.used, limit: cpu.limit, text: percent(cpu.used) },
    {
      name: 'Memory',
      key: 'memory',
      used: memory.used_bytes,
      limit: memory.limit_bytes,
      text: `${megabytes(memory.used_bytes)} of ${megabytes(memory.limit_bytes)}`,
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
  const journal = (
    report as PressureReport & { journal?: { state: string; reason: string | null } }
  ).journal;
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
                {isShort ? <strong> short</strong> : null}
              </span>
            </li>
          );
        })}
      </ul>
      {journal && journal.state !== 'on' ? (
        <p class="muted">
          The journal is {journal.state}
          {journal.reason ? `: ${journal.reason}` : ''}.
        </p>
      ) : null}
    </>
  );
}

function Incidents() {
  // Whatever breaks a bot shows in what it is and in how often it was restarted.
  const version = useThrottled(botsVersion, REDRAW_MS);
  const broken = useMemo(() => {
    let sum = 0;
    for (const { restarts, status } of bots.values()) {
      sum += restarts + (status === 'failed' ? 1 : 0) + (status === 'backoff' ? 1 : 0);
    }
    return sum;
  }, [version]);
  const { value, error } = useResource(
    (signal) => api().incidents({ limit: INCIDENTS_SHOWN, signal }),
    [broken, connection.value.state === 'open'],
  );
  return (
    <section class="card">
      <h2>Recent incidents</h2>
      {value ? (
        value.length === 0 ? (
          <p class="muted">Nothing has broken.</p>
        ) : (
          <IncidentList incidents={value} withBot />
        )
      ) : (
        <p class="muted">{error ? error.message : 'Loading …'}</p>
      )}
    </section>
  );
}
