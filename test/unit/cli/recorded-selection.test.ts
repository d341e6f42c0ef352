import { describe, expect, it } from 'vitest';
import { type FilterFlags, filterOf } from '../../../src/cli/flags/filter-flags.js';
import { recordedSelection } from '../../../src/cli/recording/recorded-selection.js';
import type { BotSnapshot, StreamEvent } from '../../../src/client/index.js';
import { selectionOf } from '../../../src/shared/query/selection.js';

const bot = (id: string, over: Partial<BotSnapshot> = {}): BotSnapshot => ({
  id,
  kind: 'demo',
  status: 'in_world',
  desired: 'running',
  since_ms: 1,
  started_at_ms: 1,
  restarts: 0,
  host: 0,
  last_error: null,
  labels: {},
  data: {},
  usage: null,
  over_quota: [],
  ...over,
});
const session = (snapshot: BotSnapshot): StreamEvent => ({
  event: 'session',
  id: 'e-1',
  data: { snapshot },
});
const log = (id: string | null, level: 'info' | 'warn' = 'info'): StreamEvent => ({
  event: 'log',
  id: 'e-2',
  data: {
    timestamp_ms: 1,
    level,
    scope: 'bot',
    session_id: id,
    transport: null,
    direction: null,
    message: 'x',
  },
});
const gap: StreamEvent = { event: 'gap', id: 'e-3', data: { from: 'a', to: 'b', dropped: 1 } };

/** Which of the events are selected, as a pattern of 1 and 0. */
const selected = (flags: FilterFlags, events: readonly StreamEvent[]) =>
  events.map(selecting(flags)).map(Number).join('');
const selecting = (flags: FilterFlags) =>
  recordedSelection(selectionOf(Object.entries(filterOf(flags)), 'lines'));

describe('the selection of a recording', () => {
  it('is everything without flags', () => {
    expect(selected({}, [log(null), log('a'), gap])).toBe('111');
  });

  it('is what has one value of each flag', () => {
    const flags: FilterFlags = { event: ['log'], level: ['warn'], bot: ['a', 'b'], scope: ['bot'] };
    const events = [log('a', 'warn'), log('a'), log('c', 'warn'), session(bot('a')), gap];
    expect(selected(flags, events)).toBe('10001');
  });

  it('knows the bots by their latest snapshots, those that come later too', () => {
    const mine = bot('a', { labels: { team: 'a' } });
    expect(
      selected({ label: ['team=a'] }, [
        log('a'),
        session(mine),
        log('a'),
        log('b'),
        log(null),
        gap,
        session(bot('a', { labels: {} })),
        log('a'),
      ]),
    ).toBe('01100110');
    expect(
      selected({ status: ['failed'] }, [
        log('a'),
        session(bot('a', { status: 'failed' })),
        log('a'),
      ]),
    ).toBe('011');
    const seen = [session(bot('a')), log('a'), log('a', 'warn')];
    expect(selected({ kind: ['demo'], event: ['session'] }, seen)).toBe('100');
    expect(selected({ kind: ['irc'] }, seen)).toBe('000');
    expect(selected({ kind: ['demo'], level: ['warn'] }, seen)).toBe('001');
  });

  it('takes a query together with flags', () => {
    const seen = [session(bot('a')), log('a'), log('a', 'warn'), log('b', 'warn')];
    expect(selected({ query: 'kind:demo -event:session', level: ['warn'] }, seen)).toBe('0010');
  });

  it('forgets a deleted bot', () => {
    const gone = session(bot('a', { status: 'deleted' }));
    expect(selected({ kind: ['demo'] }, [session(bot('a')), log('a'), gone, log('a')])).toBe(
      '1110',
    );
  });
});
