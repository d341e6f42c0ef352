// A front in the test's own thread: what workers/front.ts puts together, without an engine below it.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { AccessLog } from '../../src/front/access-log.js';
import { Authenticator } from '../../src/front/auth.js';
import { BodyRoom } from '../../src/front/body-room.js';
import { DashboardFiles } from '../../src/front/dashboard-files.js';
import { Fanout } from '../../src/front/fanout.js';
import { JournalClient } from '../../src/front/history/journal-client.js';
import { SnapshotFrames } from '../../src/front/initial-state.js';
import { PinExchange } from '../../src/front/pin-exchange.js';
import { createFront, type FrontParts } from '../../src/front/routes.js';
import { SnapshotMirror } from '../../src/front/snapshot-mirror.js';
import { StreamRoute } from '../../src/front/stream-route.js';
import { TokenStreams } from '../../src/front/token-streams.js';
import { FRONT, httpCell } from '../../src/shared/contract/metric-layout.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
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
import { RingReader } from '../../src/shared/memory/ring-reader.js';
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
  /** Of the PIN's bucket. */
  clock: Clock | undefined;
}

export class InjectedFront {
  readonly fanout: Fanout;
  readonly #auth: Authenticator;
  readonly #streams = new TokenStreams();
  readonly #streamRoute: StreamRoute;
  readonly #front: ReturnType<typeof createFront>;
  readonly #counters: Counters;
  readonly #log: AccessLog;
  readonly #tellUses: () => void;
  readonly #ports: MessagePort[];
  readonly #main: Rpc<FrontMethods, ControlMethods>;

  constructor({ start, port, broadcaster, control, clock }: InjectedFrontOptions) {
    const { config, front: number, stream } = start;
    const { port1, port2 } = new MessageChannel();
    this.#ports = [port1, port2];
    new Rpc<ControlMethods, FrontMethods>(port1, control);
    const main = new Rpc<FrontMethods, ControlMethods>(port2, {} as Serves<FrontMethods>);
    this.#main = main;
    const reader = new RingReader(stream.ring, number);
    const names = new NameHasher(stream.hashKey);
    const rebase = (): void => {
      const { next, sessions } = broadcaster.baseline();
      mirror.reset(next, sessions);
    };
    const mirror = new SnapshotMirror(reader, names, rebase);
    rebase();
    const counters = new Counters(start.counts.counters, start.counts.block);
    const auth = new Authenticator(start.tokens);
    const journal = new JournalClient(config.journal);
    const fanout = new Fanout({
      reader,
      epoch: stream.epoch,
      maxWriteBytes: MAX_WRITE_BYTES,
      snapshots: new SnapshotFrames(mirror, stream.epoch, MAX_WRITE_BYTES),
      past: journal,
      heartbeatMs: config.stream.heartbeat_ms,
      stallMs: config.stream.stall_ms,
      counters,
    });
    const bucket = new PinBucket(start.bucket, clock);
    this.#tellUses = (): void => {
      const uses = auth.takeUses();
      if (Object.keys(uses).length > 0) main.tell('tokensUsed', { uses });
    };
    this.#log = new AccessLog(config.log.access, start.pin, (text) =>
      main.tell('logAccess', { text }),
    );
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
      log: this.#log,
      dashboard: new DashboardFiles(DASHBOARD),
      mirror,
      whenCurrent(task) {
        mirror.sync();
        return task();
      },
      fanout,
      journal,
      streams: this.#streams,
      quota: new Quota(start.quota, number),
      names,
      epoch: stream.epoch,
      maxWriteBytes: MAX_WRITE_BYTES,
      control: main,
      counted: {
        counters: start.counts.counters,
        lags: start.lags,
        bucket,
        connections: new Quota(start.connections, number),
        reader,
      },
      tellUses: this.#tellUses,
      port: () => port,
    };
    this.fanout = fanout;
    this.#auth = auth;
    this.#counters = counters;
    this.#streamRoute = new StreamRoute(parts, start.shortage);
    this.#front = createFront(parts, this.#streamRoute);
  }

  /** Resolves with the head of the answer. */
  handle(request: InjectedRequest): Promise<InjectedResponse> {
    const exchange = new InjectedExchange(request, (route, status) =>
      this.#counters.add(httpCell(route, status), 1),
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
    this.#streamRoute.shortage = shortage;
  }

  /** Tells main what fronts tell it every few seconds. */
  flush(): void {
    this.#tellUses();
    this.#log.flush();
  }

  /** Resolves when main has taken what it was told before. */
  async settled(): Promise<void> {
    await this.#main.call('tokens', null);
  }

  close(): void {
    this.fanout.stop();
    for (const port of this.#ports) port.close();
  }
}
