// Runs in main. Owns the measurements of load, and admits or refuses new bots and streams. It never affects what already
// runs: no stream is closed, no bot stopped, no restart or state transition delayed.
//
// New bots are refused when memory, cpu, queue, files or bots reach their limit; new streams when memory, cpu, files or streams do. A
// full queue refuses no streams: they add nothing to it, and an operator needs one to find what fills it. A full disk is only
// reported here: the store refuses each change that it cannot keep.

import type { EventLoopUtilization } from 'node:perf_hooks';
import type { Config } from '../../shared/contract/config.js';
import type { JournalStatus } from '../../shared/contract/journal-messages.js';
import type { ClusterPressure } from '../../shared/contract/nodes.js';
import type {
  PressureReport,
  Resource,
  Shortage,
  StoreState,
} from '../../shared/contract/pressure.js';
import { DroverError } from '../../shared/errors.js';
import { anonymousRss } from '../../shared/process-memory.js';
import { leavesShare } from '../bots/own-hosts.js';
import { availableMemory } from '../environment/available-memory.js';

/** What is measured; the others are counted. */
const LOADS = ['cpu', 'memory', 'queue', 'files'] as const;
type Load = (typeof LOADS)[number];

const SAMPLE_MS = 1000;
/** Weight of a new sample: a burst of some seconds is no pressure, half a minute of full load is. */
const WEIGHT = 0.15;
/** Share of the system's memory, when the configuration sets no limit. */
const MEMORY_SHARE = 0.9;

/** Every source is read in main, because another thread may be too busy to answer. */
export interface PressureSources {
  /** The fronts and the broadcaster, without those that have ended. */
  utilizations(): readonly EventLoopUtilization[];
  /** Fill of the fullest bot host's queue to the broadcaster, 0 to 1 and above. */
  queue(): number;
  /** Called once a second, before the next two are read. */
  lookAtFiles(): void;
  files(): PressureReport['files'];
  areFilesShort(): boolean;
  /** The bot hosts, with how late their loops are. */
  hosts(): PressureReport['hosts'];
  running(): number;
  present(): number;
  streams(): number;
  store(): StoreState;
  journal(): JournalStatus;
  /** Null in a single service. */
  cluster(): ClusterPressure | null;
}

export class PressureGauge {
  readonly #sources: PressureSources;
  readonly #limits: Config['pressure'];
  readonly #maxStreams: number;
  readonly #available = availableMemory();
  readonly #onChange: (streams: Shortage | null) => void;
  #timer: NodeJS.Timeout | undefined;
  #last = new Map<number, EventLoopUtilization>();
  #cpu = 0;
  #queue = 0;
  #memory = anonymousRss();
  #reported: Resource | undefined;

  /** @param onChange is called with the reason for refusing new streams, each time it changes. */
  constructor(
    config: Pick<Config, 'pressure' | 'stream'>,
    sources: PressureSources,
    onChange: (streams: Shortage | null) => void,
  ) {
    this.#limits = config.pressure;
    this.#maxStreams = config.stream.max_streams;
    this.#sources = sources;
    this.#onChange = onChange;
  }

  get #memoryLimit(): number {
    const { max_memory_mb: limit } = this.#limits;
    return limit === null ? MEMORY_SHARE * this.#available : limit * 1024 * 1024;
  }

  start(): void {
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Why new streams are refused. The fronts count the streams themselves. */
  get streams(): Shortage | null {
    return shortage(this.#loadShort(['memory', 'cpu', 'files']));
  }

  /**
   * Checks before a bot is created. @param held of a limited token: counts the bots that it reaches.
   * @throws DroverError `unavailable`, or `forbidden` above the share of a limited token.
   */
  admitBot(held?: () => number): void {
    const { max_bots: most } = this.#limits;
    const present = this.#sources.present();
    if (present >= most) throw refusal('bots');
    // Counted only where it can be too many.
    if (held && !leavesShare(present, most - present)) checkShare(held(), present, most);
    this.admitStart();
  }

  /** Checks before a bot is started. @throws DroverError `unavailable`. */
  admitStart(): void {
    const short = this.#loadShort(['memory', 'cpu', 'queue', 'files']);
    if (short) throw refusal(short);
  }

  report(): PressureReport {
    const { max_bots, max_cpu, max_queue } = this.#limits;
    const present = this.#sources.present();
    const open = this.#sources.streams();
    const { state, reason } = this.#sources.journal();
    const store = this.#sources.store();
    const short = LOADS.filter((name) => this.#isShort(name));
    return {
      running: this.#sources.running(),
      capacity: max_bots,
      short: [
        ...short,
        ...(open >= this.#maxStreams ? (['streams'] as const) : []),
        ...(present >= max_bots ? (['bots'] as const) : []),
        ...(store.state === 'failed' ? (['disk'] as const) : []),
      ],
      cpu: { used: rounded(this.#cpu), limit: max_cpu },
      memory: { used_bytes: this.#memory, limit_bytes: Math.round(this.#memoryLimit) },
      streams: { open, limit: this.#maxStreams },
      queue: { used: rounded(this.#queue), limit: max_queue },
      files: this.#sources.files(),
      hosts: this.#sources.hosts(),
      bots: { present, limit: max_bots },
      store,
      journal: { state, reason },
      cluster: this.#sources.cluster(),
    };
  }

  #sample(): void {
    this.#sources.lookAtFiles();
    this.#memory = anonymousRss();
    this.#queue += WEIGHT * (Math.min(1, this.#sources.queue()) - this.#queue);
    this.#cpu += WEIGHT * (this.#busiest() - this.#cpu);
    const { streams } = this;
    if (streams?.resource === this.#reported) return;
    this.#reported = streams?.resource;
    this.#onChange(streams);
  }

  #busiest(): number {
    const now = this.#sources.utilizations();
    const last = this.#last;
    this.#last = new Map(now.entries());
    return now.reduce((busiest, { active, idle }, at) => {
      const before = last.get(at);
      // A thread that is new, or replaces another: the load of its start is no pressure.
      if (!before || active < before.active || idle < before.idle) return busiest;
      const worked = active - before.active;
      const passed = worked + idle - before.idle;
      return passed > 0 ? Math.max(busiest, worked / passed) : busiest;
    }, 0);
  }

  #loadShort(names: readonly Load[]): Resource | undefined {
    return names.find((name) => this.#isShort(name));
  }

  #isShort(name: Load): boolean {
    switch (name) {
      case 'cpu':
        return this.#cpu > this.#limits.max_cpu;
      case 'memory':
        return this.#memory > this.#memoryLimit;
      case 'queue':
        return this.#queue > this.#limits.max_queue;
      case 'files':
        return this.#sources.areFilesShort();
    }
  }
}

const MESSAGES: Record<Resource, string> = {
  cpu: 'the service is short of CPU time, try again later',
  memory: 'the service is short of memory, try again later',
  streams: 'too many streams are open',
  queue: 'bots write more than the service can take, try again later',
  files: 'too many files are open, try again later',
  bots: 'bot limit reached',
  disk: 'the disk accepts no writes, try again later',
};

function shortage(resource: Resource | undefined): Shortage | null {
  return resource ? { resource, message: MESSAGES[resource] } : null;
}

/** @throws DroverError `forbidden` */
function checkShare(held: number, present: number, most: number): void {
  if (leavesShare(held, most - present)) return;
  throw new DroverError(
    'forbidden',
    `this token is limited to some bots, which have ${held} of ${most} places (pressure.max_bots) and may not have more than they leave to others: delete some`,
  );
}

function refusal(resource: Resource): DroverError {
  return new DroverError('unavailable', MESSAGES[resource]);
}

function rounded(share: number): number {
  return Math.round(share * 1000) / 1000;
}
