import { KINDS, LEVELS } from '../../shared/contract/event-kinds.js';
import {
  BROADCASTER_CELLS,
  FLUSH_BOUNDS,
  FRONT_CELLS,
  type MainMetrics,
  responseCell,
  STATUSES,
} from '../../shared/contract/metric-layout.js';
import { DroverError } from '../../shared/errors.js';
import { type SharedCounters, sumOf } from '../../shared/memory/counters.js';
import { LAG_BOUNDS, LoopLag } from '../../shared/memory/loop-lag.js';
import type { PinBucket } from '../../shared/memory/pin-bucket.js';
import type { Quota } from '../../shared/memory/quota.js';
import { ROUTE_NAMES } from '../../shared/routes.js';
import { SAFE_HEADERS } from '../engine/responses.js';
import { processMetrics } from '../metrics/process-metrics.js';
import type { Sample } from '../metrics/sample.js';
import type { CallerHandler } from '../table/handlers.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

/** The shared memory in which the threads count. */
export interface MetricsSources {
  /** Blocks of the fronts first, then the broadcaster's. */
  counters: SharedCounters;
  fronts: number;
  /** The histograms of all loops. */
  lags: SharedArrayBuffer;
  bucket: PinBucket;
  connections: Quota<'perAddress'>;
  streams: Quota<'perToken' | 'perAddress'>;
}

export interface MetricsRouteParts {
  control: Control;
  views: Pick<Views, 'self' | 'cluster'>;
  metrics: MetricsSources;
}

/** `GET /metrics`: what all threads have counted. The cost depends on the number of bots only where main adds up what they use. */
export function metricsRoute({
  control,
  views,
  metrics,
}: MetricsRouteParts): CallerHandler<'GET /metrics'> {
  return async (exchange, { record }) => {
    if (record.reach !== null) {
      throw new DroverError(
        'forbidden',
        'this token is limited to some bots, and metrics are of all',
      );
    }
    const [main, { exposition, CONTENT_TYPE }] = await Promise.all([
      control.call('metrics', null),
      // Loaded on the first request: most fronts never need it.
      import('../metrics/exposition.js'),
    ]);
    await views.self.mirror.whenCurrent(() => {});
    const body = await exposition(sample(metrics, views, main));
    exchange.respond({
      status: 200,
      headers: ['Content-Type', CONTENT_TYPE, ...SAFE_HEADERS],
      body,
    });
  };
}

function sample(
  { counters, fronts, lags, bucket, connections, streams }: MetricsSources,
  { self: { mirror, reader }, cluster }: MetricsRouteParts['views'],
  main: MainMetrics,
): Sample {
  const ofFronts = (cell: number): number => sumOf(counters, fronts, cell);
  const ofBroadcaster = (cell: number): number =>
    sumOf(counters, fronts + 1, cell) - ofFronts(cell);
  return {
    main,
    process: processMetrics(),
    bots: mirror.counts.list(),
    events: named(KINDS, (at) => ofBroadcaster(BROADCASTER_CELLS.kinds + at)),
    lines: named(LEVELS, (at) => ofBroadcaster(BROADCASTER_CELLS.levels + at)),
    ring: {
      ...reader.used(),
      capacity: reader.capacity,
      waits: ofBroadcaster(BROADCASTER_CELLS.waits),
    },
    clusterRing: cluster ? { ...cluster.reader.used(), capacity: cluster.reader.capacity } : null,
    streams: {
      open: streams.total(),
      blocked: ofFronts(FRONT_CELLS.blocked),
      frames: ofFronts(FRONT_CELLS.frames),
      bytes: ofFronts(FRONT_CELLS.bytes),
      writes: ofFronts(FRONT_CELLS.writes),
      gaps: ofFronts(FRONT_CELLS.gaps),
      evictions: ofFronts(FRONT_CELLS.evictions),
      flush: {
        bounds: FLUSH_BOUNDS,
        counts: Array.from({ length: FLUSH_BOUNDS.length + 1 }, (_, n) =>
          ofFronts(FRONT_CELLS.flush + n),
        ),
        sum: ofFronts(FRONT_CELLS.flush + FLUSH_BOUNDS.length + 1),
      },
    },
    pin: { failures: ofFronts(FRONT_CELLS.wrongPins), lockedForS: bucket.lockedForS() },
    connections: connections.total(),
    requests: requests(ofFronts),
    lags: main.loops.flatMap((thread, block) =>
      thread === null
        ? []
        : [{ thread, bounds: LAG_BOUNDS, ...new LoopLag({ buffer: lags, block }).read() }],
    ),
  };
}

function named(names: readonly string[], count: (at: number) => number) {
  return names.map((name, at) => ({ name, count: count(at) }));
}

/** Responses by route and status, without zeros. */
function requests(ofFronts: (cell: number) => number): Sample['requests'] {
  return ['other other', ...ROUTE_NAMES].flatMap((name, number) => {
    const [method = '', route = ''] = name.split(' ');
    return STATUSES.map((status) => ({
      method,
      route,
      status: status === 0 ? 'other' : String(status),
      count: ofFronts(responseCell(number, status)),
    })).filter(({ count }) => count > 0);
  });
}
