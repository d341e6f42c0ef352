// What bots of all nodes were at a moment: where they were last, and for a token only those that it reached there.

import { expect, it } from 'vitest';
import type { HistoryQuestion } from '../../../../src/cluster/bus/history-messages.js';
import { mergedStates } from '../../../../src/cluster/bus/merged-states.js';
import type { BotState, PastStates } from '../../../../src/shared/contract/journal-messages.js';
import { reaches } from '../../../../src/shared/contract/rights.js';
import type { Reach } from '../../../../src/shared/contract/tokens.js';

type Labels = Record<string, string>;
const A = { team: 'a' };
const B = { team: 'b' };

function state(id: string, labels: Labels, since_ms: number): BotState {
  const rest = { kind: 'k', desired: 'running', restarts: 0, host: 0 } as const;
  return { id, labels, since_ms, status: 'online', ...rest };
}

/** h1 was killed when it had `lost` and `came`: they have other labels since. */
const JOURNALS: Record<string, { states: BotState[]; unknown: BotState[] }> = {
  h1: {
    states: [state('lost', A, 10), state('came', B, 10), state('stays', A, 10)],
    unknown: [state('hidden', B, 99)],
  },
  h2: {
    states: [state('lost', B, 20), state('came', A, 20), state('other', B, 20)],
    unknown: [state('new', A, 99)],
  },
};

const nodes = {
  of: () => Object.keys(JOURNALS),
  async ask(questions: ReadonlyMap<string, HistoryQuestion>) {
    const answers = [...questions].map(([node, question]) => {
      if (question.kind !== 'states') throw new Error('not a question for states');
      const { at, reach } = question.request;
      const { states = [], unknown = [] } = JOURNALS[node] ?? {};
      const answer: PastStates = {
        at_ms: at,
        known_from_ms: 1,
        is_in_gap: false,
        states: states.filter((one) => reaches(reach, one.id, one.labels)),
        unknown: unknown.filter((one) => reaches(reach, one.id, one.labels)).map(({ id }) => id),
      };
      return { node, bytes: Buffer.from(JSON.stringify(answer)) };
    });
    return { answers, missing: [], faults: new Map() };
  },
};

async function read(reach: Reach): Promise<{ states: string[]; unknown: string[] }> {
  const body = await mergedStates(nodes, { at: 50, reach, token: 't' });
  const { states, unknown } = JSON.parse(Buffer.from(body).toString()) as PastStates;
  return { states: states.map(({ id, node }) => `${id} ${node}`).sort(), unknown: unknown.sort() };
}

it('has each bot where it was last', async () => {
  expect(await read(null)).toEqual({
    states: ['came h2', 'lost h2', 'other h2', 'stays h1'],
    unknown: ['hidden', 'new'],
  });
});

it('has for a token the bots that it reaches by what they were where they were last', async () => {
  expect(await read({ labels: A })).toEqual({ states: ['came h2', 'stays h1'], unknown: ['new'] });
  expect(await read({ bots: ['lost', 'hidden'] })).toEqual({
    states: ['lost h2'],
    unknown: ['hidden'],
  });
});
