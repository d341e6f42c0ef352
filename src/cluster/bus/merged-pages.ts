// Runs in the bus thread. The pages of `GET /api/events` in a cluster: asks the nodes for theirs, and merges them by time.
//
// A page continues each node where its last one ended, so a cursor has a place for each node. All pages of a request have the same cut,
// a number of the stream of the cluster: what comes after it is on the stream of a client that resumes from the newest event.

import { setImmediate } from 'node:timers/promises';
import type {
  Asked,
  MissingNode,
  Page,
  PageRequest,
} from '../../shared/contract/journal-messages.js';
import { DroverError } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import { nodesOfKey } from '../../shared/stream/filter.js';
import { eventId, gapJson } from '../../shared/stream/frame.js';
import type { PageQuestion } from './history-messages.js';
import { type HistoryNodes, type Outcome, readAnswers } from './history-nodes.js';
import { type Cursor, decodeCursor, encodeCursor } from './merged-cursor.js';
import { StampedLines } from './stamped-lines.js';

export interface MergedPagesParts {
  nodes: Pick<HistoryNodes, 'of' | 'ask'>;
  /** The stream of the cluster as this node has read it: the next number, and the sequence of the last message. */
  position: () => { epoch: string; next: number; seq: number };
}

/** Merges that are ready wait for each other. Fewer requests than may wait here are admitted (bus-history.ts). */
const TURNS = { permits: 1, maxQueued: 1000 };

export class MergedPages {
  readonly #parts: MergedPagesParts;
  readonly #turns = new Semaphore(TURNS);

  constructor(parts: MergedPagesParts) {
    this.#parts = parts;
  }

  /**
   * @throws DroverError `bad_request` for a cursor that is not one of this stream; what a node has thrown when none has answered.
   */
  async page(request: Asked<PageRequest>, cancelled?: AbortSignal): Promise<Page> {
    const { epoch, next, seq } = this.#parts.position();
    const { cursor = null, cut = null } = request.merged ?? {};
    const from = cursor === null ? null : decodeCursor(cursor, epoch, request.order);
    const until = cut ?? (request.order === 'newest' ? from?.cut : undefined) ?? next;
    const { nodes, key } = request.filter === null ? ALL : nodesOfKey(request.filter);
    const asked = this.#parts.nodes.of(nodes, request.afterMs);
    const questions = new Map<string, PageQuestion>();
    for (const node of asked) {
      const at = from?.at[node];
      if (at !== null) questions.set(node, question(request, { epoch, seq, key, until, from, at }));
    }
    const answered = await this.#parts.nodes.ask(questions, cancelled);
    return this.#turns.run(async () => {
      // One merge in a turn of the event loop: several that are ready together would hold up the stream for their sum.
      await setImmediate();
      return merged(request, answered, { epoch, until, from });
    }, cancelled);
  }
}

/** @throws what a node has thrown when none has answered. */
function merged(
  request: Asked<PageRequest>,
  answered: Outcome,
  { epoch, until, from }: { epoch: string; until: number; from: Cursor | null },
): Page {
  const { answers, missing, faults } = readAnswers(answered, (bytes) => new StampedLines(bytes));
  if (answers.length === 0 && missing.length > 0) {
    throw faults.values().next().value ?? new DroverError('unavailable', 'no node answers');
  }
  const { order } = request;
  const lists = answers.map(({ answer }) => answer);
  const events = from === null ? forgotten(lists, request, epoch) : [];
  const ms = merge(lists, request, events) ?? from?.ms ?? null;
  const places = answers.map(({ node, answer }) => [node, answer.place(order)] as const);
  const hasMore = places.some(([, at]) => at !== null);
  const at = { ...from?.at, ...Object.fromEntries(places) };
  const following = hasMore ? encodeCursor({ epoch, order, cut: until, at, ms }) : null;
  return {
    body: bodyOf(events, request.lines, following, missing),
    count: events.length,
    cursor: null,
    end: 0,
    merged: { cursor: following, cut: until, missing },
  };
}

const ALL = { nodes: null, key: null };
const COMMA = Buffer.from(',');
const NEWLINE = Buffer.from('\n');

function question(
  request: Asked<PageRequest>,
  {
    epoch,
    seq,
    key,
    until,
    from,
    at,
  }: {
    epoch: string;
    seq: number;
    key: string | null;
    until: number;
    from: Cursor | null;
    at: number | undefined;
  },
): PageQuestion {
  const { order, afterSeq, beforeSeq, limit, maxBytes, token } = request;
  let { afterMs, beforeMs } = request;
  // The node has not answered before: what it has of the time of earlier pages is left out, which was said of them.
  if (from && at === undefined && from.ms !== null) {
    if (order === 'newest') beforeMs = Math.min(beforeMs ?? from.ms + 1, from.ms + 1);
    else afterMs = Math.max(afterMs ?? from.ms, from.ms);
  }
  return {
    kind: 'page',
    request: { filter: key, order, afterMs, beforeMs, limit, maxBytes },
    token,
    epoch,
    after: afterSeq,
    before: Math.min(beforeSeq ?? until, until),
    seq,
    at: at ?? null,
  };
}

/** Events after the client's position that a node has removed since are declared as one gap, as a single service does. */
function forgotten(
  lists: readonly StampedLines[],
  request: PageRequest,
  epoch: string,
): Uint8Array[] {
  const { order, afterSeq } = request;
  if (order !== 'oldest' || afterSeq === null) return [];
  const end = Math.max(0, ...lists.map(({ head }) => head.forgottenBelow));
  if (end <= afterSeq + 1) return [];
  const [from, to] = [eventId(epoch, afterSeq + 1), eventId(epoch, end - 1)];
  return [Buffer.from(`{"id":"${to}","event":"gap","data":${gapJson(from, to, null)}}`)];
}

/**
 * Takes events from the lists in the order of their times, to the end of the page, or of a list that its node has not searched to the
 * end: what comes after that is not known. @returns the time of the last one, null when there is none.
 */
function merge(
  lists: readonly StampedLines[],
  request: PageRequest,
  events: Uint8Array[],
): number | null {
  const sign = request.order === 'newest' ? -1 : 1;
  let bytes = 0;
  let last: number | null = null;
  while (events.length < request.limit && bytes < request.maxBytes) {
    let next: StampedLines | null = null;
    for (const list of lists) {
      if (list.ms === null) {
        if (list.head.at !== null) return last;
        continue;
      }
      const best = next?.ms ?? null;
      if (best === null || sign * (list.ms - best) < 0) next = list;
    }
    if (!next) return last;
    last = next.ms;
    const json = next.take();
    events.push(json);
    bytes += json.length;
  }
  return last;
}

function bodyOf(
  events: readonly Uint8Array[],
  lines: boolean,
  cursor: string | null,
  missing: readonly MissingNode[],
): Buffer {
  if (lines) return Buffer.concat(events.flatMap((json) => [json, NEWLINE]));
  const rest = `],"cursor":${JSON.stringify(cursor)},"missing":${JSON.stringify(missing)}}`;
  const list = events.flatMap((json, at) => (at === 0 ? [json] : [COMMA, json]));
  return Buffer.concat([Buffer.from('{"events":['), ...list, Buffer.from(rest)]);
}
