// The answer of `GET /api/states`: what each bot was at a moment of the past.

import type { PastStates, StatesRequest } from '../shared/contract/journal-messages.js';
import { reaches } from '../shared/contract/rights.js';
import { DroverError } from '../shared/errors.js';
import { KIND_CODE } from '../shared/stream/frame.js';
import type { QueryParts } from './event-search.js';
import type { JournalReader } from './journal-reader.js';
import { Slices } from './slices.js';
import { botsIn, type KnownFrom, sinceOf, stateAt } from './state-table.js';

/** Longest search for one answer, in ms: two look-ups for each bot that the journal knows, of some 10 µs each. */
const STATES_MS = 5000;

/** Yields to other work. @throws DroverError `unavailable` when there are too many bots for one answer. */
export async function readStates(
  parts: QueryParts,
  { at, reach }: StatesRequest,
): Promise<PastStates> {
  const { reader, tables } = parts;
  const atMs = Math.min(at, Date.now());
  const known = knownFrom(parts);
  const answer: PastStates = {
    at_ms: atMs,
    known_from_ms: known?.ms ?? null,
    is_in_gap: false,
    states: [],
    unknown: [],
  };
  if (!known) return answer;
  const isBefore = atMs < known.ms;
  const seq = isBefore ? known.seq : lastUpTo(reader, atMs);
  answer.is_in_gap = !isBefore && isGap(reader, seq + 1);
  const end = performance.now() + STATES_MS;
  const slices = new Slices(parts);
  for (const key of botsIn(tables)) {
    const state = stateAt(tables, key, seq);
    if (state && reaches(reach, state.id, state.labels)) {
      // A state that began before the moment was the bot's state then, however far back the journal reaches.
      if (state.since_ms <= atMs) answer.states.push(state);
      else answer.unknown.push(state.id);
    }
    if (!slices.isOver) continue;
    if (performance.now() > end) {
      throw new DroverError('unavailable', 'the journal has too many bots for one answer');
    }
    await slices.turn();
  }
  return answer;
}

/** The oldest block and the table may begin at different times. */
function knownFrom({ reader, tables }: QueryParts): KnownFrom | undefined {
  const since = sinceOf(tables);
  const oldest = reader.oldest();
  if (!since || !oldest) return since;
  if (since.seq >= oldest.first) return since;
  return { seq: oldest.first, ms: oldest.lowest || oldest.clock };
}

/** The last frame that was there at this time. */
function lastUpTo(reader: JournalReader, ms: number): number {
  const head = reader.atTime(ms + 1);
  if (!head) return (reader.newest()?.next ?? 1) - 1;
  const block = reader.block(head);
  for (let seq = head.first; block && seq < block.next; seq++) {
    if (block.time(seq) > ms) return seq - 1;
  }
  return head.next - 1;
}

/** Whether frames are missing from this one on. */
function isGap(reader: JournalReader, seq: number): boolean {
  const head = reader.headFrom(seq);
  if (!head) return false;
  const block = reader.block(head);
  const first = Math.max(seq, head.first);
  return block?.kind(first) === KIND_CODE.gap;
}
