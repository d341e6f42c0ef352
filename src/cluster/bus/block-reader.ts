// Runs in the bus thread. Reads messages of the stream as blocks. What is no block becomes a gap: on every node the same one, because all
// count the frames of the stream, and all have to count the same.

import type { Signer } from '../wire/signer.js';
import {
  type BlockHead,
  decodeBlock,
  gapBlock,
  LaterVersionError,
  type ReadBlock,
} from './block.js';

export interface StreamMessage {
  seq: number;
  /** As its subject says. */
  node: string;
  bytes: Uint8Array;
}

/** What a reader needs of JetStream. */
export interface BlockSource {
  /** The message with this sequence; null when it has left the window. */
  at(seq: number): Promise<StreamMessage | null>;
  /** The next message of a node, from a sequence on. */
  nextOf(node: string, seq: number): Promise<StreamMessage | null>;
  /** Whether a message between these two was deleted. */
  hasHole(after: number, before: number): Promise<boolean>;
  /** Whether the stream says that nobody had published a later version when it had this message. */
  hasNoLater(seq: number): Promise<boolean>;
}

export const blockContext = (node: string): string[] => ['block', node];

/** Up to where messages were read one after the other, and the last one of each node among them. */
export interface ReadUpTo {
  seq: number;
  last: Map<string, number>;
}

export class BlockReader {
  readonly #source: BlockSource;
  readonly #signer: Signer;
  readonly #upTo: ReadUpTo;
  /** The message before the last one that was read, of the same node. */
  #before: number | undefined;

  constructor(source: BlockSource, signer: Signer, read: ReadUpTo = { seq: 0, last: new Map() }) {
    this.#source = source;
    this.#signer = signer;
    this.#upTo = read;
  }

  /** The message with this sequence; null when it has left the window. */
  async at(seq: number): Promise<ReadBlock | null> {
    const message = await this.#source.at(seq);
    return message && this.read(message);
  }

  /** Quickest when messages are read in their order. @throws LaterVersionError; an error of JetStream. */
  async read({ seq, node, bytes }: StreamMessage): Promise<ReadBlock> {
    const { last } = this.#upTo;
    // The same message again: it was delivered and fetched.
    if (seq !== this.#upTo.seq) {
      if (seq !== this.#upTo.seq + 1) last.clear();
      this.#before = last.get(node);
      this.#upTo.seq = seq;
    }
    const before = this.#before;
    if (before !== undefined) last.set(node, seq);
    let stamp: number | null = null;
    let block: ReadBlock;
    try {
      block = decodeBlock(bytes, (head, packed) => {
        const opened = this.#signer.open(blockContext(node), head, packed);
        stamp = opened.stamp;
        return opened.text;
      });
    } catch (thrown) {
      const isLater = thrown instanceof LaterVersionError && !(await this.#source.hasNoLater(seq));
      if (isLater) throw thrown;
      return gapBlock();
    }
    const isOfNode = block.head.node === node && block.head.at.seq < seq;
    if (!isOfNode) return gapBlock();
    if (stamp === null) return block;
    // Others may publish to any number of subjects, and sign nothing.
    last.set(node, seq);
    const isNext =
      before === undefined ? await this.#isNext(block.head, seq, stamp) : stamp === before;
    return isNext ? block : gapBlock();
  }

  /**
   * A block names the message that it follows on its subject: so nobody publishes an old one again. Who has not read that message asks
   * JetStream, which forgets what was deleted: one that was deleted itself is newer than what its publisher had read.
   */
  async #isNext({ node, at }: BlockHead, seq: number, stamp: number): Promise<boolean> {
    if (stamp >= seq || (await this.#source.nextOf(node, stamp + 1))?.seq !== seq) return false;
    return !(await this.#source.hasHole(Math.max(stamp, at.seq), seq));
  }
}

/**
 * How many frames the stream has had before a message; null when what is needed to count them has left the window.
 * @param missing what counts as its frames up to and with a message that is not there.
 */
export async function totalBefore(
  reader: Pick<BlockReader, 'at'>,
  seq: number,
  missing: (seq: number) => number | null = () => null,
): Promise<number | null> {
  let n = seq;
  let base = await reader.at(n);
  while (base?.head.type === 'none' && n > 1) base = await reader.at(--n);
  // There was never a block.
  if (base?.head.type === 'none') return seq - 1;
  // A block says what was counted at a message before it.
  let total = base ? base.head.at.total : missing(n);
  if (base) n = base.head.at.seq;
  while (total !== null && ++n < seq) {
    const between = await reader.at(n);
    total = between ? total + between.head.count : missing(n);
  }
  return total;
}
