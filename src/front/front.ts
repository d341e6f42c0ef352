// Runs in a front thread, or in that of a test. Owns all parts of a front but its engine: they need neither threads nor sockets.

import { Dispatcher } from '../shared/commands/dispatcher.js';
import { HostCommands } from '../shared/commands/host-commands.js';
import { FRONT_CELLS } from '../shared/contract/metric-layout.js';
import { Networks } from '../shared/contract/networks.js';
import type { Rpc } from '../shared/contract/rpc.js';
import type { ControlMethods, FrontMethods, FrontStart } from '../shared/contract/threads.js';
import { Counters } from '../shared/memory/counters.js';
import { type Clock, PinBucket } from '../shared/memory/pin-bucket.js';
import { Quota } from '../shared/memory/quota.js';
import { Authenticator } from './access/auth.js';
import { PinExchange } from './access/pin-exchange.js';
import { PinPages } from './access/pin-pages.js';
import { TokenStreams } from './access/token-streams.js';
import { TokenUses } from './access/token-uses.js';
import { BodyRoom } from './engine/body-room.js';
import type { TlsFiles } from './engine/engine.js';
import { hstsHeaders } from './engine/responses.js';
import { AccessLog } from './requests/access-log.js';
import { Clients } from './requests/clients.js';
import { Connections } from './requests/connections.js';
import { Cors } from './requests/cors.js';
import type { RequestHandler } from './requests/request-handler.js';
import { DashboardFiles } from './routes/dashboard-files.js';
import { RunFiles } from './routes/run-files.js';
import type { StreamAdmission } from './routes/stream-route.js';
import { createHandler } from './routes.js';
import { StreamLeases } from './stream/stream-lease.js';
import type { WriteSizesOptions } from './stream/write-sizes.js';
import { Activities } from './table/activities.js';
import { View, type ViewOptions } from './views/view.js';
import { Views } from './views/views.js';

export interface FrontOptions {
  start: FrontStart;
  /** Main. */
  control: Pick<Rpc<FrontMethods, ControlMethods>, 'call' | 'cancellableCall' | 'tell'>;
  /** What the engine wants to be given. */
  writes: Pick<WriteSizesOptions, 'sizes' | 'shared'>;
  dashboardDir: string;
  /** Called when the doorbell of a stream rings. */
  noteWake?: () => void;
  /** The clock of the PIN bucket, in nanoseconds. */
  clock?: Clock | undefined;
  rebase?: NonNullable<ViewOptions['rebase']>;
}

export class Front {
  /** The port that clients see. Set once it is bound. */
  port = 0;
  readonly counters: Counters;
  readonly views: Views;
  readonly auth: Authenticator;
  readonly streams = new TokenStreams();
  readonly admission: StreamAdmission;
  readonly log: AccessLog;
  readonly uses: TokenUses;
  readonly cors: Cors;
  readonly tls: TlsFiles | null;
  readonly secureHeaders: readonly string[];
  readonly connections: Connections;
  readonly hosts: HostCommands;
  readonly handler: RequestHandler;

  constructor({ start, control, writes, dashboardDir, noteWake, clock, rebase }: FrontOptions) {
    const { config, front: number, counts } = start;
    const { http, stream: streaming, tls } = config;

    // Shared memory.
    const counters = new Counters(counts.counters, counts.block);
    const bucket = new PinBucket(start.bucket, clock);
    const streamQuota = new Quota(start.quota, number);
    const connectionQuota = new Quota(start.connections, number);

    // Streams.
    const common = {
      front: number,
      writes: { ...writes, maxHeldBytes: streaming.max_held_bytes },
      heartbeatMs: streaming.heartbeat_ms,
      stallMs: streaming.stall_ms,
      counters,
      noteWake: noteWake ?? (() => {}),
    };
    const self = new View({
      ...common,
      stream: start.stream,
      journal: config.journal,
      ...(rebase && { rebase }),
    });
    const views = new Views(
      self,
      ({ stream }) => new View({ ...common, stream, journal: { enabled: true } }),
    );
    const admission = { shortage: start.shortage };

    // Requests.
    const auth = new Authenticator(start.tokens);
    const log = new AccessLog(config.log.access, start.pin, (text) =>
      control.tell('logAccess', { text }),
    );
    const uses = new TokenUses(auth, this.streams, (report) =>
      control.tell('tokensUsed', { uses: report }),
    );
    const cors = new Cors(http.cors_origins);
    // The configuration has both files or neither.
    this.tls = tls.cert !== null && tls.key !== null ? { cert: tls.cert, key: tls.key } : null;
    this.secureHeaders = this.tls ? hstsHeaders(tls.hsts_max_age_days) : [];
    const trusted = new Networks(http.trusted_proxies);
    const failed = (failure: Parameters<ControlMethods['commandFailed']>[0]): void =>
      control.tell('commandFailed', failure);
    const hosts = new HostCommands({
      connect: async (host) => (await control.call('connectHost', { host })).port,
      failed,
      timeoutMs: config.invoke.timeout_ms,
      maxWaiting: http.max_requests_in_flight,
    });
    const { mirror } = self;

    this.counters = counters;
    this.views = views;
    this.auth = auth;
    this.admission = admission;
    this.log = log;
    this.uses = uses;
    this.cors = cors;
    this.connections = new Connections(connectionQuota, self.names, trusted);
    this.hosts = hosts;
    this.handler = createHandler({
      auth,
      activities: new Activities((reports) => control.tell('activities', { reports })),
      clients: new Clients(trusted, http.forwarded_header, this.tls ? 'https' : 'http'),
      cors,
      secureHeaders: this.secureHeaders,
      log,
      control,
      dispatcher: new Dispatcher({
        hosts,
        targets(input) {
          // The mirror may be behind, and is updated only when it was wrong: the host knows which bots it runs.
          mirror.sync();
          return control.call('commandTargets', input);
        },
        failed,
        hostOf: (bot) => mirror.get(bot)?.snapshot.host ?? null,
      }),
      views,
      admission,
      maxWriteBytes: writes.sizes[0] as number,
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
        () => !config.auth.pin && auth.hasTokens,
      ),
      pinPages: new PinPages([http.host, ...http.allowed_hosts], http.cors_origins),
      leases: new StreamLeases(streamQuota, self.names, this.streams),
      dashboard: new DashboardFiles(dashboardDir),
      runs: new RunFiles(start.runs),
      metrics: {
        counters: counts.counters,
        fronts: http.fronts,
        lags: start.lags,
        bucket,
        connections: connectionQuota,
        streams: streamQuota,
      },
      port: () => this.port,
    });
  }
}
