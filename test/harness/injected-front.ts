// Runs in the test's thread and owns a front there: the same parts as in workers/front.ts, without an engine.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { Front } from '../../src/front/front.js';
import { controlBounds } from '../../src/front/routes/control.js';
import type { Views } from '../../src/front/views/views.js';
import { responseCell } from '../../src/shared/contract/metric-layout.js';
import type { Shortage } from '../../src/shared/contract/pressure.js';
import { Rpc, type Serves } from '../../src/shared/contract/rpc.js';
import type {
  ControlMethods,
  FrontMethods,
  FrontStart,
} from '../../src/shared/contract/threads.js';
import type { TokenRecord } from '../../src/shared/contract/tokens.js';
import type { Clock } from '../../src/shared/memory/pin-bucket.js';
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
  readonly #front: Front;
  readonly #ports: MessagePort[];
  readonly #main: Rpc<FrontMethods, ControlMethods>;

  constructor({ start, port, broadcaster, control, clock }: InjectedFrontOptions) {
    const { port1, port2 } = new MessageChannel();
    this.#ports = [port1, port2];
    new Rpc<ControlMethods, FrontMethods>(port1, control);
    this.#main = new Rpc<FrontMethods, ControlMethods>(
      port2,
      null,
      controlBounds(start.config.http.max_requests_in_flight),
    );
    this.#front = new Front({
      start,
      control: this.#main,
      writes: { sizes: [MAX_WRITE_BYTES], shared: false },
      dashboardDir: DASHBOARD,
      clock,
      rebase: async (mirror) => {
        const { next, sessions } = broadcaster.baseline();
        mirror.reset(next, sessions);
      },
    });
    this.#front.port = port;
    this.views.self.mirror.sync();
  }

  get views(): Views {
    return this.#front.views;
  }

  /** Resolves with the response head. */
  handle(request: InjectedRequest): Promise<InjectedResponse> {
    const exchange = new InjectedExchange(request, (route, status) =>
      this.#front.counters.add(responseCell(route, status), 1),
    );
    void this.#front.handler.handle(exchange);
    return exchange.response;
  }

  addToken(token: TokenRecord): void {
    this.#front.auth.add(token);
  }

  removeToken(id: string): void {
    this.#front.auth.remove(id);
    this.#front.streams.end(id);
  }

  tellPressure(shortage: Shortage | null): void {
    this.#front.admission.shortage = shortage;
  }

  /** Sends main the front's periodic messages now. */
  flush(): void {
    this.#front.uses.flush();
    this.#front.log.flush();
  }

  /** Resolves when main has processed all earlier messages. */
  async settled(): Promise<void> {
    await this.#main.call('tokens', { by: '' });
  }

  close(): void {
    this.views.stop();
    this.#front.uses.stop();
    this.#front.hosts.detach();
    for (const port of this.#ports) port.close();
  }
}
