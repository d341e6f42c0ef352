import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BOT_STATES,
  type BotEffect,
  type BotEvent,
  type BotHold,
  type BotState,
  type HoldEvent,
  nextHold,
  nextStep,
} from '../../../src/main/bots/bot-life.js';

const EVENTS: readonly BotEvent[] = [
  'show',
  'launch',
  'queue',
  'placed',
  'announced',
  'launchFailed',
  'ended',
  'rest',
  'giveUp',
  'retry',
  'hold',
  'waitOver',
  'idle',
  'halt',
  'halted',
  'delete',
  'leave',
];

/** Every pair of state and event that does anything. */
const EXPECTED: Record<string, string> = {
  'stopped show': 'stopped: announce',
  'stopped launch': 'placing: launch',
  'stopped queue': 'queued: wait announce',
  'queued waitOver': 'placing: launch',
  'queued launch': 'placing: cancelWait launch',
  'queued queue': 'queued: cancelWait wait',
  'queued placed': 'queued: returnPlace',
  'queued halt': 'stopped: cancelWait announce',
  'stopped placed': 'stopped: returnPlace',
  'stopped giveUp': 'failed: announce',
  'stopped delete': 'deleted: announce',
  'stopped leave': 'moved: announce',
  'placing placed': 'announcing: occupy announce',
  'placing launchFailed': 'ended: decide',
  'placing halt': 'stopped: announce',
  'announcing placed': 'announcing: returnPlace',
  'announcing announced': 'running: run',
  'announcing launchFailed': 'ended: release decide',
  'announcing ended': 'ended: release decide',
  'announcing halt': 'stopping: stop',
  'running placed': 'running: returnPlace',
  'running launchFailed': 'ended: release decide',
  'running ended': 'ended: release decide',
  'running halt': 'stopping: stop',
  'stopping placed': 'stopping: returnPlace',
  'stopping ended': 'stopping: release',
  'stopping halt': 'stopping: stop',
  'stopping halted': 'stopped: release announce',
  'ended placed': 'ended: returnPlace',
  'ended rest': 'stopped: announce',
  'ended giveUp': 'failed: announce',
  'ended hold': 'held: announce',
  'ended retry': 'backoff: wait announce',
  'backoff placed': 'backoff: returnPlace',
  'backoff waitOver': 'due: ',
  'backoff launch': 'placing: cancelWait launch',
  'backoff queue': 'queued: cancelWait wait announce',
  'backoff halt': 'stopped: cancelWait announce',
  'due placed': 'due: returnPlace',
  'due idle': 'placing: countRestart launch',
  'due launch': 'placing: launch',
  'due queue': 'queued: wait announce',
  'due halt': 'stopped: announce',
  'failed placed': 'failed: returnPlace',
  'failed launch': 'placing: launch',
  'failed queue': 'queued: wait announce',
  'failed halt': 'stopped: announce',
  'held placed': 'held: returnPlace',
  'held launch': 'placing: launch',
  'held queue': 'queued: wait announce',
  'held halt': 'stopped: announce',
  'deleted placed': 'deleted: returnPlace',
  'moved placed': 'moved: returnPlace',
};

/** What differs while the service shuts down. */
const EXPECTED_CLOSING: Record<string, string | undefined> = {
  'placing placed': 'placing: returnPlace',
  'placing launchFailed': undefined,
  'announcing announced': undefined,
  'announcing launchFailed': undefined,
  'running launchFailed': undefined,
  'due idle': undefined,
};

const PAIRS = BOT_STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const));

describe('every state × event', () => {
  it.each(PAIRS)('%s × %s', (state, event) => {
    for (const closing of [false, true]) {
      const { to, effects } = nextStep(state, event, closing);
      const name = `${state} ${event}`;
      const own = closing && name in EXPECTED_CLOSING ? EXPECTED_CLOSING[name] : EXPECTED[name];
      expect(`${to}: ${effects.join(' ')}`).toBe(own ?? `${state}: `);
    }
  });

  it('the expectations name states and events that there are', () => {
    const known = PAIRS.map((pair) => pair.join(' '));
    expect(known).toEqual(expect.arrayContaining(Object.keys(EXPECTED)));
    expect(known).toEqual(expect.arrayContaining(Object.keys(EXPECTED_CLOSING)));
  });

  it('an effect that needs something is only caused by an event that brings it', () => {
    const bringers: Partial<Record<BotEffect, BotEvent[]>> = {
      occupy: ['placed'],
      returnPlace: ['placed'],
      run: ['announced'],
      stop: ['halt'],
      decide: ['ended', 'launchFailed'],
      wait: ['retry', 'queue'],
    };
    for (const [state, event] of PAIRS) {
      for (const effect of nextStep(state, event, false).effects) {
        expect(bringers[effect] ?? [event], `${effect} in ${state} × ${event}`).toContain(event);
      }
    }
  });

  it('an effect that reports a later event comes last', () => {
    for (const [state, event] of PAIRS) {
      const { effects } = nextStep(state, event, false);
      for (const effect of effects.slice(0, -1)) {
        expect(['launch', 'stop', 'decide', 'run']).not.toContain(effect);
      }
    }
  });
});

/** What the effects have done to the bot's surroundings. */
interface Surroundings {
  state: BotState;
  hasHost: boolean;
  isWaiting: boolean;
  runs: number;
}

function apply(now: Surroundings, event: BotEvent, closing: boolean): Surroundings {
  const { to, effects } = nextStep(now.state, event, closing);
  const next = { ...now, state: to };
  if (event === 'waitOver') next.isWaiting = false;
  for (const effect of effects) {
    if (effect === 'occupy') {
      expect(next.hasHost, 'a second host').toBe(false);
      next.hasHost = true;
    }
    if (effect === 'release') next.hasHost = false;
    if (effect === 'wait') {
      expect(next.isWaiting, 'a second timer').toBe(false);
      next.isWaiting = true;
    }
    if (effect === 'cancelWait') next.isWaiting = false;
    if (effect === 'run') next.runs += 1;
  }
  return next;
}

const anyEvents = fc.array(fc.constantFrom(...EVENTS), { maxLength: 60 });
const start: Surroundings = { state: 'stopped', hasHost: false, isWaiting: false, runs: 0 };

describe('over any order of events', () => {
  it('a host is held only by a bot that starts, runs or stops; it waits only in backoff or in the queue', () => {
    fc.assert(
      fc.property(anyEvents, fc.boolean(), (events, closing) => {
        let now = start;
        for (const event of events) {
          // The timer fires only while it runs.
          if (event === 'waitOver' && !now.isWaiting) continue;
          now = apply(now, event, closing);
          if (['announcing', 'running'].includes(now.state)) expect(now.hasHost).toBe(true);
          else if (now.state !== 'stopping') expect(now.hasHost).toBe(false);
          expect(now.isWaiting).toBe(now.state === 'backoff' || now.state === 'queued');
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('nothing is run once the service shuts down', () => {
    fc.assert(
      fc.property(anyEvents, anyEvents, (before, after) => {
        let now = start;
        for (const event of before) now = apply({ ...now, isWaiting: false }, event, false);
        const { runs } = now;
        for (const event of after) now = apply({ ...now, isWaiting: false }, event, true);
        expect(now.runs).toBe(runs);
      }),
    );
  });

  it('every state but `deleted` and `moved` leads to `stopped`, and every state can be reached', () => {
    const reached = new Set<BotState>(['stopped']);
    for (const state of reached) {
      for (const event of EVENTS) reached.add(nextStep(state, event, false).to);
    }
    expect([...reached].sort()).toEqual([...BOT_STATES].sort());
    for (const state of BOT_STATES) {
      if (state === 'deleted' || state === 'moved') continue;
      let now: BotState = state;
      if (now === 'ended') now = nextStep(now, 'giveUp', true).to;
      now = nextStep(now, 'halt', true).to;
      now = nextStep(now, 'halted', true).to;
      expect(now).toBe('stopped');
    }
  });
});

it('the diagram in docs/ARCHITECTURE.md has every transition', () => {
  const page = readFileSync(new URL('../../../docs/ARCHITECTURE.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith("A bot's life")) ?? '';
  const drawn = [...section.matchAll(/^ +(\w+) --> (\w+): (.+)$/gm)].flatMap(
    ([, from, to, events]) =>
      (events as string).split(', ').map((event) => `${from} ${event} ${to}`),
  );
  const real = PAIRS.flatMap(([state, event]) => {
    const { to } = nextStep(state, event, false);
    return to === state ? [] : [`${state} ${event} ${to}`];
  });
  expect(drawn.sort()).toEqual(real.sort());
});

describe('what keeps a bot from running', () => {
  const after = (...events: HoldEvent[]): BotHold => events.reduce(nextHold, 'free' as BotHold);

  it.each<[HoldEvent[], BotHold]>([
    [[], 'free'],
    [['keep'], 'kept'],
    [['keep', 'allow'], 'free'],
    [['interrupt'], 'suspended'],
    [['keep', 'interrupt'], 'kept'],
    [['keep', 'postpone'], 'suspended'],
    [['interrupt', 'keep'], 'suspended'],
    [['interrupt', 'allow'], 'resuming'],
    [['interrupt', 'allow', 'resumed'], 'free'],
    [['interrupt', 'allow', 'keep'], 'suspended'],
    [['interrupt', 'allow', 'interrupt'], 'suspended'],
    [['interrupt', 'allow', 'keep', 'resumed'], 'suspended'],
    [['interrupt', 'leave'], 'kept'],
    [['interrupt', 'allow', 'leave'], 'kept'],
    [['interrupt', 'close', 'allow', 'keep'], 'closing'],
  ])('after %j it is %s', (events, hold) => {
    expect(after(...events)).toBe(hold);
  });
});
