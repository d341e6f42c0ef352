// In main and in the bus thread. Owns the calls of other nodes that run here, and the answers of those that ran, so that a repeated call runs once.

import { DroverError } from '../../shared/errors.js';

/** How long an answer is kept after its call came, in ms. No caller waits longer. */
export const KEEP_MS = 60_000;
/**
 * Calls that are known at once. When there are so many, another is refused as `overloaded`: to forget one that may be repeated would
 * run it twice. An answer is kept no longer than its caller waits, so commands with the default of 10 s come to 13,000 a second.
 */
const MAX_CALLS = 200_000;
/**
 * Bytes of their answers. When they are full, the oldest answers are dropped, and only the calls are remembered: one that is repeated
 * gets an error, and does not run again.
 */
const MAX_BYTES = 64 * 1024 * 1024;
/** A message may be late by so much, in ms. */
const LATE_MS = 5000;
/** Subjects that one call may be answered to: a caller that repeats it uses the same. A repetition with another one more is dropped. */
const MAX_REPLIES = 8;
const RETRY_AFTER_S = 1;

/** A call that runs or ran. */
export class KnownCall {
  readonly id: string;
  /** Forgotten then. */
  readonly until: number;
  readonly cancel = new AbortController();
  /** Where the answer is sent. */
  readonly replies = new Set<string>();
  /** Null while it runs, and when it was dropped. */
  answer: Uint8Array | null = null;
  isDone = false;

  constructor(id: string, until: number) {
    this.id = id;
    this.until = until;
  }

  addReply(reply: string): void {
    if (this.replies.size < MAX_REPLIES) this.replies.add(reply);
  }

  /** Whether who asks has asked before it was done: one who has recorded the call gets nothing, also where it is accepted again. */
  isOf(reply: string): boolean {
    const inbox = inboxOf(reply);
    for (const known of this.replies) if (inboxOf(known) === inbox) return true;
    return false;
  }
}

/** A caller has one inbox, and a subject in it for each message. */
function inboxOf(reply: string): string {
  return reply.slice(0, reply.lastIndexOf('.'));
}

export interface ResultBounds {
  calls: number;
  bytes: number;
}

export class CallResults {
  /** In the order in which they came. */
  readonly #calls = new Map<string, KnownCall>();
  readonly #bounds: ResultBounds;
  readonly #now: () => number;
  #bytes = 0;

  /** @param now monotonic, in ms. */
  constructor(
    now: () => number = () => performance.now(),
    bounds: ResultBounds = { calls: MAX_CALLS, bytes: MAX_BYTES },
  ) {
    this.#now = now;
    this.#bounds = bounds;
  }

  get(id: string): KnownCall | undefined {
    return this.#calls.get(id);
  }

  /** A call that is not known. @param leastMs it is remembered for so long, in ms. @throws DroverError `overloaded`. */
  begin(id: string, deadlineMs: number, leastMs = 0): KnownCall {
    this.#expire();
    if (this.#calls.size >= this.#bounds.calls) {
      throw new DroverError('overloaded', undefined, RETRY_AFTER_S);
    }
    const keepMs = Math.max(Math.min(deadlineMs + LATE_MS, KEEP_MS), leastMs);
    const call = new KnownCall(id, this.#now() + keepMs);
    this.#calls.set(id, call);
    return call;
  }

  finish(call: KnownCall, answer: Uint8Array): void {
    call.isDone = true;
    if (this.#calls.get(call.id) !== call) return;
    call.answer = answer;
    this.#bytes += answer.length;
    if (this.#bytes <= this.#bounds.bytes) return;
    for (const older of this.#calls.values()) {
      if (older === call) continue;
      this.#drop(older);
      if (this.#bytes <= this.#bounds.bytes) return;
    }
  }

  /** The service ends: what runs for others is cancelled. */
  close(): void {
    for (const call of this.#calls.values()) if (!call.isDone) call.cancel.abort();
    this.#calls.clear();
  }

  #drop(call: KnownCall): void {
    this.#bytes -= call.answer?.length ?? 0;
    call.answer = null;
  }

  /** In the order in which they came: one that is kept for longer keeps those behind it, for a minute at most. */
  #expire(): void {
    const now = this.#now();
    for (const [id, call] of this.#calls) {
      if (call.until > now) break;
      // Nobody waits for it any more.
      if (!call.isDone) call.cancel.abort();
      this.#drop(call);
      this.#calls.delete(id);
    }
  }
}
