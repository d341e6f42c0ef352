// Entry of a front thread: wiring only. Owns the sockets; it is never terminated while they are open, because that
// aborts the whole process: it closes them and ends by itself.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { AccessLog } from '../src/front/access-log.js';
import { Authenticator } from '../src/front/auth.js';
import { BodyRoom } from '../src/front/body-room.js';
import { Connections } from '../src/front/connections.js';
import { DashboardFiles } from '../src/front/dashboard-files.js';
import type { PreparedTls, TlsFiles } from '../src/front/engine/engine.js';
import { loadEngine } from '../src/front/engine/load.js';
import { Fanout } from '../src/front/fanout.js';
import { JournalClient } from '../src/front/history/journal-client.js';
import { SnapshotFrames } from '../src/front/initial-state.js';
import { listenFault } from '../src/front/listen-fault.js';
import { PinExchange } from '../src/front/pin-exchange.js';
import { createFront, type FrontParts, fixedAnswers } from '../src/front/routes.js';
import { SnapshotMirror } from '../src/front/snapshot-mirror.js';
import { StreamRoute } from '../src/front/stream-route.js';
import { TokenStreams } from '../src/front/token-streams.js';
import { FRONT, httpCell } from '../src/shared/contract/metric-layout.js';
import { NameHasher } from '../src/shared/contract/name-hash.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  ControlMethods,
  FrontBellMethods,
  FrontMethods,
  FrontStart,
} from '../src/shared/contract/threads.js';
import { DroverError, messageOf } from '../src/shared/errors.js';
import { Counters } from '../src/shared/memory/counters.js';
import { LoopLag } from '../src/shared/memory/loop-lag.js';
import { PinBucket } from '../src/shared/memory/pin-bucket.js';
import { Quota } from '../src/shared/memory/quota.js';
import { RingReader } from '../src/shared/memory/ring-reader.js';
import { DASHBOARD_DIR } from '../src/shared/package-paths.js';

if (!parentPort) throw new Error('workers/front runs in a worker thread only');
const parent = parentPort;
const start = workerData as FrontStart;
const { config, front: number, stream } = start;

const DRILL_AFTER_MS = 50;
/** Calls to main that wait at once for what bots have no part in, above those of bots. */
const RESERVED_CALLS = 100;
/** How often main is told which tokens were used, in ms. */
const USES_MS = 5000;

const { kind: engineKind, line: engineLine } = await loadEngine(config.engine, config.http.fronts);

let port = 0;
let broadcaster: Rpc<FrontBellMethods, BroadcasterFrontMethods> | undefined;
let broadcasterPort: MessagePort | undefined;
let nextTls: PreparedTls | undefined;
const counters = new Counters(start.counts.counters, start.counts.block);
new LoopLag(start.counts.lag).watch();
const reader = new RingReader(stream.ring, number);
const names = new NameHasher(stream.hashKey);
const mirror = new SnapshotMirror(reader, names, () => void rebase());
const auth = new Authenticator(start.tokens);
const streams = new TokenStreams();
const journal = new JournalClient(config.journal);
const fanout = new Fanout({
  reader,
  epoch: stream.epoch,
  maxWriteBytes: engineKind.maxWriteBytes,
  snapshots: new SnapshotFrames(mirror, stream.epoch, engineKind.maxWriteBytes),
  past: journal,
  heartbeatMs: config.stream.heartbeat_ms,
  stallMs: config.stream.stall_ms,
  counters,
});

/** Takes all snapshots from the broadcaster: at the start, from a new one, and when the ring has lapped the mirror. */
let rebasing: Promise<void> | undefined;
function rebase(): Promise<void> {
  if (rebasing) return rebasing;
  const mine = takeBaseline().finally(() => {
    // The next broadcaster may have been asked meanwhile.
    if (rebasing === mine) rebasing = undefined;
  });
  rebasing = mine;
  return mine;
}

async function takeBaseline(): Promise<void> {
  try {
    const baseline = await broadcaster?.call('baseline', null);
    if (!baseline) return;
    mirror.reset(baseline.next, baseline.sessions);
    // Subscribers that were lost together with the mirror wait for this.
    fanout.wake();
  } catch {
    // It died over it; its successor's attachment begins anew.
  }
}

/** Calls `task` when the mirror holds all that is published: at once, unless the ring has lapped it. */
function whenCurrent(task: () => void): void | Promise<void> {
  if (mirror.sync()) return task();
  return rebase().then(() => whenCurrent(task));
}

function detachBroadcaster(): void {
  broadcaster?.close(new DroverError('unavailable', 'the broadcaster was lost'));
  broadcasterPort?.close();
  rebasing = undefined;
}

const methods: Serves<FrontMethods> = {
  async attachBroadcaster({ port: channel }) {
    detachBroadcaster();
    broadcasterPort = channel;
    broadcaster = new Rpc<FrontBellMethods, BroadcasterFrontMethods>(channel, {
      wake: () => fanout.wake(),
    });
    await rebase();
    fanout.wake();
  },
  attachJournal: ({ port: channel }) => journal.attach(channel),
  async listen(input) {
    const { host } = config.http;
    try {
      // Alone first: with a shared port the system would let a stranger's process that shares it too go unnoticed.
      if (input.probe) {
        port = await engine.listen(host, input.port, false);
        if (input.shared) engine.stopListening();
      }
      if (!input.probe || input.shared)
        port = await engine.listen(host, input.probe ? port : input.port, input.shared);
    } catch (thrown) {
      // As with orInternal().
      const reason = (await listenFault(host, input.port)) ?? messageOf(thrown);
      throw new DroverError('internal', reason);
    }
    return { port, engine: engineLine, wantsCensus: !engineKind.knowsAddresses };
  },
  prepareTls(files) {
    nextTls?.drop();
    nextTls = undefined;
    nextTls = orInternal(() => engine.prepareTls(files));
  },
  settleTls({ apply }) {
    const prepared = nextTls;
    nextTls = undefined;
    if (apply) orInternal(() => prepared?.apply());
    else prepared?.drop();
  },
  addToken: ({ token }) => auth.add(token),
  removeToken({ id }) {
    auth.remove(id);
    streams.end(id);
  },
  pressure({ shortage }) {
    streamRoute.shortage = shortage;
  },
  crowded(addresses) {
    connections.crowd = addresses;
  },
  async close({ head, withinMs }) {
    engine.stopListening();
    await fanout.finish(head, withinMs);
    end();
  },
  drill() {
    // Not at once: the answer to whoever asked for it may go through this front.
    setTimeout(() => {
      throw new Error('a drill');
    }, DRILL_AFTER_MS);
  },
};
/**
 * Calls to main are bounded as the requests of one route are: each is a body in memory here and work at hand there. One more
 * gets 503 with `Retry-After`. Nothing that the front answers by itself (`/health`, lists, streams) is counted.
 * Bots can keep a call waiting for as long as they like. What main answers by itself has a reserve, so that no caller of
 * bots stands in the way of a revocation, a login or a look at what is short.
 */
const main = new Rpc<FrontMethods, ControlMethods>(parent, methods, {
  open: config.http.max_requests_in_flight,
  reserve: {
    calls: RESERVED_CALLS,
    methods: new Set([
      'createPinToken',
      'createToken',
      'tokens',
      'revokeToken',
      'createTicket',
      'redeemTicket',
      'pressure',
      'figures',
    ]),
  },
});

/** Tells main which tokens were used since it was last told. */
function tellUses(): void {
  const uses = auth.takeUses();
  if (Object.keys(uses).length > 0) main.tell('tokensUsed', { uses });
}
const usesTimer = setInterval(tellUses, USES_MS);

const bucket = new PinBucket(start.bucket);
const connectionCounts = new Quota(start.connections, number);
const parts: FrontParts = {
  config,
  limits: {
    maxBytes: config.http.max_body_bytes,
    timeoutMs: config.http.body_timeout_ms,
    maxDepth: config.http.max_json_depth,
    room: new BodyRoom(config.http.max_bodies_bytes),
  },
  auth,
  pin: new PinExchange(start.pin, bucket, (refusal) => {
    counters.add(FRONT.wrongPins, 1);
    main.tell('pinRefused', refusal);
  }),
  log: new AccessLog(config.log.access, start.pin, (text) => main.tell('logAccess', { text })),
  dashboard: new DashboardFiles(DASHBOARD_DIR),
  mirror,
  whenCurrent,
  fanout,
  journal,
  streams,
  quota: new Quota(start.quota, number),
  names,
  epoch: stream.epoch,
  maxWriteBytes: engineKind.maxWriteBytes,
  control: main,
  counted: {
    counters: start.counts.counters,
    lags: start.lags,
    bucket,
    connections: connectionCounts,
    reader,
  },
  tellUses,
  port: () => port,
};
const streamRoute = new StreamRoute(parts, start.shortage);
const front = createFront(parts, streamRoute);
const connections = new Connections(connectionCounts, names);
const engine = engineKind.create((exchange) => front.handle(exchange), fixedAnswers(config), {
  tls: tlsFiles(),
  answered: (route, status) => counters.add(httpCell(route, status), 1),
  connections,
  maxUrlBytes: config.http.max_url_bytes,
  maxHeaderBytes: config.http.max_header_bytes,
  headerTimeoutMs: config.http.header_timeout_ms,
  bodyTimeoutMs: config.http.body_timeout_ms,
  idleTimeoutMs: config.http.idle_timeout_ms,
});

/** No client is told of such a fault: main gives it to the operator, and only a DroverError keeps its message on the way. */
function orInternal<T>(task: () => T): T {
  try {
    return task();
  } catch (thrown) {
    throw new DroverError('internal', messageOf(thrown));
  }
}

/** Main has made sure that both are there or neither. */
function tlsFiles(): TlsFiles | null {
  const { cert, key } = config.tls;
  return cert !== null && key !== null ? { cert, key } : null;
}

/** Closes every socket and everything that keeps the thread alive. */
function end(): void {
  nextTls?.drop();
  engine.close();
  fanout.stop();
  clearInterval(usesTimer);
  tellUses();
  parts.log.flush();
  detachBroadcaster();
  journal.detach();
  parent.close();
}

process.on('uncaughtException', (error) => {
  main.tell('failed', { message: messageOf(error) });
  end();
});
