import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  HOST_STATES,
  type HostEvent,
  type HostState,
  isEnding,
  isUp,
  nextHostStep,
} from '../../../src/main/threads/host-life.js';

const EVENTS: readonly HostEvent[] = [
  'share',
  'reserve',
  'empty',
  'outdated',
  'overdue',
  'hang',
  'deadline',
  'stop',
  'fail',
  'exit',
];

/** Every pair of state and event that does anything. */
const EXPECTED: Record<string, string> = {
  'loading share': 'shared: offer',
  'loading reserve': 'reserved: ',
  'loading stop': 'ending: shutDown',
  'loading fail': 'lost: kill',
  'loading exit': 'gone: ',
  'shared outdated': 'ending: shutDown replaceAfterExit',
  'shared overdue': 'retiring: retire',
  'shared hang': 'stuck: examine',
  'shared stop': 'ending: shutDown',
  'shared fail': 'lost: kill reportLoss replace',
  'shared exit': 'gone: ',
  'reserved empty': 'ending: shutDown',
  'reserved overdue': 'retiring: retire',
  'reserved hang': 'stuck: examine',
  'reserved stop': 'ending: shutDown',
  'reserved fail': 'lost: kill reportLoss replace',
  'reserved exit': 'gone: ',
  'retiring empty': 'ending: shutDown replaceAfterExit',
  'retiring hang': 'stuck: examine',
  'retiring deadline': 'retiring: kill',
  'retiring stop': 'ending: shutDown',
  'retiring fail': 'lost: kill reportLoss replace',
  'retiring exit': 'gone: ',
  'stuck stop': 'ending: shutDown',
  'stuck fail': 'lost: kill reportLoss replace',
  'stuck exit': 'gone: ',
  'ending deadline': 'ending: kill',
  'ending fail': 'lost: kill',
  'ending exit': 'gone: ',
  'lost exit': 'gone: ',
};

const PAIRS = HOST_STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const));

describe('every state × event', () => {
  it.each(PAIRS)('%s × %s', (state, event) => {
    const { to, effects } = nextHostStep(state, event);
    expect(`${to}: ${effects.join(' ')}`).toBe(EXPECTED[`${state} ${event}`] ?? `${state}: `);
  });

  it('the expectations name states and events that exist', () => {
    expect(PAIRS.map((pair) => pair.join(' '))).toEqual(
      expect.arrayContaining(Object.keys(EXPECTED)),
    );
  });
});

describe('over any order of events', () => {
  it('a host that has had bots is reported lost or asked to end, once, and replaced at most once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 60 }), (events) => {
        let state: HostState = 'loading';
        const count = { ends: 0, replacements: 0 };
        for (const event of events) {
          const wasEnding = isEnding(state);
          const { to, effects } = nextHostStep(state, event);
          // There is no way back.
          if (wasEnding) expect(isEnding(to)).toBe(true);
          for (const effect of effects) {
            if (effect === 'shutDown' || effect === 'reportLoss') count.ends += 1;
            if (effect === 'replace' || effect === 'replaceAfterExit') count.replacements += 1;
          }
          state = to;
        }
        expect(count.ends).toBeLessThanOrEqual(1);
        expect(count.replacements).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });

  it('every state can be reached, and a thread that exits ends every one', () => {
    const reached = new Set<HostState>(['loading']);
    for (const state of reached)
      for (const event of EVENTS) reached.add(nextHostStep(state, event).to);
    expect([...reached].sort()).toEqual([...HOST_STATES].sort());
    for (const state of HOST_STATES) expect(nextHostStep(state, 'exit').to).toBe('gone');
  });

  it('bots are only on hosts that are up', () => {
    expect(HOST_STATES.filter(isUp)).toEqual(['shared', 'reserved', 'retiring', 'stuck']);
  });
});

it('docs/ARCHITECTURE.md shows these transitions', () => {
  const text = readFileSync(new URL('../../../docs/ARCHITECTURE.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split("## A host's life\n");
  const [, diagram = ''] = /```mermaid\n([\s\S]*?)```/.exec(section) ?? [];
  const shown = [...diagram.matchAll(/^ {2}(\w+) --> (\w+): (.+)$/gm)].flatMap(
    ([, from, to, events = '']) => events.split(', ').map((event) => `${from} ${event} ${to}`),
  );
  const moves = PAIRS.map(
    ([state, event]) => [state, event, nextHostStep(state, event).to] as const,
  )
    .filter(([from, , to]) => from !== to)
    // The exit of a thread ends every state, and is drawn once.
    .filter(([from, event]) => event !== 'exit' || isEnding(from));
  expect(shown.sort()).toEqual(moves.map((move) => move.join(' ')).sort());
});
