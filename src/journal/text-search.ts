// Finds texts in the blocks of the journal and in their frames.

import { isAscii } from 'node:buffer';
import { lowerCase, lowerCaseJson } from '../shared/query/lower-case.js';
import type { Regex } from '../shared/query/regex.js';
import { finderOf, shortest } from '../shared/query/required-texts.js';
import { KIND_CODE, messageSpan } from '../shared/stream/frame.js';
import type { Block } from './block.js';

/** The beginnings of terminal escapes in JSON, in bytes. */
const ESCAPE_BYTES = ['\\u001b', '\u00c2\u009b'];
const ESCAPE = /\\u001b|\u00c2\u009b/g;
/** The letters beyond ASCII whose lower case has one of ASCII, in bytes: the sign of Kelvin, and the I with a dot. */
const ODD_LETTERS = ['\u00e2\u0084\u00aa', '\u00c4\u00b0'];

/** A property of frames that a block can be searched for. */
export interface Required {
  /** The frames of the block that can have it, ascending; null for all of them. */
  framesIn(block: Block): readonly number[] | null;
  /**
   * Whether any frame of the block can have it. One search over the block is several times as fast as one per frame.
   */
  mayBeIn(block: Block): boolean;
}

/** Texts of which one is required. */
export class Texts implements Required {
  /** The texts as JSON, whose escapes are always written the same way. */
  readonly #json: readonly string[];
  /**
   * Finds them in bytes without characters whose lower case is one of their letters. That is faster than a copy in
   * lower case.
   */
  readonly #inBytes: RegExp;
  readonly #isAscii: boolean;

  constructor(texts: readonly string[]) {
    this.#json = texts.map(lowerCaseJson);
    this.#inBytes = finderOf(this.#json, 'gi');
    this.#isAscii = this.#json.every((json) => isAscii(Buffer.from(json)));
  }

  /** The longest texts come first, because the fewest frames have them. */
  get length(): number {
    return shortest(this.#json);
  }

  framesIn(block: Block): readonly number[] | null {
    if (!this.#isSeenIn(block)) return this.mayBeIn(block) ? null : [];
    const frames = framesWith(this.#inBytes, block);
    if (!hasOne(block.latin1, ESCAPE_BYTES)) return frames;
    const all = new Set([...frames, ...framesWith(ESCAPE, block)]);
    return [...all].sort((one, other) => one - other);
  }

  mayBeIn(block: Block): boolean {
    if (hasOne(block.latin1, ESCAPE_BYTES)) return true;
    if (!this.#isSeenIn(block)) return hasOne(lowerCase(block.data.toString()), this.#json);
    return isIn(this.#inBytes, block);
  }

  /** Whether the texts can be found by their bytes. */
  #isSeenIn(block: Block): boolean {
    return block.isAscii || (this.#isAscii && !hasOne(block.latin1, ODD_LETTERS));
  }
}

/** A piece of JSON that occurs unchanged in lines. */
export class Piece implements Required {
  readonly #inBytes: RegExp;

  /** @param json ASCII. */
  constructor(json: string) {
    this.#inBytes = finderOf([json], 'g');
  }

  framesIn(block: Block): readonly number[] {
    return framesWith(this.#inBytes, block);
  }

  mayBeIn(block: Block): boolean {
    return isIn(this.#inBytes, block);
  }
}

/** Whether the text of a frame may match. To make a string of each message takes longer than to match its bytes. */
export function mayMatch(regex: Regex, block: Block, seq: number): boolean {
  if (block.kind(seq) !== KIND_CODE.log) return true;
  const { from, to } = messageSpan(block.latin1, block.start(seq), block.end(seq));
  return regex.mayMatch(block.data, from, to);
}

/** Whether it is in the bytes of a block. @param global a global regular expression. */
function isIn(global: RegExp, { latin1 }: Block): boolean {
  global.lastIndex = 0;
  return global.test(latin1);
}

/** The frames in whose bytes it is. @param global a global regular expression that matches no empty text. */
function framesWith(global: RegExp, block: Block): number[] {
  const { latin1 } = block;
  const frames: number[] = [];
  global.lastIndex = 0;
  while (global.test(latin1)) {
    const seq = block.frameAt(global.lastIndex - 1);
    frames.push(seq);
    global.lastIndex = block.end(seq);
  }
  return frames;
}

function hasOne(text: string, parts: readonly string[]): boolean {
  return parts.some((part) => text.includes(part));
}
