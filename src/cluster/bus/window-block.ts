// Runs in the bus thread. The frames of a block with the ids of the cluster, as a part of a replay needs them.

import type { NameHash, NameHasher } from '../../shared/contract/name-hash.js';
import type { NodeNamesWriter } from '../../shared/memory/node-names.js';
import { eventId } from '../../shared/stream/frame.js';
import type { FrameBlock } from '../../shared/stream/replay-cut.js';
import type { Block, BlockFrame } from './block.js';
import { clusterFrame } from './cluster-ring.js';

type Hash = Pick<NameHash, 'low' | 'high'>;

export interface BlockNames {
  epoch: string;
  hasher: NameHasher;
  nodes: NodeNamesWriter;
}

/** Frames of the stream from number `first` on. The hash of a name is computed when a filter asks for it. */
export class WindowBlock implements FrameBlock {
  readonly first: number;
  readonly next: number;
  readonly data: Uint8Array;
  readonly hasBroken = false;
  readonly #frames: readonly BlockFrame[];
  readonly #starts: number[] = [0];
  readonly #node: number;
  readonly #hasher: NameHasher;
  readonly #hashes = new Map<string, Hash>();

  constructor({ head, frames }: Block, first: number, { epoch, hasher, nodes }: BlockNames) {
    this.first = first;
    this.next = first + frames.length;
    this.#frames = frames;
    this.#node = head.node === '' ? 0 : nodes.number(head.node);
    this.#hasher = hasher;
    const texts = frames.map(({ kind, json }, at) =>
      Buffer.from(clusterFrame(eventId(epoch, first + at), kind, json, head.node)),
    );
    let end = 0;
    for (const { length } of texts) {
      end += length;
      this.#starts.push(end);
    }
    this.data = Buffer.concat(texts, end);
  }

  start(seq: number): number {
    return this.#starts[seq - this.first] as number;
  }

  end(seq: number): number {
    return this.start(seq + 1);
  }

  kind(seq: number): number {
    return this.#frame(seq).kind;
  }

  level(seq: number): number {
    return this.#frame(seq).level;
  }

  node(): number {
    return this.#node;
  }

  sessionLow(seq: number): number {
    return this.#hash(this.#frame(seq).session)?.low ?? 0;
  }

  sessionHigh(seq: number): number {
    return this.#hash(this.#frame(seq).session)?.high ?? 0;
  }

  scopeLow(seq: number): number {
    return this.#hash(this.#frame(seq).scope)?.low ?? 0;
  }

  scopeHigh(seq: number): number {
    return this.#hash(this.#frame(seq).scope)?.high ?? 0;
  }

  text(seq: number): string {
    return Buffer.from(this.data.buffer, this.data.byteOffset, this.data.length).toString(
      'utf8',
      this.start(seq),
      this.end(seq),
    );
  }

  isBroken(): boolean {
    return false;
  }

  gap(): never {
    throw new Error('no frame of a block is broken');
  }

  #frame(seq: number): BlockFrame {
    return this.#frames[seq - this.first] as BlockFrame;
  }

  #hash(name: string | null): Hash | null {
    if (name === null) return null;
    const known = this.#hashes.get(name);
    if (known) return known;
    const hash = this.#hasher.once(name);
    this.#hashes.set(name, hash);
    return hash;
  }
}
