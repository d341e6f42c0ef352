// Pure. The events in a node's answer to a question for a page (history-messages.ts), read one at a time and as bytes: a page of all
// nodes is full when it has read a part of their answers, and copies only what it takes.

import type { PageRequest } from '../../shared/contract/journal-messages.js';
import { type PageAnswerHead, splitHead } from './history-messages.js';

/** An event on its line: `<ms> <seq> <JSON>`. */
export interface StampedLine {
  ms: number;
  /** In the node's own numbering. */
  seq: number;
  /** Where its JSON is in the bytes: from `start` to before `end`, which is that of the line. */
  start: number;
  end: number;
}

const NEWLINE = 10;
const SPACE = 32;

/** The first event from `at` on, the beginning of a line; null when there is none. What is no event is left out. */
export function lineFrom(bytes: Buffer, at: number): StampedLine | null {
  for (let from = at; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline === -1 ? bytes.length : newline;
    const [first, second] = spacesFrom(bytes, from);
    const ms = Number(bytes.toString('latin1', from, first));
    const seq = Number(bytes.toString('latin1', first + 1, second));
    if (second < end && Number.isSafeInteger(ms) && Number.isSafeInteger(seq)) {
      return { ms, seq, start: second + 1, end };
    }
    from = end + 1;
  }
  return null;
}

/** The end of the bytes stands for one that is not there. */
function spacesFrom(bytes: Buffer, from: number): [first: number, second: number] {
  const first = bytes.indexOf(SPACE, from);
  if (first === -1) return [bytes.length, bytes.length];
  const second = bytes.indexOf(SPACE, first + 1);
  return [first, second === -1 ? bytes.length : second];
}

/** One node's part of a page. */
export class StampedLines {
  readonly head: PageAnswerHead;
  readonly #bytes: Buffer;
  #line: StampedLine | null;

  /** @throws DroverError `bad_request` when it does not begin with its head. */
  constructor(answer: Buffer) {
    const { head, rest } = splitHead<PageAnswerHead>('page', answer);
    this.head = head;
    this.#bytes = rest;
    this.#line = lineFrom(rest, 0);
  }

  /** Time of the next event, in Unix epoch ms; null at the end. */
  get ms(): number | null {
    return this.#line?.ms ?? null;
  }

  /** Takes the next event, while there is one. @returns its JSON. */
  take(): Uint8Array {
    const { start, end } = this.#line as StampedLine;
    this.#line = lineFrom(this.#bytes, end + 1);
    return this.#bytes.subarray(start, end);
  }

  /** Where the node continues, exclusive; null at the end of the range. */
  place(order: PageRequest['order']): number | null {
    if (!this.#line) return this.head.at;
    return order === 'newest' ? this.#line.seq + 1 : this.#line.seq - 1;
  }
}
