// Runs in a front thread. Owns the streams that are still in the past: what they get comes from the journal until they have
// come up to the ring, and the fan-out takes them over there.
//
// Each has a cursor, never a queue. They take turns of one write each, so that all come forward alike; a turn of all
// together lasts 1 ms at most, between which the live streams and requests run. What is read for one is there for all that
// stand at the same place: after a restart they come in crowds.

import type { ReplayPart, ReplayRequest } from '../../contract/journal.js';
import type { Filter } from '../filter.js';
import type { Subscriber } from '../subscriber.js';

/** Longest that the front stays with the past in one turn of its loop, in ms. */
const TURN_MS = 1;
/** Rest after a turn while there are live streams too, in ms: the journal, the clients and they need the time. */
const REST_MS = 1;
/** Bytes that the journal is asked for at once. */
const PART_BYTES = 256 * 1024;
/** Bytes of parts that are kept, at most: for those that are being sent, and the crowd behind them. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/** Parts that may be on their way from the journal, or there and not looked at yet by anybody. */
const MAX_ASKED = 16;

export interface ReplaySource {
  /** There is a journal to be asked. */
  readonly isThere: boolean;
  replay(request: ReplayRequest): Promise<ReplayPart>;
}

/** What becomes of a stream in the fan-out. */
export interface ReplayActions {
  /** Sends bytes; the stream may be blocked or gone after this. */
  write(subscriber: Subscriber, bytes: Uint8Array): void;
  /** Frames before `next` are not there any more, or never were: they are to be declared, and it goes on from there. */
  missing(subscriber: Subscriber, next: number): void;
  /** The journal has nothing for it: it goes on where the fan-out says. */
  lost(subscriber: Subscriber): void;
  /** Its cursor is on the ring. */
  arrived(subscriber: Subscriber): void;
  /** Whether there are streams that are live. */
  hasLive(): boolean;
  /** Whether a cursor here is far enough on the ring to go on there. */
  isOnRing(cursor: number, filter: Filter | null): boolean;
}

/** Where a stream stands in what was read for it. */
interface Place {
  subscriber: Subscriber;
  key: string | undefined;
  piece: number;
  isQueued: boolean;
  /** For what the journal is asked for. */
  isWaiting: boolean;
}

export class Replays {
  readonly #source: ReplaySource;
  readonly #actions: ReplayActions;
  readonly #pieceBytes: number;
  readonly #places = new Map<Subscriber, Place>();
  /** Those that can go on now, in the order of their turns. */
  #ready: Place[] = [];
  /** Parts by filter and place, the one that was used last at the end. */
  readonly #parts = new Map<string, ReplayPart>();
  #keptBytes = 0;
  /** Who waits for a part that is on its way. */
  readonly #asked = new Map<string, Place[]>();
  /**
   * Parts that those who waited for them have not come to yet. They stay: when there are very many places, they would else
   * be pushed out by others before that, and nobody would come forward.
   */
  readonly #unseen = new Set<string>();
  /** Who waits until one more may be asked for. */
  #postponed: Place[] = [];
  #turning = false;

  constructor(source: ReplaySource, pieceBytes: number, actions: ReplayActions) {
    this.#source = source;
    this.#pieceBytes = pieceBytes;
    this.#actions = actions;
  }

  /** There is a journal that may have what the ring has not. */
  get isThere(): boolean {
    return this.#source.isThere;
  }

  /** How many streams are in the past. */
  get size(): number {
    return this.#places.size;
  }

  has(subscriber: Subscriber): boolean {
    return this.#places.has(subscriber);
  }

  /** Takes a stream, whose cursor says where it goes on. */
  add(subscriber: Subscriber): void {
    const place = { subscriber, key: undefined, piece: 0, isQueued: false, isWaiting: false };
    this.#places.set(subscriber, place);
    this.#queue(place);
  }

  /** The stream is gone, or the fan-out has it. */
  remove(subscriber: Subscriber): void {
    this.#places.delete(subscriber);
    if (this.#places.size === 0) this.#forget();
  }

  /** It takes bytes again, or its prelude is over. */
  resume(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber);
    if (place) this.#queue(place);
  }

  #queue(place: Place): void {
    if (place.isQueued || place.isWaiting) return;
    place.isQueued = true;
    this.#ready.push(place);
    this.#turnSoon();
  }

  #turnSoon(hasWorked = false): void {
    if (this.#turning || this.#ready.length === 0) return;
    this.#turning = true;
    if (hasWorked && this.#actions.hasLive()) setTimeout(() => this.#turn(), REST_MS);
    else setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#turning = false;
    const end = performance.now() + TURN_MS;
    // A round of all, and another, until the time is over; who is not through stands at the head of the next turn.
    while (this.#ready.length > 0) {
      const round = this.#ready;
      this.#ready = [];
      for (const [at, place] of round.entries()) {
        place.isQueued = false;
        this.#serve(place);
        if (performance.now() >= end) {
          this.#ready = [...round.slice(at + 1), ...this.#ready];
          this.#turnSoon(true);
          return;
        }
      }
    }
  }

  /** One turn of one stream: at most one write. */
  #serve(place: Place): void {
    const { subscriber } = place;
    if (place.key !== undefined && this.#unseen.delete(place.key)) this.#askPostponed();
    if (this.#places.get(subscriber) !== place || subscriber.blockedAt !== 0) return;
    // The fan-out has it resumed when it has had what comes before.
    if (!subscriber.isLive) return;
    if (this.#actions.isOnRing(subscriber.cursor, subscriber.group.filter)) {
      this.remove(subscriber);
      this.#actions.arrived(subscriber);
      return;
    }
    const part = place.key === undefined ? undefined : this.#parts.get(place.key);
    const piece = part?.pieces[place.piece];
    const before = part?.pieces[place.piece - 1];
    // One that was let go of and read again may be cut into other pieces.
    if (!part || !piece || (before ? before.next : part.first) !== subscriber.cursor) {
      this.#ask(place);
      return;
    }
    const from = before?.end ?? 0;
    place.piece += 1;
    subscriber.cursor = piece.next;
    if (piece.end > from) this.#actions.write(subscriber, part.bytes.subarray(from, piece.end));
    if (subscriber.index !== -1 && subscriber.blockedAt === 0) this.#queue(place);
  }

  #ask(place: Place): void {
    const { subscriber } = place;
    const { filter } = subscriber.group;
    const key = `${subscriber.cursor} ${filter?.key ?? ''}`;
    const part = this.#parts.get(key);
    if (part) {
      this.#touch(key, part);
      this.#take(place, key, part);
      return;
    }
    place.isWaiting = true;
    const waiting = this.#asked.get(key);
    if (waiting) {
      waiting.push(place);
      return;
    }
    if (this.#isFull) {
      this.#postponed.push(place);
      return;
    }
    this.#request(key, subscriber.cursor, filter?.key ?? null, [place]);
  }

  #request(key: string, from: number, filter: string | null, waiting: Place[]): void {
    this.#asked.set(key, waiting);
    const request: ReplayRequest = {
      from,
      filter,
      pieceBytes: this.#pieceBytes,
      maxBytes: PART_BYTES,
    };
    this.#source.replay(request).then(
      (answer) => this.#answered(key, answer),
      () => this.#answered(key, undefined),
    );
  }

  #answered(key: string, part: ReplayPart | undefined): void {
    const waiting = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    // One that has nothing is asked for again: by then there may be more.
    if (part && part.first !== null && this.#places.size > 0) this.#keep(key, part);
    for (const place of waiting) {
      place.isWaiting = false;
      if (this.#places.get(place.subscriber) !== place) continue;
      if (part) this.#take(place, key, part);
      else this.#lost(place);
    }
    this.#askPostponed();
  }

  /** Whether as much is on its way, or there and not looked at yet, as may be. */
  get #isFull(): boolean {
    return this.#asked.size + this.#unseen.size >= MAX_ASKED;
  }

  #askPostponed(): void {
    // Whoever finds its part here, or on its way, needs no room: the next has it.
    while (this.#postponed.length > 0 && !this.#isFull) {
      const place = this.#postponed.shift() as Place;
      place.isWaiting = false;
      if (this.#places.get(place.subscriber) === place) this.#ask(place);
    }
  }

  #take(place: Place, key: string, part: ReplayPart): void {
    const { subscriber } = place;
    const { first } = part;
    if (first === null) {
      this.#lost(place);
    } else if (first > subscriber.cursor) {
      // What is missing begins where this stream stands, whatever the journal says of where it begins.
      place.key = undefined;
      this.#actions.missing(subscriber, part.firstIsGap ? first + 1 : first);
    } else {
      place.key = key;
      place.piece = 0;
      this.#queue(place);
      this.#unseen.add(key);
      this.#askAhead(subscriber, part.next);
    }
  }

  /** What comes after this part is read while this one is sent. */
  #askAhead({ group: { filter } }: Subscriber, next: number): void {
    if (this.#asked.size + this.#unseen.size >= MAX_ASKED / 2) return;
    if (this.#actions.isOnRing(next, filter)) return;
    const key = `${next} ${filter?.key ?? ''}`;
    if (!this.#parts.has(key) && !this.#asked.has(key)) {
      this.#request(key, next, filter?.key ?? null, []);
    }
  }

  #lost({ subscriber }: Place): void {
    this.remove(subscriber);
    this.#actions.lost(subscriber);
  }

  #keep(key: string, part: ReplayPart): void {
    this.#parts.set(key, part);
    this.#keptBytes += part.bytes.length;
    for (const [oldest, { bytes }] of this.#parts) {
      if (this.#keptBytes <= MAX_KEPT_BYTES || oldest === key) break;
      if (this.#unseen.has(oldest)) continue;
      this.#parts.delete(oldest);
      this.#keptBytes -= bytes.length;
    }
  }

  #touch(key: string, part: ReplayPart): void {
    this.#parts.delete(key);
    this.#parts.set(key, part);
  }

  #forget(): void {
    this.#parts.clear();
    this.#unseen.clear();
    this.#keptBytes = 0;
  }
}
