// Runs in a front thread. Owns GET /metrics: gathers what all threads have counted. Its cost does not grow with the number
// of bots: nothing here looks at each of them.

import { KINDS, LEVELS } from '../../shared/contract/events.js';
import {
  BROADCASTER,
  FLUSH_BOUNDS,
  FRONT,
  httpCell,
  type MainMetrics,
  STATUSES,
} from '../../shared/contract/metric-layout.js';
import { DroverError } from '../../shared/errors.js';
import { type SharedCounters, sumOf } from '../../shared/memory/counters.js';
import { LAG_BOUNDS, LoopLag } from '../../shared/memory/loop-lag.js';
import type { PinBucket } from '../../shared/memory/pin-bucket.js';
import type { Quota } from '../../shared/memory/quota.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import type { CallerHandler } from '../front.js';
import { SAFE_HEADERS } from '../responses.js';
import { ROUTE_NAMES } from '../route-table.js';
import type { FrontParts } from '../routes.js';
import { processFigures } from './process-figures.js';
import type { Sample } from './sample.js';

/** What is counted outside of the routes. */
export interface Counted {
  counters: SharedCounters;
  lags: SharedArrayBuffer;
  bucket: PinBucket;
  connections: Quota<'perAddress'>;
  reader: RingReader;
}

export function metricsRoute(parts: FrontParts): CallerHandler {
  return async (exchange, { record }) => {
    if (record.reach !== null) {
      throw new DroverError(
        'forbidden',
        'this token is limited to some bots, and metrics are of all',
      );
    }
    const [main, { exposition, CONTENT_TYPE }] = await Promise.all([
      parts.control.call('figures', null),
      // Not before somebody asks: most fronts never need it.
      import('./exposition.js'),
    ]);
    await parts.whenCurrent(() => {});
    const body = await exposition(sample(parts, main));
    exchange.answer({
      status: 200,
      headers: ['Content-Type', CONTENT_TYPE, ...SAFE_HEADERS],
      body,
    });
  };
}

function sample({ config, counted, mirror, quota }: FrontParts, main: MainMetrics): Sample {
  const { counters, lags, bucket, connections, reader } = counted;
  const { fronts } = config.http;
  const ofFronts = (cell: number): number => sumOf(counters, fronts, cell);
  const ofBroadcaster = (cell: number): number =>
    sumOf(counters, fronts + 1, cell) - ofFronts(cell);
  return {
    main,
    process: processFigures(),
    bots: mirror.counts.list(),
    events: named(KINDS, (at) => ofBroadcaster(BROADCASTER.kinds + at)),
    lines: named(LEVELS, (at) => ofBroadcaster(BROADCASTER.levels + at)),
    ring: {
      ...reader.used(),
      capacity: reader.capacity,
      waits: ofBroadcaster(BROADCASTER.waits),
    },
    streams: {
      open: quota.total(),
      blocked: ofFronts(FRONT.blocked),
      frames: ofFronts(FRONT.frames),
      bytes: ofFronts(FRONT.bytes),
      writes: ofFronts(FRONT.writes),
      gaps: ofFronts(FRONT.gaps),
      evictions: ofFronts(FRONT.evictions),
      flush: {
        bounds: FLUSH_BOUNDS,
        counts: Array.from({ length: FLUSH_BOUNDS.length + 1 }, (_, n) =>
          ofFronts(FRONT.flush + n),
        ),
        sum: ofFronts(FRONT.flush + FLUSH_BOUNDS.length + 1),
      },
    },
    pin: { failures: ofFronts(FRONT.wrongPins), lockedForS: bucket.lockedForS() },
    connections: connections.total(),
    requests: requests(ofFronts),
    lags: main.loops.map((thread, block) => ({
      thread,
      bounds: LAG_BOUNDS,
      ...new LoopLag({ buffer: lags, block }).read(),
    })),
  };
}

function named(names: readonly string[], count: (at: number) => number) {
  return names.map((name, at) => ({ name, count: count(at) }));
}

/** Answers by route and status, those that there were. */
function requests(ofFronts: (cell: number) => number): Sample['requests'] {
  return ['other other', ...ROUTE_NAMES].flatMap((name, number) => {
    const [method = '', route = ''] = name.split(' ');
    return STATUSES.map((status) => ({
      method,
      route,
      status: status === 0 ? 'other' : String(status),
      count: ofFronts(httpCell(number, status)),
    })).filter(({ count }) => count > 0);
  });
}
