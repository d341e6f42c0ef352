// Runs in the bus thread. The answer of `GET /api/states` in a cluster: what the bots of all nodes were at a moment.

import type {
  Asked,
  BotState,
  PastStates,
  StatesRequest,
} from '../shared/contract/journal-messages.js';
import type { StatesQuestion } from './history-messages.js';
import { askAll, type HistoryNodes } from './history-nodes.js';

/** @throws DroverError when no node has answered. */
export async function mergedStates(
  nodes: Pick<HistoryNodes, 'of' | 'ask'>,
  { token, ...request }: Asked<StatesRequest>,
  cancelled?: AbortSignal,
): Promise<Uint8Array> {
  // The same moment for each of them.
  const at = Math.min(request.at, Date.now());
  const question: StatesQuestion = { kind: 'states', request: { ...request, at }, token };
  const { answers, missing } = await askAll<PastStates>(nodes, null, at, question, cancelled);
  const states = new Map<string, BotState>();
  for (const { node, answer } of answers) {
    for (const state of answer.states) {
      const other = states.get(state.id);
      // One that moved at that moment is where it came to last.
      if (!other || other.since_ms <= state.since_ms) states.set(state.id, { node, ...state });
    }
  }
  const known = answers.flatMap(({ answer }) => answer.known_from_ms ?? []);
  const merged: PastStates = {
    at_ms: at,
    // Of all: before that some are not known.
    known_from_ms: known.length === 0 ? null : Math.max(...known),
    is_in_gap: answers.some(({ answer }) => answer.is_in_gap),
    states: [...states.values()],
    unknown: [...new Set(answers.flatMap(({ answer }) => answer.unknown))].filter(
      (id) => !states.has(id),
    ),
    missing,
  };
  return Buffer.from(JSON.stringify(merged));
}
