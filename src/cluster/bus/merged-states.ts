// Runs in the bus thread. The answer of `GET /api/states` in a cluster: what the bots of all nodes were at a moment.

import type {
  Asked,
  BotState,
  PastStates,
  StatesRequest,
} from '../../shared/contract/journal-messages.js';
import { reaches } from '../../shared/contract/rights.js';
import type { StatesQuestion } from './history-messages.js';
import { askAll, type HistoryNodes } from './history-nodes.js';

type Nodes = Pick<HistoryNodes, 'of' | 'ask'>;

/** @throws DroverError when no node has answered. */
export async function mergedStates(
  nodes: Nodes,
  { token, ...request }: Asked<StatesRequest>,
  cancelled?: AbortSignal,
): Promise<Uint8Array> {
  // The same moment for each of them.
  const at = Math.min(request.at, Date.now());
  const { reach } = request;
  const ask = (asked: StatesRequest['reach']): ReturnType<typeof askAll<PastStates>> => {
    const question: StatesQuestion = { kind: 'states', request: { at, reach: asked }, token };
    return askAll<PastStates>(nodes, null, at, question, cancelled);
  };
  const isByLabels = reach !== null && 'labels' in reach;
  // A node from which a bot was taken has its labels of then. Where the bot is it may have others: that is the one that counts. Of what
  // is not known there are no labels, so the nodes say which of it the token reaches.
  const [{ answers, missing }, limited] = await Promise.all([
    ask(isByLabels ? null : reach),
    isByLabels ? ask(reach) : null,
  ]);
  const states = new Map<string, BotState>();
  for (const { node, answer } of answers) {
    for (const state of answer.states) {
      const other = states.get(state.id);
      // One that moved at that moment is where it came to last.
      if (!other || other.since_ms <= state.since_ms) states.set(state.id, { node, ...state });
    }
  }
  const known = answers.flatMap(({ answer }) => answer.known_from_ms ?? []);
  const unknown = (limited?.answers ?? answers).flatMap(({ answer }) => answer.unknown);
  const merged: PastStates = {
    at_ms: at,
    // Of all: before that some are not known.
    known_from_ms: known.length === 0 ? null : Math.max(...known),
    is_in_gap: answers.some(({ answer }) => answer.is_in_gap),
    states: [...states.values()].filter(({ id, labels }) => reaches(reach, id, labels)),
    unknown: [...new Set(unknown)].filter((id) => !states.has(id)),
    missing,
  };
  return Buffer.from(JSON.stringify(merged));
}
