// Runs in the bus thread. Owns the ring of the cluster's stream: numbers the frames of all nodes, and writes them with their ids.

import { randomBytes } from 'node:crypto';
import type { Kind } from '../shared/contract/event-kinds.js';
import { type NameHash, NameHasher } from '../shared/contract/name-hash.js';
import type { StreamIdentity } from '../shared/contract/threads.js';
import { createRing, type FrameMeta, slotsFor } from '../shared/memory/layout.js';
import { createNodeNames, NodeNamesWriter } from '../shared/memory/node-names.js';
import { RingWriter } from '../shared/memory/ring-writer.js';
import { eventId, gapJson, KIND_CODE, sseFrame } from '../shared/stream/frame.js';
import type { Block } from './block.js';
import type { Sessions } from './sessions.js';

const NO_NAME: Pick<NameHash, 'low' | 'high'> = { low: 0, high: 0 };
const KINDS = Object.keys(KIND_CODE) as Kind[];

/** A frame of the stream of the cluster. @param json as in the block. */
export function clusterFrame(id: string, kind: number, json: string): string {
  // The ids in a gap are those of the node's own stream.
  const data = kind === KIND_CODE.gap ? gapJson(id, id, null) : json;
  return sseFrame(id, KINDS[kind] as Kind, data);
}

export class ClusterRing {
  readonly identity: StreamIdentity;
  readonly #writer: RingWriter;
  readonly #nodes: NodeNamesWriter;
  /** Two hashers, because each caches its last name. */
  readonly #sessionHashes: NameHasher;
  readonly #scopeHashes: NameHasher;
  readonly #sessions: Sessions;
  readonly #meta: FrameMeta = {
    kind: 0,
    level: 0,
    sessionLow: 0,
    sessionHigh: 0,
    scopeLow: 0,
    scopeHigh: 0,
    node: 0,
  };

  /** @param first number of the first frame. @param readers how many fronts there are. */
  constructor(epoch: string, first: number, bytes: number, readers: number, sessions: Sessions) {
    const nodes = createNodeNames();
    const ring = createRing({ bytes, slots: slotsFor(bytes), fronts: readers }, first);
    const hashKey = randomBytes(32).toString('hex');
    this.identity = { ring, epoch, hashKey, nodes };
    this.#writer = new RingWriter(ring);
    this.#nodes = new NodeNamesWriter(nodes);
    this.#sessionHashes = new NameHasher(hashKey);
    this.#scopeHashes = new NameHasher(hashKey);
    this.#sessions = sessions;
  }

  /** Number of the next frame. */
  get next(): number {
    return this.#writer.next;
  }

  /** Writes the frames of a block. Fronts see them after {@link publish}. */
  write({ head, frames }: Block): void {
    const meta = this.#meta;
    const { epoch } = this.identity;
    meta.node = this.#nodes.number(head.node);
    for (const { kind, level, session, scope, json } of frames) {
      const sessionHash = session === null ? NO_NAME : this.#sessionHashes.of(session);
      const scopeHash = scope === null ? NO_NAME : this.#scopeHashes.of(scope);
      meta.kind = kind;
      meta.level = level;
      meta.sessionLow = sessionHash.low;
      meta.sessionHigh = sessionHash.high;
      meta.scopeLow = scopeHash.low;
      meta.scopeHigh = scopeHash.high;
      const id = eventId(epoch, this.#writer.next);
      const data = kind === KIND_CODE.session ? this.#sessions.take(json) : json;
      this.#writer.append(clusterFrame(id, kind, data), meta);
    }
  }

  /** @returns the fronts that have to be woken. */
  publish(): number[] {
    return this.#writer.publish();
  }
}
