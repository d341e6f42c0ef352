// Runs in the test's thread, instead of a pool of host threads, and owns the bots of an injected service.

import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { FrontCommands } from '../../src/bot-host/front-commands.js';
import { BotHost } from '../../src/bot-host/host.js';
import { loadModule } from '../../src/bot-host/kinds.js';
import { Outbox } from '../../src/bot-host/outbox.js';
import type { BotKind } from '../../src/bot-sdk/index.js';
import type { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { programKind } from '../../src/kinds/program/program-kind.js';
import type { HostPool, PoolListener } from '../../src/main/bots/host-pool.js';
import { OwnHosts } from '../../src/main/bots/own-hosts.js';
import { HostedRuns } from '../../src/main/threads/hosted-runs.js';
import { LastCommands } from '../../src/main/threads/last-commands.js';
import { type Batch, decodeBatch } from '../../src/shared/contract/batch.js';
import type { KindInfo } from '../../src/shared/contract/bots.js';
import type { Config } from '../../src/shared/contract/config.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  LateError,
} from '../../src/shared/contract/host-messages.js';
import type { Programs } from '../../src/shared/contract/programs.js';
import type { BotStart } from '../../src/shared/contract/threads.js';
import { CommandLog } from '../../src/shared/memory/command-log.js';
import { InFlight } from '../../src/shared/memory/in-flight.js';
import { withTimeout } from '../../src/shared/with-timeout.js';

export class InjectedHost {
  readonly #kinds = new Map<string, BotKind>();
  readonly #host: BotHost;
  readonly #runs = new HostedRuns();
  readonly #own: OwnHosts;
  readonly #graceMs: number;
  readonly number = 0;
  /** As of a host in a thread in which nothing runs at present. */
  readonly state = 'shared';
  readonly isolation = 'thread';
  readonly isAsleep = true;
  readonly beats = 0;
  readonly codeChanges = 0;
  readonly lastBot = null;
  readonly waitedMs = 0;
  readonly lateMs = 0;
  readonly heap = null;
  readonly busySeconds = 0;
  bots = 0;
  readonly #fronts: FrontCommands;
  readonly #commands: LastCommands;

  constructor(
    { hosts, network, invoke }: Config,
    broadcaster: Broadcaster,
    {
      exited,
      lateError,
      flooded,
      offered,
    }: Pick<PoolListener, 'exited' | 'lateError' | 'flooded' | 'offered'>,
  ) {
    this.#graceMs = hosts.stop_grace_ms;
    this.#own = new OwnHosts(hosts.max_dedicated);
    const inFlight = new InFlight(InFlight.create());
    const port = {
      postMessage({ bytes }: Batch): void {
        broadcaster.publish(decodeBatch(bytes));
        inFlight.subtract(bytes.byteLength);
      },
      close(): void {},
    };
    const outbox = new Outbox(port as never, inFlight, hosts.in_flight_bytes, () => true);
    const limits = {
      botLinesPerSecond: hosts.bot_lines_per_second,
      networkAllow: network.allow,
      commandTimeoutMs: invoke.timeout_ms,
    };
    const log = new CommandLog(CommandLog.create());
    this.#commands = new LastCommands(log);
    const events = {
      // Like every message between this host and main one turn of the loop later, as from another thread.
      exited: (exit: BotExit) => void turn().then(() => exited(exit)),
      ready() {},
      settled: (run: number) => void turn().then(() => this.#runs.settle(run)),
      lateError: (error: LateError) => void turn().then(() => lateError(error)),
      flooded: (flood: BotFlood) => void turn().then(() => flooded(flood)),
      // What bots use is counted in real hosts only.
      wrote() {},
      kindFailed() {},
      offered: (offer: CommandOffer) => void turn().then(() => offered(offer)),
    };
    this.#host = new BotHost(this.#kinds, outbox, limits, events, log);
    this.#fronts = new FrontCommands(this.#host, invoke.timeout_ms);
  }

  /** The part of the pool that the registry uses. */
  get pool(): HostPool {
    const own = this.#own;
    const pool = {
      count: 1,
      clear: (id: string) => this.#clear(id),
      place: async () => {
        this.bots += 1;
        return this;
      },
      leave: () => {
        this.bots -= 1;
      },
      admitOwn: (wanted: number, held?: number) => own.admit(wanted, held),
      admitSuspect: () => own.admitSuspect(),
      threads: () => [this],
      all: () => [this],
      get: () => this,
    };
    return pool as unknown as HostPool;
  }

  async load(module: string, programs: Programs): Promise<KindInfo[]> {
    const loaded = new Map<string, BotKind>();
    const { kinds, failed } = await loadModule(module, loaded, async (url) => {
      const program = programs[url];
      return program ? { default: programKind(program) } : import(url);
    });
    for (const kind of loaded.values()) this.#kinds.set(kind.kind, kind);
    if (failed[0]) throw new Error(`${module}: ${failed[0].error}`);
    return kinds;
  }

  async startBot(input: BotStart): Promise<void> {
    await turn();
    this.#runs.add(input.run, input.id);
    try {
      this.#host.start(input);
    } catch (thrown) {
      this.#runs.settle(input.run);
      throw thrown;
    }
  }

  /** Waits for earlier runs of a bot, as the pool does; a run that ignores its signal needs a service as a process. */
  async #clear(id: string): Promise<null> {
    const free = this.#runs.whenFreeOf(id);
    if (free) await withTimeout(free, this.#graceMs, () => {});
    return null;
  }

  async stopBot(id: string, graceMs: number): Promise<void> {
    await turn();
    await this.#host.stop({ id, graceMs });
  }

  async setPermit(id: string, permit: number): Promise<void> {
    await turn();
    this.#host.setPermit({ id, permit });
  }

  /** The last commands, oldest first, for incident reports. */
  get commands(): string[] {
    return this.#commands.list();
  }

  forgetCommands(bot: string): void {
    this.#commands.forget(bot);
  }

  /** Resolves with the front's end of a channel. */
  async connectFront(): Promise<MessagePort> {
    await turn();
    const { port1, port2 } = new MessageChannel();
    this.#fronts.attach(port1);
    return port2;
  }
}
