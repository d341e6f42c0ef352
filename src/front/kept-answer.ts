// Pure; used by the fronts. Owns answers that are always the same: made once, and not sent again to whoever has them.

import { createHash } from 'node:crypto';
import type { Answer, Exchange } from './engine/engine.js';

export class KeptAnswer {
  readonly #whole: Answer;
  readonly #unchanged: Answer;
  readonly #tag: string;

  constructor(body: string, headers: readonly string[]) {
    const bytes = Buffer.from(body);
    this.#tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    // Kept by whoever asks, but never used without asking whether it has changed.
    const all = [...headers, 'Cache-Control', 'no-cache', 'ETag', this.#tag];
    this.#whole = { status: 200, headers: all, body: bytes };
    this.#unchanged = { status: 304, headers: all, body: '' };
  }

  /** To be called before the handler's first await. */
  answer(exchange: Exchange): void {
    exchange.answer(this.#isHad(exchange.header('if-none-match')) ? this.#unchanged : this.#whole);
  }

  /** Weak comparison, as `If-None-Match` has it (RFC 9110 §13.1.2). */
  #isHad(header: string): boolean {
    if (header === '') return false;
    const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return tags.includes(this.#tag) || tags.includes('*');
  }
}
