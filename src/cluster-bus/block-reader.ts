// Runs in the bus thread. Reads messages of the stream as blocks. What is no block becomes a gap: on every node the same one, because all
// count the frames of the stream, and all have to count the same.

import type { Signer } from '../shared/cluster/signer.js';
import { decodeBlock, gapBlock, LaterVersionError, type ReadBlock } from './block.js';

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
  /** Whether the stream says that nobody had published a later version when it had this message. */
  hasNoLater(seq: number): Promise<boolean>;
}

export const blockContext = (node: string): string[] => ['block', node];

export class BlockReader {
  readonly #source: BlockSource;
  readonly #signer: Signer;
  /** The last message that was read, and the last one of each subject among those that were read one after the other. */
  #seq = 0;
  readonly #last = new Map<string, number>();

  constructor(source: BlockSource, signer: Signer) {
    this.#source = source;
    this.#signer = signer;
  }

  /** The message with this sequence; null when it has left the window. */
  async at(seq: number): Promise<ReadBlock | null> {
    const message = await this.#source.at(seq);
    return message && this.read(message);
  }

  /** Quickest when messages are read in their order. @throws LaterVersionError; an error of JetStream. */
  async read({ seq, node, bytes }: StreamMessage): Promise<ReadBlock> {
    if (seq !== this.#seq + 1) this.#last.clear();
    const before = this.#last.get(node);
    this.#seq = seq;
    this.#last.set(node, seq);
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
    const isNext = stamp === null || stamp === before || (await this.#isNext(node, seq, stamp));
    return isOfNode && isNext ? block : gapBlock();
  }

  /** A block names the message that it follows on its subject: so nobody publishes an old one again. */
  async #isNext(node: string, seq: number, stamp: number): Promise<boolean> {
    return stamp < seq && (await this.#source.nextOf(node, stamp + 1))?.seq === seq;
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
