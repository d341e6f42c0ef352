// A node's own stream and its bus in the process of the test: what it logs goes to JetStream, and what all nodes log is on its ring.

import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { ClusterBus } from '../../src/cluster/bus/cluster-bus.js';
import type { BusStatus, ClusterConfig } from '../../src/cluster/wire/bus-messages.js';
import type { SignerKeys } from '../../src/cluster/wire/signer.js';
import { DEFAULTS } from '../../src/shared/contract/config.js';
import type { BotSnapshot } from '../../src/shared/contract/events.js';
import { FIXED } from '../../src/shared/contract/fixed.js';
import { messageJson } from '../../src/shared/contract/line-text.js';
import type { StreamIdentity } from '../../src/shared/contract/threads.js';
import { BusFigures, createBusFigures } from '../../src/shared/memory/bus-figures.js';
import { createRing } from '../../src/shared/memory/layout.js';
import { NodeNames } from '../../src/shared/memory/node-names.js';
import { RingReader } from '../../src/shared/memory/ring-reader.js';
import { frameData, frameId } from '../../src/shared/stream/frame.js';

const cluster = { ...DEFAULTS.cluster, ...FIXED.cluster };

/** No key. */
export const UNSIGNED: SignerKeys = { keys: [], acceptsUnsigned: false };

/** The bus reads the own ring with cells 0; front 0 reads that of the cluster. */
const READER = 0;

export interface Seen {
  id: string;
  node: string;
  /** Message of a line, or status of a bot. */
  text: string;
}

export class BusNode extends EventEmitter {
  readonly node: string;
  readonly incarnation = randomBytes(8).toString('hex');
  readonly config: ClusterConfig;
  readonly bus: ClusterBus;
  readonly broadcaster: Broadcaster;
  readonly local: StreamIdentity;
  readonly figures: BusFigures;
  status: BusStatus | undefined;
  isFenced = false;
  #reader: RingReader | undefined;
  #names: NodeNames | undefined;
  #next = 0;
  readonly seen: Seen[] = [];

  constructor(
    node: string,
    servers: string[],
    options: { first?: number; epoch?: string; local?: StreamIdentity; signer?: SignerKeys } = {},
  ) {
    super();
    this.node = node;
    const { first = 1, epoch = randomBytes(5).toString('hex') } = options;
    this.local = options.local ?? {
      ring: createRing({ bytes: 4 << 20, slots: 16_384, fronts: 1 }, first),
      epoch,
      hashKey: randomBytes(32).toString('hex'),
    };
    this.broadcaster = new Broadcaster(this.local, () => this.bus.wake());
    const figures = createBusFigures(first);
    this.figures = new BusFigures(figures, this.local.ring);
    this.config = { ...cluster, servers, node };
    this.bus = new ClusterBus(
      {
        config: this.config,
        signer: options.signer ?? UNSIGNED,
        incarnation: this.incarnation,
        local: this.local,
        reader: READER,
        first,
        fronts: 1,
        ringBytes: 4 << 20,
        dir: '/nonexistent',
        hasJournal: true,
        figures,
        lag: {} as never,
      },
      {
        ready: ({ ring, nodes }) => {
          this.#reader = new RingReader(ring, 0);
          this.#names = nodes && new NodeNames(nodes);
          this.#next = this.#reader.tail();
          this.#reader.arm(this.#reader.head());
          this.emit('ready');
        },
        changed: (status) => {
          this.status = status;
          this.emit('status', status);
        },
        fenced: () => {
          this.isFenced = true;
          this.emit('fenced');
        },
        wake: () => this.#read(),
        ownSessions: async () => this.broadcaster.baseline().sessions,
      },
    );
  }

  log(...messages: string[]): void {
    this.broadcaster.publish(
      messages.map((message) => ({
        kind: 'log',
        timestamp_ms: Date.now(),
        level: 'info',
        scope: 'bot',
        session_id: `bot-${message.length}`,
        transport: null,
        direction: null,
        message_json: messageJson(message),
      })),
    );
  }

  show(id: string, patch: Partial<BotSnapshot>): void {
    this.broadcaster.publish([{ kind: 'session', id, patch: { id, node: this.node, ...patch } }]);
  }

  async on_(state: BusStatus['state'] = 'on'): Promise<void> {
    while (this.status?.state !== state) await once(this, 'status');
  }

  /** Waits until the ring has this text of this node. */
  async has(text: string): Promise<void> {
    this.#read();
    while (!this.seen.some((one) => one.text === text)) await once(this, 'seen');
  }

  /** Waits until the ring has this text of that node. */
  async hasFrom(node: string, text: string): Promise<void> {
    this.#read();
    while (!this.texts(node).includes(text)) await once(this, 'seen');
  }

  texts(node: string): string[] {
    return this.seen.filter((one) => one.node === node).map(({ text }) => text);
  }

  #read(): void {
    const reader = this.#reader;
    if (!reader) return;
    do {
      const head = reader.head();
      reader.protect(this.#next);
      for (; this.#next < head; this.#next++) {
        const frame = reader.text(this.#next);
        const data = JSON.parse(frameData(frame)) as { message?: string; snapshot?: BotSnapshot };
        const text = data.message ?? data.snapshot?.status ?? 'gap';
        const node = this.#names?.name(reader.node(this.#next)) ?? '';
        this.seen.push({ id: frameId(frame), node, text });
      }
      reader.release();
    } while (!reader.arm(this.#next));
    this.emit('seen');
  }
}
