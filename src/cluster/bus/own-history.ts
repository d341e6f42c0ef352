// Runs in the bus thread. Answers what nodes ask about the past of this one, this one included, from its journal. The journal numbers
// events as the node's own stream does; the table of places says which number each has in the stream of the cluster.

import type { Page } from '../../shared/contract/journal-messages.js';
import type { Rpc } from '../../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { eventId } from '../../shared/stream/frame.js';
import { BlockWriter } from './block-writer.js';
import {
  type FramesAnswerHead,
  type FramesQuestion,
  type HistoryQuestion,
  MAX_BLOCKS,
  type PageAnswerHead,
  type PageQuestion,
  withHead,
} from './history-messages.js';
import type { PositionMap } from './position-map.js';
import { type ReplayedFrame, readFrames } from './replayed-frames.js';
import { lineFrom } from './stamped-lines.js';

/** How long it waits until this node has read what the one who asks has read, in ms. */
const READ_MS = 2000;
const PIECE_BYTES = 256 * 1024;

export interface OwnHistoryParts {
  node: string;
  incarnation: string;
  /** Epoch of the node's own stream. */
  ownEpoch: string;
  /** Epoch of the cluster's stream as this node has it; undefined while there is none. */
  epoch: () => string | undefined;
  places: PositionMap;
  /** Off, it has no past; else a journal that is missing comes back. */
  hasJournal: boolean;
  /** @throws DroverError `unavailable` when there is none. */
  journal: () => Pick<Rpc<never, JournalFrontMethods>, 'call' | 'cancellableCall'>;
  /** Resolves with false when this node has not read so far in time, or does not know yet where all its frames are. */
  readUpTo: (seq: number, withinMs: number) => Promise<boolean>;
  /** Own frames from this number on are not on the stream yet, as far as this node knows. */
  pendingFrom: () => number;
  /** The first own frame that the journal has; null when that is not known. */
  oldest: () => Promise<number | null>;
}

export class OwnHistory {
  readonly #parts: OwnHistoryParts;

  constructor(parts: OwnHistoryParts) {
    this.#parts = parts;
  }

  /** @throws DroverError */
  async answer(question: HistoryQuestion, cancelled?: AbortSignal): Promise<Uint8Array> {
    if (question.kind === 'page') return this.#page(question, cancelled);
    if (question.kind === 'frames') return this.#frames(question);
    const journal = this.#parts.journal();
    const { token } = question;
    switch (question.kind) {
      case 'states':
        return (await journal.call('states', { ...question.request, token })).body;
      case 'field-history':
        return (await journal.call('fieldHistory', { ...question.request, token })).body;
      case 'stats':
      case 'counts':
        return (await journal.call('stats', { ...question.request, token })).body;
      default:
        throw new DroverError('unavailable', 'it does not know this question: upgrade it');
    }
  }

  async #page(question: PageQuestion, cancelled?: AbortSignal): Promise<Uint8Array> {
    const { request, epoch, token, seq } = question;
    const { places, journal } = this.#parts;
    this.#expectEpoch(epoch);
    if (!(await this.#parts.readUpTo(seq, READ_MS))) {
      throw new DroverError('unavailable', 'it is behind the stream of the cluster');
    }
    const bounds = this.#bounds(question);
    let forgottenBelow = places.forgottenBelow(epoch);
    if (question.after !== null && bounds.afterSeq !== null && request.order === 'oldest') {
      // The journal would declare what it has removed as a gap in its own numbering.
      const oldest = (await this.#parts.oldest()) ?? 0;
      if (oldest > bounds.afterSeq + 1) {
        const removed = this.#numberFrom(epoch, question.after, oldest);
        forgottenBelow = Math.max(forgottenBelow, removed ?? 0);
        bounds.afterSeq = oldest - 1;
      }
    }
    if (bounds.beforeSeq <= (bounds.afterSeq ?? -1) + 1) {
      return withHead({ at: null, forgottenBelow } satisfies PageAnswerHead);
    }
    const asked = { ...request, ...bounds, lines: true, isStamped: true, token };
    const page: Page = await (cancelled
      ? journal().cancellableCall('page', asked, cancelled)
      : journal().call('page', asked));
    const head: PageAnswerHead = { at: page.cursor, forgottenBelow };
    return withHead(head, ...this.#renumbered(page.body));
  }

  /** Frames of this node after `after` and below `own` have lower numbers than this; null when there are none after it. */
  #numberFrom(epoch: string, after: number, own: number): number | null {
    let end: number | null = null;
    for (const run of this.#parts.places.from(epoch, after + 1)) {
      if (run.own + run.count > own) return run.number + Math.max(0, own - run.own);
      end = run.number + run.count;
    }
    return end;
  }

  /** The bounds in the node's own numbering. What is not on the stream yet comes on it later, and is no past. */
  #bounds({ request, epoch, after, before, at }: PageQuestion): {
    afterSeq: number | null;
    beforeSeq: number;
  } {
    const { places, pendingFrom } = this.#parts;
    const pending = pendingFrom();
    const ownFrom = (number: number): number => places.ownFrom(epoch, number) ?? pending;
    const isDown = request.order === 'newest';
    const lows = [after === null ? null : ownFrom(after + 1) - 1, isDown ? null : at];
    const known = lows.filter((low) => low !== null);
    const beforeSeq = Math.min(
      pending,
      before === null ? pending : (places.ownBefore(epoch, before) ?? pending),
      isDown && at !== null ? at : pending,
    );
    return { afterSeq: known.length === 0 ? null : Math.max(...known), beforeSeq };
  }

  /** Lines of a page, in pieces, with the ids of the cluster where events have one. */
  #renumbered(body: Uint8Array): Uint8Array[] {
    const { places, ownEpoch } = this.#parts;
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const pieces: Uint8Array[] = [];
    let done = 0;
    for (let line = lineFrom(bytes, 0); line; line = lineFrom(bytes, line.end + 1)) {
      const { seq, start } = line;
      const place = places.of(seq);
      const own = beginsWith(eventId(ownEpoch, seq));
      if (!place || bytes.toString('latin1', start, start + own.length) !== own) continue;
      const shown = beginsWith(eventId(place.epoch, place.number));
      pieces.push(bytes.subarray(done, start), Buffer.from(shown));
      done = start + own.length;
    }
    return [...pieces, bytes.subarray(done)];
  }

  async #frames({ epoch, from, maxBytes }: FramesQuestion): Promise<Uint8Array> {
    this.#expectEpoch(epoch);
    // Without an answer the one who resumes would wait for this node.
    if (!this.#parts.hasJournal) {
      return withHead({ blocks: [], upTo: null } satisfies FramesAnswerHead);
    }
    const blocks = new Blocks(this.#parts);
    const reader = new JournalFrames(this.#parts.journal());
    let left = maxBytes;
    let upTo: number | null = null;
    for (const run of this.#parts.places.from(epoch, from)) {
      const end = run.own + run.count;
      let own = run.own + Math.max(0, from - run.number);
      while (own < end && left > 0 && blocks.list.length < MAX_BLOCKS) {
        const frame = await reader.from(own);
        const next = Math.min(frame?.seq ?? end, end);
        // A block has no holes: what the journal has lost ends it.
        if (frame && next === own) {
          left -= frame.json.length;
          blocks.add(run.number + own - run.own, frame);
          own += 1;
        } else {
          blocks.end();
          own = next;
        }
      }
      blocks.end();
      if (left > 0 && blocks.list.length < MAX_BLOCKS) continue;
      upTo = run.number + own - run.own;
      break;
    }
    const head: FramesAnswerHead = { blocks: blocks.list, upTo };
    return withHead(head, ...blocks.bytes);
  }

  #expectEpoch(epoch: string): void {
    if (epoch !== this.#parts.epoch()) {
      throw new DroverError('unavailable', 'it has another stream of the cluster');
    }
  }
}

/** The beginning of an event's JSON. */
function beginsWith(id: string): string {
  return `{"id":"${id}"`;
}

/** Frames as blocks, each of frames that follow each other in both numberings. */
class Blocks {
  readonly list: FramesAnswerHead['blocks'] = [];
  readonly bytes: Uint8Array[] = [];
  readonly #parts: OwnHistoryParts;
  readonly #writer = new BlockWriter();
  #first = 0;
  #own = 0;

  constructor(parts: OwnHistoryParts) {
    this.#parts = parts;
  }

  /** @param number of the cluster. */
  add(number: number, { seq, kind, level, session, scope, json }: ReplayedFrame): void {
    if (this.#writer.isFull) this.end();
    if (this.#writer.count === 0) {
      this.#first = number;
      this.#own = seq;
    }
    this.#writer.add(kind, level, session, scope, json);
  }

  end(): void {
    const { count } = this.#writer;
    if (count === 0) return;
    const { node, incarnation, ownEpoch: epoch } = this.#parts;
    const bytes = this.#writer.finish({
      node,
      incarnation,
      type: 'frames',
      epoch,
      first: this.#own,
      next: this.#own + count,
      at: { seq: 0, total: 0 },
    });
    this.bytes.push(bytes);
    this.list.push({ first: this.#first, bytes: bytes.length });
  }
}

/** Reads ahead in the journal. */
class JournalFrames {
  readonly #journal: ReturnType<OwnHistoryParts['journal']>;
  #frames: ReplayedFrame[] = [];
  #at = 0;

  constructor(journal: ReturnType<OwnHistoryParts['journal']>) {
    this.#journal = journal;
  }

  /** The frame with this number, or the first after it; null when there is none. */
  async from(seq: number): Promise<ReplayedFrame | null> {
    for (let from = seq; ; ) {
      while (this.#at < this.#frames.length) {
        const frame = this.#frames[this.#at] as ReplayedFrame;
        if (frame.seq >= seq) return frame;
        this.#at += 1;
      }
      const request = { from, filter: null, pieceBytes: PIECE_BYTES, maxBytes: PIECE_BYTES };
      const part = await this.#journal.call('replay', request);
      this.#frames = readFrames(part.bytes);
      this.#at = 0;
      // Without frames, those that it has begin at `next`.
      if (part.first === null || (this.#frames.length === 0 && part.next <= from)) return null;
      from = part.next;
    }
  }
}
