const LF = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Of a line of protocol jsonl, without its end. */
export const MAX_LINE_BYTES = 2 ** 20;

/** A line of a program, or what is wrong with it; `shown` is its beginning. */
export type ProgramLine = { text: string } | { fault: string; shown: string };

/** Splits what a program writes into lines. Keeps at most MAX_LINE_BYTES: the rest of a longer line is dropped. */
export class ProgramLines {
  readonly #take: (line: ProgramLine) => void;
  #rest: Buffer = Buffer.alloc(0);
  #isTooLong = false;

  constructor(take: (line: ProgramLine) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#add(chunk.subarray(start, end));
      if (!this.#isTooLong) this.#take(lineOf(this.#rest));
      this.#rest = Buffer.alloc(0);
      this.#isTooLong = false;
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
  }

  /** @returns the beginning of a line that has no end; empty if there is none. */
  end(): string {
    return shown(this.#rest);
  }

  #add(piece: Buffer): void {
    if (this.#isTooLong) return;
    this.#rest = Buffer.concat([this.#rest, piece]);
    if (this.#rest.length <= MAX_LINE_BYTES) return;
    this.#take({ fault: `has more than ${MAX_LINE_BYTES} bytes`, shown: shown(this.#rest) });
    this.#isTooLong = true;
    this.#rest = Buffer.alloc(0);
  }
}

function lineOf(bytes: Buffer): ProgramLine {
  try {
    return { text: utf8.decode(bytes) };
  } catch {
    return { fault: 'is not UTF-8', shown: shown(bytes) };
  }
}

/** The beginning of a line, for an error. */
export function shown(line: Buffer | string): string {
  const text = typeof line === 'string' ? line : line.toString('utf8', 0, 400);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
