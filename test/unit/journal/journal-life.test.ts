import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  EVENTS,
  type LifeEvent,
  type LifeState,
  STATES,
  transition,
} from '../../../src/journal/journal-life.js';

/** Every state and event that changes something; all other pairs are ignored. */
const EXPECTED: Record<LifeState, Partial<Record<LifeEvent, [to: LifeState, effects: string]>>> = {
  opening: {
    opened: ['on', 'resetPause reportOn wake'],
    openFailed: ['waiting', 'reportFailure startPause'],
    corrupted: ['waiting', 'distrustFile reportFailure startPause'],
    close: ['closing', 'stop'],
  },
  on: {
    writeFailed: ['reopening', 'reopen reportFailure'],
    corrupted: ['reopening', 'distrustFile closeFile reportFailure'],
    foundBroken: ['replacing', 'replaceBroken'],
    fileMissing: ['replacing', 'replaceMissing'],
    close: ['closing', 'stop'],
  },
  replacing: {
    opened: ['on', 'resetPause reportOn wake'],
    openFailed: ['waiting', 'reportFailure startPause'],
    corrupted: ['waiting', 'distrustFile reportFailure startPause'],
    close: ['closing', 'stop'],
  },
  reopening: {
    reopened: ['stalled', 'startPause'],
    closed: ['waiting', 'startPause'],
    close: ['closing', 'stop'],
  },
  stalled: {
    retryDue: ['stalled', 'write'],
    written: ['on', 'resetPause reportRecovery wake'],
    writeFailed: ['reopening', 'reopen reportFailure'],
    corrupted: ['reopening', 'distrustFile closeFile reportFailure'],
    close: ['closing', 'stop'],
  },
  waiting: {
    retryDue: ['retrying', 'lengthenPause open'],
    close: ['closing', 'stop'],
  },
  retrying: {
    opened: ['on', 'resetPause reportOn wake'],
    openFailed: ['waiting', 'reportFailure startPause'],
    corrupted: ['waiting', 'distrustFile reportFailure startPause'],
    close: ['closing', 'stop'],
  },
  closing: {},
};

const cells = STATES.flatMap((state) => EVENTS.map((event) => ({ state, event })));

it.each(cells)('$state × $event', ({ state, event }) => {
  const { to, effects } = transition(state, event);
  const expected = EXPECTED[state][event] ?? [state, ''];
  expect([to, effects.join(' ')]).toEqual(expected);
});

it('closes from every state, and nothing follows', () => {
  for (const state of STATES) expect(transition(state, 'close').to).toBe('closing');
  for (const event of EVENTS) {
    expect(transition('closing', event)).toEqual({ to: 'closing', effects: [] });
  }
});

/** The states that can be reached from this one without closing. */
function reachable(from: LifeState): Set<LifeState> {
  const seen = new Set([from]);
  for (const state of seen) {
    for (const event of EVENTS) if (event !== 'close') seen.add(transition(state, event).to);
  }
  return seen;
}

it('recovers from every failure, and waits before each new attempt', () => {
  for (const state of STATES) if (state !== 'closing') expect(reachable(state)).toContain('on');
  for (const { state, event } of cells) {
    const { to, effects } = transition(state, event);
    const isPausing = (to === 'stalled' || to === 'waiting') && to !== state;
    expect(effects.includes('startPause'), `${state} × ${event}`).toBe(isPausing);
  }
});

it('is drawn in docs/ARCHITECTURE.md as it is', () => {
  const page = readFileSync('docs/ARCHITECTURE.md', 'utf8');
  const section = page.slice(page.indexOf("### The journal's life"));
  const diagram = section.slice(section.indexOf('```mermaid'), section.indexOf('\n```\n'));
  const drawn = [...diagram.matchAll(/^ +(\w+) --> (\w+): (.+)$/gm)].flatMap(
    ([, from, to, events = '']) => events.split(', ').map((event) => `${from} ${event} ${to}`),
  );
  const known = cells.flatMap(({ state, event }) => {
    const { to, effects } = transition(state, event);
    // `close` leads from everywhere to the same state: the text says so.
    const isDrawn = event !== 'close' && (to !== state || effects.length > 0);
    return isDrawn ? [`${state} ${event} ${to}`] : [];
  });
  expect(drawn.sort()).toEqual(known.sort());
});
