// Runs in the bus thread. Owns the ring of the cluster's stream: numbers the frames of all nodes, and writes them with their ids.

import { randomBytes } from 'node:crypto';
import type { Kind } from '../../shared/contract/event-kinds.js';
import { type NameHash, NameHasher } from '../../shared/contract/name-hash.js';
import type { StreamIdentity } from '../../shared/contract/threads.js';
import { createRing, type FrameMeta, slotsFor } from '../../shared/memory/layout.js';
import { createNodeNames, NodeNamesWriter } from '../../shared/memory/node-names.js';
import { RingWriter } from '../../shared/memory/ring-writer.js';
import { eventId, gapJson, KIND_CODE, sseFrame } from '../../shared/stream/frame.js';
import type { ReadBlock } from './block.js';
import { LogFrames } from './log-frames.js';
import type { Sessions } from './sessions.js';

const NO_NAME: Pick<NameHash, 'low' | 'high'> = { low: 0, high: 0 };
const KINDS = Object.keys(KIND_CODE) as Kind[];

/** A frame of the stream of the cluster, from a node. @param json as in the block. */
export function clusterFrame(id: string, kind: number, json: string, node: string): string {
  // The ids in a gap are those of the node's own stream: here no number is missing.
  const data = kind === KIND_CODE.gap ? gapJson(id, id, null, node || undefined) : json;
  return sseFrame(id, KINDS[kind] as Kind, data);
}

export class ClusterRing {
  readonly identity: StreamIdentity;
  readonly #writer: RingWriter;
  readonly #nodes: NodeNamesWriter;
  readonly #hasher: NameHasher;
  readonly #logs: LogFrames;
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
    this.#hasher = new NameHasher(hashKey);
    this.#logs = new LogFrames(epoch, this.#writer.maxPiece);
    this.#sessions = sessions;
  }

  /** Number of the next frame. */
  get next(): number {
    return this.#writer.next;
  }

  /** Writes the frames of a block. Fronts see them after {@link publish}. */
  write(block: ReadBlock): void {
    const { head, names, body } = block;
    const hashes = names.map((name) => this.#hasher.of(name));
    const node = head.node === '' ? 0 : this.#nodes.number(head.node);
    const meta = (at: number): FrameMeta => {
      const session = hashes[block.session(at) - 1] ?? NO_NAME;
      const scope = hashes[block.scope(at) - 1] ?? NO_NAME;
      const all = this.#meta;
      all.kind = block.kind(at);
      all.level = block.level(at);
      all.sessionLow = session.low;
      all.sessionHigh = session.high;
      all.scopeLow = scope.low;
      all.scopeHigh = scope.high;
      all.node = node;
      return all;
    };
    const logs = this.#logs;
    logs.load(body.subarray(block.data));
    /** Of the first frame that is built and not on the ring yet. */
    let first = 0;
    const flush = (): void => {
      const { count, lengths } = logs;
      if (count > 0)
        this.#writer.appendPiece(logs.take(), lengths, count, (at) => meta(first + at));
    };
    let from = 0;
    for (let at = 0; at < head.count; at++) {
      const length = block.length(at);
      const isLog = block.kind(at) === KIND_CODE.log;
      if (!isLog || logs.isFull(length)) flush();
      if (logs.count === 0) first = at;
      if (isLog) logs.add(this.#writer.next + logs.count, from, length);
      else this.#append(block, from, length, meta(at));
      from += length;
    }
    flush();
  }

  /** A frame whose data may be another one on this ring. */
  #append({ head, body, data }: ReadBlock, from: number, length: number, meta: FrameMeta): void {
    const json = body.toString('utf8', data + from, data + from + length);
    const id = eventId(this.identity.epoch, this.#writer.next);
    const { kind } = meta;
    const own = kind === KIND_CODE.session ? this.#sessions.take(json) : json;
    this.#writer.append(clusterFrame(id, kind, own, head.node), meta);
  }

  /** @returns the fronts that have to be woken. */
  publish(): number[] {
    return this.#writer.publish();
  }
}
