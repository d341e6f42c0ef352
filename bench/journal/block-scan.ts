// The control of a search: the frames of a journal in memory, in pieces as large as the journal's, searched without logic.

import { ask } from '../harness/ask.js';
import type { Drover } from '../harness/drover.js';

const PIECE_BYTES = 64 * 1024;

export class BlockScan {
  readonly events: number;
  readonly #bytes: Buffer;

  private constructor(bytes: Buffer, events: number) {
    this.#bytes = bytes;
    this.events = events;
  }

  /** Of all events in the journal of this service. */
  static async of({ server, authorization }: Drover): Promise<BlockScan> {
    const text = await ask(server.url, '/api/events?format=ndjson', { authorization });
    return new BlockScan(Buffer.from(text), text.split('\n').length - 1);
  }

  /** How long one search takes, in ms. @throws Error when it finds the text: then it has not read everything. */
  time(text: string): number {
    const began = performance.now();
    for (let at = 0; at < this.#bytes.length; at += PIECE_BYTES) {
      const piece = this.#bytes.toString('latin1', at, at + PIECE_BYTES);
      if (piece.toLowerCase().includes(text)) throw new Error(`the control has found ${text}`);
    }
    return performance.now() - began;
  }
}
