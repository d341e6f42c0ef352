// Runs in main. Owns the relay thread, which is started with the first bot host process, and main's end of each such process.

import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';
import type {
  ProcessEnd,
  RelayControlMethods,
  RelayMethods,
  SystemLimits,
} from '../../shared/pipe/messages.js';
import { memoryOf } from '../../shared/process-memory.js';
import { threadTimes, threadWaitMs } from '../../shared/thread-waits.js';
import type { HostLink, LinkOptions } from './host-link.js';
import { ProcessEnded } from './process-ended.js';
import type { ProcessLimits } from './process-limits.js';
import { SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker, type ThreadSource } from './thread-source.js';

type Relay = SupervisedThread<RelayControlMethods, RelayMethods>;

interface OpenLink {
  pid: number | undefined;
  relay: Relay;
  ended(end: ProcessEnd): void;
}

const NO_LIMITS: SystemLimits = { cgroup: null, memoryBytes: 0, byData: false };

export class ProcessLinks {
  readonly #source: ThreadSource;
  readonly #limits: ProcessLimits | undefined;
  #relay: Relay | undefined;
  /** By number. Bounded by the number of hosts. */
  readonly #links = new Map<number, OpenLink>();
  #next = 1;

  /** @param limits of the system, absent for none. @param source starts the relay thread; other than its entry for tests. */
  constructor(limits?: ProcessLimits, source: ThreadSource = () => startWorker(WORKERS.hostRelay)) {
    this.#limits = limits;
    this.#source = source;
  }

  /** Starts a bot host process. */
  readonly start = ({ task, transferList, port }: LinkOptions): HostLink => {
    const number = this.#next++;
    const relay = this.#startedRelay();
    const ended = new Deferred<Error | undefined>();
    const exited = new Deferred();
    let isTerminated = false;
    const system = this.#limits;
    const limits = system?.start(number) ?? NO_LIMITS;
    const link: OpenLink = {
      pid: undefined,
      relay,
      ended(end) {
        const isExpected = end.isDone && end.code === 0;
        const wasShort = system?.ended(limits) ?? false;
        ended.resolve(isExpected ? undefined : new ProcessEnded(end, isTerminated, wasShort));
        exited.resolve();
      },
    };
    this.#links.set(number, link);
    relay.peer.tell('open', { link: number, start: task, limits }, transferList);
    return {
      isolation: 'process',
      port,
      threadId: 0,
      ended: ended.promise,
      exited: exited.promise,
      utilization() {
        const times = link.pid === undefined ? null : threadTimes(link.pid, link.pid);
        return { active: times ? times.ranMs + times.waitedMs : 0, idle: 0, utilization: 0 };
      },
      terminate() {
        isTerminated = true;
        relay.peer.tell('kill', { link: number });
      },
      async capture(withinMs) {
        const question = { link: number, withinMs };
        return (await relay.peer.call('capture', question).catch(() => null)) ?? undefined;
      },
      waitedMs: (thread) => (link.pid === undefined ? 0 : threadWaitMs(thread, link.pid)),
      memory: () => (link.pid === undefined ? null : memoryOf(link.pid)),
    };
  };

  /** To be called when the node's lease was renewed or has ended: processes do not see the shared memory that says so. */
  leaseChanged(): void {
    if (this.#relay?.isAlive) this.#relay.peer.tell('leaseChanged', null);
  }

  /** For the watch over the relay's loop; undefined before the first process. */
  get turning(): Turning | undefined {
    return this.#relay;
  }

  /** Ends the relay thread. All hosts are to have ended before; those that have not end with it. */
  async close(): Promise<void> {
    const relay = this.#relay;
    this.#relay = undefined;
    relay?.kill();
    await relay?.gone;
    this.#limits?.close();
  }

  #startedRelay(): Relay {
    if (this.#relay?.isAlive) return this.#relay;
    const relay: Relay = new SupervisedThread<RelayControlMethods, RelayMethods>({
      source: this.#source,
      methods: {
        started: ({ link, pid }) => {
          const open = this.#links.get(link);
          if (open) open.pid = pid;
        },
        ended: ({ link, end }) => {
          const open = this.#links.get(link);
          this.#links.delete(link);
          open?.ended(end);
        },
      },
      lost: (reason) =>
        new DroverError('unavailable', `the relay of bot hosts was lost: ${reason}`),
      ended: (error) => this.#lost(relay, error),
    });
    this.#relay = relay;
    void relay.start().catch(() => {});
    return relay;
  }

  /** The processes of a lost relay end when their pipes close. Nobody waits for that: their bots may start elsewhere at once. */
  #lost(relay: Relay, error: Error | undefined): void {
    const message = `its relay was lost: ${error ? messageOf(error) : 'its thread has ended'}`;
    for (const [number, link] of this.#links) {
      if (link.relay !== relay) continue;
      this.#links.delete(number);
      killGroup(link.pid);
      const failure = { message, stack: null };
      link.ended({ code: null, signal: null, isDone: false, failure, stderr: [] });
    }
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process is gone already.
  }
}
