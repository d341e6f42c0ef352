// One per bot host; owns the names of the last commands that began to run there.
//
// Contract: one writer (the host, before it runs a command), one reader (main, for an incident report about a host that may be
// stuck or gone: such a thread cannot answer). The text of an entry is plain memory. The writer stores the count after the text,
// and the reader loads it before and after it reads: an entry that may have been overwritten meanwhile is left out.
//
// | count, i64 | entry 0: length, i32; text | entry 1 | … |   entry n holds the command with the number n modulo ENTRIES

/** Commands that are kept. */
const ENTRIES = 20;
/** A bot's id has at most 64 characters of one byte, a space follows, and a command has at most 128 of 4 bytes. */
const TEXT_BYTES = 580;
const ENTRY_BYTES = 4 + TEXT_BYTES;
const FIRST = 8;
/** More than a host runs in its life; from 2^53 on a number cannot be counted up. */
const MAX_COUNT = 2n ** 48n;

/** A command on a bot, with its number: the first of a host is 0. */
export interface LoggedCommand {
  number: number;
  command: string;
  bot: string;
}

export class CommandLog {
  readonly #count: BigInt64Array;
  readonly #bytes: Buffer;
  /** The count as the writer has stored it. */
  #noted = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#count = new BigInt64Array(buffer, 0, 1);
    this.#bytes = Buffer.from(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(FIRST + ENTRIES * ENTRY_BYTES);
  }

  /** Whether an image of cells, which a process has written, is that of a log: {@link read} believes it. */
  static isSound(image: Buffer): boolean {
    const [count = 0n] = new BigInt64Array(
      image.buffer.slice(image.byteOffset, FIRST + image.byteOffset),
    );
    if (count < 0n || count > MAX_COUNT) return false;
    const entries = Math.min(Number(count), ENTRIES);
    return Array.from({ length: entries }, (_, n) => image.readInt32LE(entryOffset(n))).every(
      (length) => length >= 0 && length <= TEXT_BYTES,
    );
  }

  /** Number of commands so far. */
  get count(): number {
    return Number(Atomics.load(this.#count, 0));
  }

  /** Called by the writer. */
  note(command: string, bot: string): void {
    const at = entryOffset(this.#noted);
    const length = this.#bytes.write(`${bot} ${command}`, at + 4, TEXT_BYTES);
    this.#bytes.writeInt32LE(length, at);
    this.#noted += 1;
    Atomics.store(this.#count, 0, BigInt(this.#noted));
  }

  /** The last commands, oldest first. */
  read(): LoggedCommand[] {
    const { count } = this;
    const found: LoggedCommand[] = [];
    for (let number = Math.max(0, count - ENTRIES); number < count; number++) {
      const at = entryOffset(number);
      const text = at + 4;
      const end = text + this.#bytes.readInt32LE(at);
      const entry = this.#bytes.toString('utf8', text, end);
      const space = entry.indexOf(' ');
      found.push({ number, bot: entry.slice(0, space), command: entry.slice(space + 1) });
    }
    // Since then the writer may have begun to overwrite the oldest: as many as it has added, and one more if it is a live host.
    const overwritten = this.count === count ? count - ENTRIES : this.count - ENTRIES + 1;
    return found.filter(({ number }) => number >= overwritten);
  }
}

function entryOffset(number: number): number {
  return FIRST + (number % ENTRIES) * ENTRY_BYTES;
}
