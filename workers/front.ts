// Entry of a front thread: wiring only. The thread is never terminated while it has sockets, because that aborts the
// whole process: it closes them and ends by itself.

import { parentPort, workerData } from 'node:worker_threads';
import { Authenticator } from '../src/front/access/auth.js';
import { PinExchange } from '../src/front/access/pin-exchange.js';
import { PinPages } from '../src/front/access/pin-pages.js';
import { TokenStreams } from '../src/front/access/token-streams.js';
import { TokenUses } from '../src/front/access/token-uses.js';
import { BodyRoom } from '../src/front/engine/body-room.js';
import { loadEngine } from '../src/front/engine/load.js';
import { hstsHeaders } from '../src/front/engine/responses.js';
import { frontMethods } from '../src/front/front-rpc.js';
import { describeRequest, watchRequests } from '../src/front/http/running-request.js';
import { AccessLog } from '../src/front/requests/access-log.js';
import { Clients } from '../src/front/requests/clients.js';
import { Connections } from '../src/front/requests/connections.js';
import { Cors } from '../src/front/requests/cors.js';
import { Listener } from '../src/front/requests/listener.js';
import { controlBounds } from '../src/front/routes/control.js';
import { DashboardFiles } from '../src/front/routes/dashboard-files.js';
import { RunFiles } from '../src/front/routes/run-files.js';
import { createFront, fixedResponses } from '../src/front/routes.js';
import { StreamLeases } from '../src/front/stream/stream-lease.js';
import { View } from '../src/front/views/view.js';
import { Views } from '../src/front/views/views.js';
import { Dispatcher } from '../src/shared/commands/dispatcher.js';
import { HostCommands } from '../src/shared/commands/host-commands.js';
import { FRONT_CELLS, responseCell } from '../src/shared/contract/metric-layout.js';
import { Networks } from '../src/shared/contract/networks.js';
import { Rpc } from '../src/shared/contract/rpc.js';
import type { ControlMethods, FrontMethods, FrontStart } from '../src/shared/contract/threads.js';
import { messageOf } from '../src/shared/errors.js';
import { watchLag } from '../src/shared/lag-watch.js';
import { Counters } from '../src/shared/memory/counters.js';
import { PinBucket } from '../src/shared/memory/pin-bucket.js';
import { Quota } from '../src/shared/memory/quota.js';
import { DASHBOARD_DIR } from '../src/shared/package-paths.js';
import { offerLeave } from '../src/shared/stack-capture.js';

if (!parentPort) throw new Error('workers/front runs in a worker thread only');
const parent = parentPort;
const start = workerData as FrontStart;
const { front: number } = start;
const {
  engine: wantedEngine,
  http,
  log: logging,
  journal: journaling,
  tls,
  stream: streaming,
} = start.config;

const { kind, line } = await loadEngine(wantedEngine, http.fronts);
const writeSizes = kind.writeSizes(tls.cert !== null);
const maxWriteBytes = writeSizes[0] as number;

// Shared memory.
const counters = new Counters(start.counts.counters, start.counts.block);
const lag = watchLag(start.counts.lag, {
  slow: (turn) => control.tell('slow', turn),
  describe: (request) => describeRequest(request, start.pin),
});
watchRequests(() => lag.note());
parent.on('message', () => lag.note());
const bucket = new PinBucket(start.bucket);
const streamQuota = new Quota(start.quota, number);
const connectionQuota = new Quota(start.connections, number);

// Streams.
const common = {
  front: number,
  writes: {
    sizes: writeSizes,
    maxHeldBytes: streaming.max_held_bytes,
    shared: kind.sharesWrites,
  },
  heartbeatMs: streaming.heartbeat_ms,
  stallMs: streaming.stall_ms,
  counters,
  noteWake: () => lag.note(),
};
const self = new View({ ...common, stream: start.stream, journal: journaling });
const views = new Views(
  self,
  ({ stream }) => new View({ ...common, stream, journal: { enabled: true } }),
);
const streams = new TokenStreams();
const admission = { shortage: start.shortage };

// Requests.
const auth = new Authenticator(start.tokens);
const log = new AccessLog(logging.access, start.pin, (text) => control.tell('logAccess', { text }));
const uses = new TokenUses(auth, streams, (report) => control.tell('tokensUsed', { uses: report }));
const cors = new Cors(http.cors_origins);
// The configuration has both files or neither.
const tlsFiles = tls.cert !== null && tls.key !== null ? { cert: tls.cert, key: tls.key } : null;
const secureHeaders = tlsFiles ? hstsHeaders(tls.hsts_max_age_days) : [];
const trusted = new Networks(http.trusted_proxies);
const clients = new Clients(trusted, http.forwarded_header, tlsFiles ? 'https' : 'http');
const connections = new Connections(connectionQuota, self.names, trusted);
const fixed = fixedResponses({ cors, log, secureHeaders });
const engine = kind.create((exchange) => front.handle(exchange), fixed, {
  tls: tlsFiles,
  ciphers: tls.ciphers,
  responded(route, status) {
    lag.note();
    counters.add(responseCell(route, status), 1);
  },
  connections,
  maxUrlBytes: http.max_url_bytes,
  maxHeaderBytes: http.max_header_bytes,
  headerTimeoutMs: http.header_timeout_ms,
  bodyTimeoutMs: http.body_timeout_ms,
  idleTimeoutMs: http.idle_timeout_ms,
});
const listener = new Listener(engine, http.host);

const hosts = new HostCommands({
  connect: async (host) => (await control.call('connectHost', { host })).port,
  failed: (failure) => control.tell('commandFailed', failure),
  timeoutMs: start.config.invoke.timeout_ms,
  maxWaiting: http.max_requests_in_flight,
});
const methods = frontMethods({
  listener,
  engine: { engine: line, wantsCensus: !kind.knowsAddresses },
  views,
  hosts,
  auth,
  streams,
  admission,
  connections,
  end,
});
const control = new Rpc<FrontMethods, ControlMethods>(
  parent,
  methods,
  controlBounds(http.max_requests_in_flight),
);
const front = createFront({
  auth,
  clients,
  cors,
  secureHeaders,
  log,
  control,
  dispatcher: new Dispatcher({
    hosts,
    targets(input) {
      self.mirror.sync();
      return control.call('commandTargets', input);
    },
    failed: (failure) => control.tell('commandFailed', failure),
    hostOf: (bot) => self.mirror.get(bot)?.snapshot.host ?? null,
  }),
  views,
  admission,
  maxWriteBytes,
  uses,
  maxUrlBytes: http.max_url_bytes,
  maxInFlight: http.max_requests_in_flight,
  heartbeatMs: streaming.heartbeat_ms,
  retry: { baseMs: streaming.retry_ms, perSecond: streaming.returns_per_second },
  limits: {
    maxBytes: http.max_body_bytes,
    timeoutMs: http.body_timeout_ms,
    maxDepth: http.max_json_depth,
    room: new BodyRoom(http.max_bodies_bytes),
  },
  pin: new PinExchange(
    start.pin,
    bucket,
    (refusal) => {
      counters.add(FRONT_CELLS.wrongPins, 1);
      control.tell('pinRefused', refusal);
    },
    () => !start.config.auth.pin && auth.hasTokens,
  ),
  pinPages: new PinPages([http.host, ...http.allowed_hosts], http.cors_origins),
  leases: new StreamLeases(streamQuota, self.names, streams),
  dashboard: new DashboardFiles(DASHBOARD_DIR),
  runs: new RunFiles(start.runs),
  metrics: {
    counters: start.counts.counters,
    fronts: http.fronts,
    lags: start.lags,
    bucket,
    connections: connectionQuota,
    streams: streamQuota,
  },
  port: () => listener.port,
});

/** Closes everything that keeps the thread alive, also in the midst of its work: sockets come first. */
function end(): void {
  const steps = [
    () => listener.close(),
    () => views.stop(),
    () => uses.stop(),
    () => log.flush(),
    () => hosts.detach(),
    () => parent.close(),
  ];
  for (const step of steps) {
    try {
      step();
    } catch {
      // It was interrupted in the midst of a change: the rest has to be closed nevertheless.
    }
  }
}
// A front that hangs closes its sockets within the turn that is aborted then.
offerLeave(end);

process.on('uncaughtException', (error) => {
  control.tell('failed', { message: messageOf(error) });
  end();
});
