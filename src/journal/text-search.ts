import { withoutEscapes } from '../shared/contract/escapes.js';
import { frameData, frameMessage, KIND_CODE } from '../shared/stream/frame.js';
import type { Block } from './block.js';

/** A text to search for. */
export class Needle {
  readonly #plain: string;
  /** As JSON, whose escapes are always written the same way. */
  readonly #json: string;
  /** Finds it in ASCII, where no other character is a letter of it: faster than a copy in lower case. */
  readonly #inAscii: RegExp;

  constructor(text: string) {
    this.#plain = lowerCase(text);
    this.#json = lowerCase(JSON.stringify(text).slice(1, -1));
    this.#inAscii = new RegExp(this.#json.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'i');
  }

  /** Whether some frame of the block can have it. One search is several times as fast as one for each frame. */
  mayBeIn(block: Block): boolean {
    const { ascii } = block;
    if (ascii !== null) return this.#inAscii.test(ascii) || hasEscapes(ascii);
    const text = block.data.toString();
    return lowerCase(text).includes(this.#json) || hasEscapes(text);
  }

  /** In the message of a line, without its colour codes; anywhere in the data of another event. */
  isIn(text: string, kind: number): boolean {
    if (kind !== KIND_CODE.log) return lowerCase(frameData(text)).includes(this.#json);
    const message = frameMessage(text);
    const isColored = hasEscapes(message);
    if (!isColored && !lowerCase(message).includes(this.#json)) return false;
    // A match may be a part of an escape, as the n of a line break is.
    if (!isColored && !message.includes('\\')) return true;
    const said = withoutEscapes(JSON.parse(`"${message}"`) as string);
    return lowerCase(said).includes(this.#plain);
  }
}

/** A capital sigma has two lower cases, by what is beside it, which in JSON may be the letter of an escape. */
function lowerCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** Whether JSON may contain terminal escapes. */
function hasEscapes(json: string): boolean {
  return json.includes('\\u001b') || json.includes('\u009b');
}
