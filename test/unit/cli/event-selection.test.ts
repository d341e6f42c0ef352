import { describe, expect, it } from 'vitest';
import { EventSelection } from '../../../src/cli/connection/event-selection.js';
import type { FilterFlags } from '../../../src/cli/flags/filter-flags.js';
import type { BotSnapshot, StreamEvent } from '../../../src/client/index.js';

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

/** Which of the events are used, as a pattern of 1 and 0. */
const used = (flags: FilterFlags, events: readonly StreamEvent[], seen: BotSnapshot[] = []) => {
  const selection = new EventSelection(flags);
  for (const one of seen) selection.see(one);
  return events.map((event) => Number(selection.fits(event))).join('');
};

describe('an event selection', () => {
  it('leaves to the service what the service can select', () => {
    const flags = { kind: ['log'], level: ['warn'], bot: ['a'], scope: ['tcp'] };
    const selection = new EventSelection(flags);
    expect(selection.request).toEqual({
      kind: ['log'],
      level: ['warn'],
      session: ['a'],
      scope: ['tcp'],
    });
    expect(selection.recorded).toEqual(selection.request);
    expect(new EventSelection({}).recorded).toBeNull();
    expect(used({}, [log(null), log('a'), gap])).toBe('111');
  });

  it('reads everything to select by kind, label or status of bots, and says so in a recording', () => {
    const selection = new EventSelection({ kind: ['demo', 'log'], label: { team: 'a' } });
    expect(selection.readsAll).toBe(true);
    expect(selection.recorded).toEqual({
      kind: ['log'],
      bots: { kind: ['demo'], label: { team: 'a' } },
    });
  });

  it('knows the bots by their latest snapshots, those that come later too', () => {
    const team = { label: { team: 'a' } };
    const mine = bot('a', { labels: { team: 'a' } });
    expect(
      used(team, [
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
    expect(used(team, [log('a'), log('b')], [mine, bot('b')])).toBe('10');
    expect(
      used({ status: ['failed'] }, [log('a'), session(bot('a', { status: 'failed' })), log('a')]),
    ).toBe('011');
    expect(used({ kind: ['demo', 'session'] }, [session(bot('a')), log('a')])).toBe('10');
    expect(used({ kind: ['irc'] }, [session(bot('a')), log('a')])).toBe('00');
    expect(
      used({ kind: ['demo'], level: ['warn'] }, [log('a'), log('a', 'warn')], [bot('a')]),
    ).toBe('01');
  });

  it('forgets a deleted bot', () => {
    const gone = session(bot('a', { status: 'deleted' }));
    expect(used({ kind: ['demo'] }, [log('a'), gone, log('a')], [bot('a')])).toBe('110');
  });

  it('asks the history for the bots that are selected now, and selects itself when they are too many', () => {
    const few = new EventSelection({ kind: ['demo'], bot: ['a', 'x'] }, ['log']);
    few.see(bot('a'));
    few.see(bot('b'));
    expect(few.past().request).toEqual({ kind: ['log'], session: ['a'] });
    const none = new EventSelection({ kind: ['irc'] });
    none.see(bot('a'));
    expect(none.past().request).toBeNull();
    const many = new EventSelection({ kind: ['demo'] }, ['log']);
    for (let n = 0; n < 2000; n++) many.see(bot(`b-${n}`));
    const { request, fits } = many.past();
    expect(request).toEqual({ kind: ['log'] });
    expect([log('b-7'), log('c'), log(null), gap].map(fits)).toEqual([true, false, false, true]);
  });
});
