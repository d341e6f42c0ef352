// Runs in the test's thread and owns a front there: the same parts as in workers/front.ts, without an engine.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { Authenticator } from '../../src/front/access/auth.js';
import { PinExchange } from '../../src/front/access/pin-exchange.js';
import { PinPages } from '../../src/front/access/pin-pages.js';
import { TokenStreams } from '../../src/front/access/token-streams.js';
import { TokenUses } from '../../src/front/access/token-uses.js';
import { BodyRoom } from '../../src/front/engine/body-room.js';
import { AccessLog } from '../../src/front/requests/access-log.js';
import { Clients } from '../../src/front/requests/clients.js';
import { Cors } from '../../src/front/requests/cors.js';
import { controlBounds } from '../../src/front/routes/control.js';
import { DashboardFiles } from '../../src/front/routes/dashboard-files.js';
import { RunFiles } from '../../src/front/routes/run-files.js';
import type { StreamAdmission } from '../../src/front/routes/stream-route.js';
import { createFront } from '../../src/front/routes.js';
import { StreamLeases } from '../../src/front/stream/stream-lease.js';
import { View } from '../../src/front/views/view.js';
import { Views } from '../../src/front/views/views.js';
import { Dispatcher } from '../../src/shared/commands/dispatcher.js';
import { HostCommands } from '../../src/shared/commands/host-commands.js';
import { FRONT_CELLS, responseCell } from '../../src/shared/contract/metric-layout.js';
import { Networks } from '../../src/shared/contract/networks.js';
import type { Shortage } from '../../src/shared/contract/pressure.js';
import { Rpc, type Serves } from '../../src/shared/contract/rpc.js';
import type {
  ControlMethods,
  FrontMethods,
  FrontStart,
} from '../../src/shared/contract/threads.js';
import type { TokenRecord } from '../../src/shared/contract/tokens.js';
import { Counters } from '../../src/shared/memory/counters.js';
import { type Clock, PinBucket } from '../../src/shared/memory/pin-bucket.js';
import { Quota } from '../../src/shared/memory/quota.js';
import {
  InjectedExchange,
  type InjectedRequest,
  type InjectedResponse,
} from './injected-exchange.js';

const MAX_WRITE_BYTES = 65_536;
const DASHBOARD = new URL('../../dist/dashboard', import.meta.url).pathname;

export interface InjectedFrontOptions {
  start: FrontStart;
  /** The port that clients see. */
  port: number;
  broadcaster: Broadcaster;
  control: Serves<ControlMethods>;
  /** Clock of the PIN bucket. */
  clock: Clock | undefined;
}

export class InjectedFront {
  readonly views: Views;
  readonly #auth: Authenticator;
  readonly #streams = new TokenStreams();
  readonly #admission: StreamAdmission;
  readonly #hosts: HostCommands;
  readonly #front: ReturnType<typeof createFront>;
  readonly #counters: Counters;
  readonly #log: AccessLog;
  readonly #uses: TokenUses;
  readonly #ports: MessagePort[];
  readonly #main: Rpc<FrontMethods, ControlMethods>;

  constructor({ start, port, broadcaster, control, clock }: InjectedFrontOptions) {
    const { config, front: number, stream } = start;
    const { port1, port2 } = new MessageChannel();
    this.#ports = [port1, port2];
    new Rpc<ControlMethods, FrontMethods>(port1, control);
    const main = new Rpc<FrontMethods, ControlMethods>(
      port2,
      {} as Serves<FrontMethods>,
      controlBounds(config.http.max_requests_in_flight),
    );
    this.#main = main;
    const counters = new Counters(start.counts.counters, start.counts.block);
    const auth = new Authenticator(start.tokens);
    const common = {
      front: number,
      writes: {
        sizes: [MAX_WRITE_BYTES],
        maxHeldBytes: config.stream.max_held_bytes,
        shared: false,
      },
      heartbeatMs: config.stream.heartbeat_ms,
      stallMs: config.stream.stall_ms,
      counters,
      noteWake: () => {},
    };
    const self = new View({
      ...common,
      stream,
      journal: config.journal,
      rebase: async (mirror) => {
        const { next, sessions } = broadcaster.baseline();
        mirror.reset(next, sessions);
      },
    });
    self.mirror.sync();
    this.views = new Views(
      self,
      (cluster) => new View({ ...common, stream: cluster.stream, journal: { enabled: true } }),
    );
    const bucket = new PinBucket(start.bucket, clock);
    this.#uses = new TokenUses(auth, this.#streams, (uses) => main.tell('tokensUsed', { uses }));
    this.#log = new AccessLog(config.log.access, start.pin, (text) =>
      main.tell('logAccess', { text }),
    );
    const quota = new Quota(start.quota, number);
    this.#admission = { shortage: start.shortage };
    this.#hosts = new HostCommands({
      connect: async (host) => (await main.call('connectHost', { host })).port,
      failed: (failure) => main.tell('commandFailed', failure),
      timeoutMs: config.invoke.timeout_ms,
      maxWaiting: config.http.max_requests_in_flight,
    });
    this.#front = createFront({
      dispatcher: new Dispatcher({
        hosts: this.#hosts,
        targets(input) {
          self.mirror.sync();
          return main.call('commandTargets', input);
        },
        failed: (failure) => main.tell('commandFailed', failure),
        hostOf: (bot) => self.mirror.get(bot)?.snapshot.host ?? null,
      }),
      cors: new Cors(config.http.cors_origins),
      secureHeaders: [],
      clients: new Clients(
        new Networks(config.http.trusted_proxies),
        config.http.forwarded_header,
        'http',
      ),
      maxUrlBytes: config.http.max_url_bytes,
      maxInFlight: config.http.max_requests_in_flight,
      heartbeatMs: config.stream.heartbeat_ms,
      retry: { baseMs: config.stream.retry_ms, perSecond: config.stream.returns_per_second },
      admission: this.#admission,
      limits: {
        maxBytes: config.http.max_body_bytes,
        timeoutMs: config.http.body_timeout_ms,
        maxDepth: config.http.max_json_depth,
        room: new BodyRoom(config.http.max_bodies_bytes),
      },
      auth,
      pin: new PinExchange(
        start.pin,
        bucket,
        (refusal) => {
          counters.add(FRONT_CELLS.wrongPins, 1);
          main.tell('pinRefused', refusal);
        },
        () => !config.auth.pin && auth.hasTokens,
      ),
      pinPages: new PinPages(
        [config.http.host, ...config.http.allowed_hosts],
        config.http.cors_origins,
      ),
      log: this.#log,
      dashboard: new DashboardFiles(DASHBOARD),
      runs: new RunFiles(start.runs),
      views: this.views,
      leases: new StreamLeases(quota, self.names, this.#streams),
      maxWriteBytes: MAX_WRITE_BYTES,
      control: main,
      metrics: {
        counters: start.counts.counters,
        fronts: config.http.fronts,
        streams: quota,
        lags: start.lags,
        bucket,
        connections: new Quota(start.connections, number),
      },
      uses: this.#uses,
      port: () => port,
    });
    this.#auth = auth;
    this.#counters = counters;
  }

  /** Resolves with the response head. */
  handle(request: InjectedRequest): Promise<InjectedResponse> {
    const exchange = new InjectedExchange(request, (route, status) =>
      this.#counters.add(responseCell(route, status), 1),
    );
    void this.#front.handle(exchange);
    return exchange.response;
  }

  addToken(token: TokenRecord): void {
    this.#auth.add(token);
  }

  removeToken(id: string): void {
    this.#auth.remove(id);
    this.#streams.end(id);
  }

  tellPressure(shortage: Shortage | null): void {
    this.#admission.shortage = shortage;
  }

  /** Sends main the front's periodic messages now. */
  flush(): void {
    this.#uses.flush();
    this.#log.flush();
  }

  /** Resolves when main has processed all earlier messages. */
  async settled(): Promise<void> {
    await this.#main.call('tokens', { by: '' });
  }

  close(): void {
    this.views.stop();
    this.#uses.stop();
    this.#hosts.detach();
    for (const port of this.#ports) port.close();
  }
}
