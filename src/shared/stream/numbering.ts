// Runs in main at the start, then in the journal thread, never in both at a time. Owns the numbering on disk: the epoch,
// the key of the names' hashes, and up to where sequence numbers may have been used.
//
// Numbers are reserved ahead and in large steps, because nothing waits for the disk before an event gets its number. After
// kill -9 numbering goes on behind the reserve, so that no id is used twice; after a clean end it goes on exactly. The file
// is written in place, in two slots in turn, each with a checksum: that works on a full disk too, and a write that is cut
// short leaves the other slot.

import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const SLOT_BYTES = 512;
/**
 * Numbers that are reserved ahead, renewed when half is used: half a day of what the broadcaster can do at its most, should
 * the disk take nothing. There is room for 250,000 crashes.
 */
const RESERVE = 2 ** 34;
/** Numbers from here on are not exact enough any more; a new numbering begins long before. */
const MAX_SEQ = 2 ** 52;
const FIRST_SEQ = 1;

export const JOURNAL_FILE = 'journal.mdb';
const FILE = 'numbering';

/** What names a numbering. */
export interface Identity {
  epoch: string;
  hashKey: string;
}

/**
 * How the run before this one left the journal: ended well; broke off; or broke off before the journal was examined, which
 * that run had to have done because the one before it had broken off.
 */
export type Leaving = 'ended' | 'broken-off' | 'unexamined';

interface Slot extends Identity {
  /** Grows with each write. */
  generation: number;
  /** Numbers below this may have been used. */
  reserved: number;
  /** As it would be found if this run broke off now. Not there in files from before it was kept. */
  leaving?: Leaving;
}

/** A numbering that no other has. */
export function newIdentity(): Identity {
  return { epoch: randomBytes(5).toString('hex'), hashKey: randomBytes(32).toString('hex') };
}

export class Numbering {
  readonly #path: string;
  #slot: Slot;

  private constructor(path: string, slot: Slot) {
    this.#path = path;
    this.#slot = slot;
  }

  /** As the run before left it, after {@link begin}; as of now in the thread that keeps it. */
  get leaving(): Leaving {
    return this.#slot.leaving ?? 'broken-off';
  }

  get identity(): Identity {
    const { epoch, hashKey } = this.#slot;
    return { epoch, hashKey };
  }

  /**
   * Takes up the numbering of a journal, or begins one where there is no journal.
   * @returns it, the first number that is certainly free, and how the journal was left; numbers are reserved from there on.
   * @throws Error when the directory does not allow it.
   */
  static begin(dir: string): { numbering: Numbering; first: number; left: Leaving } {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, FILE);
    const found = read(path);
    const usable = found && found.reserved < MAX_SEQ && existsSync(join(dir, JOURNAL_FILE));
    const generation = found?.generation ?? 0;
    const slot = usable
      ? found
      : { ...newIdentity(), generation, reserved: FIRST_SEQ, leaving: 'ended' as const };
    const numbering = new Numbering(path, slot);
    const first = slot.reserved;
    const left = numbering.leaving;
    numbering.#slot.leaving = left === 'ended' ? 'broken-off' : 'unexamined';
    numbering.#reserve(first);
    return { numbering, first, left };
  }

  /**
   * Takes up this numbering in the thread that keeps it from then on. What {@link begin} has made is there, or was taken
   * away, or could not be made: then it is kept from now on. @throws Error when the directory does not allow it.
   */
  static open(dir: string, identity: Identity, next: number): Numbering {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, FILE);
    const found = read(path);
    if (found?.epoch === identity.epoch) return new Numbering(path, found);
    const generation = found?.generation ?? 0;
    const numbering = new Numbering(path, { ...identity, generation, reserved: next });
    numbering.#reserve(next);
    return numbering;
  }

  /** To be called often: reserves more when half is used. @throws Error when it cannot be written. */
  keepAhead(next: number): void {
    if (this.#slot.reserved - next <= RESERVE / 2) this.#reserve(next);
  }

  /** Writes it again when somebody has taken the file away. @throws Error when it cannot be written. */
  keep(): void {
    if (!existsSync(this.#path)) this.#write(this.#slot);
  }

  /** The end: everything below `next` is in the journal, and nothing else was used. */
  finish(next: number): void {
    const leaving = this.leaving === 'unexamined' ? 'broken-off' : 'ended';
    this.#write({ ...this.#slot, reserved: next, leaving });
  }

  /** The journal has been examined, and is whole. */
  examined(): void {
    if (this.leaving === 'unexamined') this.#write({ ...this.#slot, leaving: 'broken-off' });
  }

  #reserve(from: number): void {
    this.#write({ ...this.#slot, reserved: Math.max(from + RESERVE, this.#slot.reserved) });
  }

  #write(slot: Slot): void {
    const next = { ...slot, generation: slot.generation + 1 };
    const isNew = !existsSync(this.#path);
    const file = openSync(this.#path, isNew ? 'w+' : 'r+', 0o600);
    try {
      // Both slots get their place on the disk now.
      if (isNew) writeSync(file, Buffer.alloc(2 * SLOT_BYTES, ' '));
      writeSync(file, encode(next), 0, SLOT_BYTES, (next.generation % 2) * SLOT_BYTES);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    this.#slot = next;
  }
}

function encode(slot: Slot): Buffer {
  const json = JSON.stringify(slot);
  const line = `${digest(json)} ${json}\n`;
  return Buffer.from(line.padEnd(SLOT_BYTES, ' '));
}

function read(path: string): Slot | undefined {
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'latin1');
  const slots = [0, 1].flatMap((at) => decode(text.slice(at * SLOT_BYTES, (at + 1) * SLOT_BYTES)));
  return slots.sort((one, other) => other.generation - one.generation)[0];
}

function decode(text: string): Slot[] {
  const line = text.split('\n', 1)[0] ?? '';
  const at = line.indexOf(' ');
  const json = line.slice(at + 1);
  return at > 0 && line.slice(0, at) === digest(json) ? [JSON.parse(json) as Slot] : [];
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
