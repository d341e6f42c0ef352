// Runs in main at the start, then in the journal thread, never in both at once. Owns the numbering on disk: the epoch, the
// key of the name hashes, and the range of sequence numbers that may have been used.
//
// Numbers are reserved ahead in large steps, because nothing waits for the disk before an event gets its number. After an
// unclean shutdown numbering continues after the reserved range, so that no id is used twice; after a clean one it continues
// after the last used number. The file is written in place, in two slots in turn, each with a checksum: that works on a full
// disk too, and a torn write leaves the other slot.

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
import type { PreviousShutdown } from '../contract/threads.js';

const SLOT_BYTES = 512;
/**
 * Size of a reserve, renewed when half of it is used: half a day at the broadcaster's highest rate while the disk takes no
 * writes. There is room for 250,000 crashes.
 */
const RESERVE = 2 ** 34;
/** Safe integers end at twice this; a new numbering begins before. */
const MAX_SEQ = 2 ** 52;
const FIRST_SEQ = 1;

export const JOURNAL_FILE = 'journal.mdb';
const FILE = 'numbering';

/** Identifies a numbering. */
export interface Identity {
  epoch: string;
  hashKey: string;
}

interface Slot extends Identity {
  /** Grows with each write. */
  generation: number;
  /** Numbers below this may have been used. */
  reserved: number;
  /** What the next run finds when this one does not end cleanly from now on. */
  shutdown: PreviousShutdown;
}

/** A slot of an earlier version, which had other words for the shutdown, or none. */
interface FormerSlot extends Omit<Slot, 'shutdown'> {
  shutdown?: PreviousShutdown;
  leaving?: 'ended' | 'broken-off' | 'unexamined';
}
const FORMER_SHUTDOWN = {
  ended: 'clean',
  'broken-off': 'unclean',
  unexamined: 'unexamined',
} as const;

/** A new numbering. */
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

  /** What the next run finds when this one does not end cleanly from now on. */
  get shutdown(): PreviousShutdown {
    return this.#slot.shutdown;
  }

  get identity(): Identity {
    const { epoch, hashKey } = this.#slot;
    return { epoch, hashKey };
  }

  /**
   * Continues the numbering of the journal, or begins one when there is no journal, and reserves numbers.
   * @returns it, the first free number, and how the previous run ended.
   * @throws Error when the directory does not allow it.
   */
  static begin(dir: string): {
    numbering: Numbering;
    first: number;
    previousShutdown: PreviousShutdown;
  } {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, FILE);
    const found = read(path);
    const usable = found && found.reserved < MAX_SEQ && existsSync(join(dir, JOURNAL_FILE));
    const generation = found?.generation ?? 0;
    const slot = usable
      ? found
      : { ...newIdentity(), generation, reserved: FIRST_SEQ, shutdown: 'clean' as const };
    const numbering = new Numbering(path, slot);
    const first = slot.reserved;
    const previousShutdown = numbering.shutdown;
    numbering.#slot.shutdown = previousShutdown === 'clean' ? 'unclean' : 'unexamined';
    numbering.#reserve(first);
    return { numbering, first, previousShutdown };
  }

  /**
   * Continues this numbering in the thread that keeps it from now on. Writes the file if {@link begin} could not, or if it was
   * removed since. @throws Error when the directory does not allow it.
   */
  static open(dir: string, identity: Identity, next: number): Numbering {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, FILE);
    const found = read(path);
    if (found?.epoch === identity.epoch) return new Numbering(path, found);
    const generation = found?.generation ?? 0;
    const numbering = new Numbering(path, {
      ...identity,
      generation,
      reserved: next,
      shutdown: 'unclean',
    });
    numbering.#reserve(next);
    return numbering;
  }

  /** Reserves more when half is used. To be called often. @throws Error when it cannot be written. */
  keepAhead(next: number): void {
    if (this.#slot.reserved - next <= RESERVE / 2) this.#reserve(next);
  }

  /** Writes the file again when it was removed. @throws Error when it cannot be written. */
  keep(): void {
    if (!existsSync(this.#path)) this.#write(this.#slot);
  }

  /** Records a clean shutdown: everything before `next` is in the journal, and no later number was used. */
  finish(next: number): void {
    const shutdown = this.shutdown === 'unexamined' ? 'unclean' : 'clean';
    this.#write({ ...this.#slot, reserved: next, shutdown });
  }

  /** The journal has been examined and is whole. */
  examined(): void {
    if (this.shutdown === 'unexamined') this.#write({ ...this.#slot, shutdown: 'unclean' });
  }

  #reserve(from: number): void {
    this.#write({ ...this.#slot, reserved: Math.max(from + RESERVE, this.#slot.reserved) });
  }

  #write(slot: Slot): void {
    const next = { ...slot, generation: slot.generation + 1 };
    const isNew = !existsSync(this.#path);
    const file = openSync(this.#path, isNew ? 'wx+' : 'r+', 0o600);
    try {
      // Allocates both slots now: later the disk may be full.
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
  if (at <= 0 || line.slice(0, at) !== digest(json)) return [];
  const { leaving, shutdown, ...rest } = JSON.parse(json) as FormerSlot;
  return [{ ...rest, shutdown: shutdown ?? FORMER_SHUTDOWN[leaving ?? 'broken-off'] }];
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
