// Run by vitest. The fan-out with model sockets: each subscriber gets each matching frame once and in order, or is told
// exactly what it did not get.

import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { FLUSH_BOUNDS, FRONT_CELLS } from '../../../src/shared/contract/metric-layout.js';
import { logLine } from '../shared/ring-fixture.js';
import { EPOCH, type Limit, type Opened, type Pairs, TestFront } from './fanout-fixture.js';

const BOTS = ['a', 'b', 'c'];
const FILTERS: Pairs[] = [
  [],
  [['event', 'log']],
  [['event', 'session']],
  [['session', 'a']],
  [
    ['session', 'a,b'],
    ['level', 'warn,state'],
  ],
  [['scope', 'tcp']],
  [
    ['scope', 'bot,nothing'],
    ['level', 'warn'],
  ],
  [['level', 'state']],
  [['session', 'nobody']],
];

const LIMITS: Limit[] = [
  null,
  { bots: ['a', 'c', 'nobody'] },
  { labels: { team: 'x' } },
  { labels: { team: 'y', big: 'yes' } },
];
const LABELS: Record<string, string>[] = [
  {},
  { team: 'x' },
  { team: 'x', big: 'yes' },
  { team: 'y', big: 'yes' },
];

const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({
        session_id: fc.constantFrom(null, ...BOTS),
        level: fc.constantFrom('info' as const, 'warn' as const, 'state' as const),
        scope: fc.constantFrom('tcp', 'bot'),
        message: fc.nat({ max: 300 }).map((length) => 'm'.repeat(length)),
      })
      .map(logLine),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...BOTS),
        status: fc.constantFrom('starting', 'in_world', 'deleted'),
      })
      .map(({ id, status }): Item => ({ kind: 'session', id, patch: { status } })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ id: fc.constantFrom(...BOTS), labels: fc.constantFrom(...LABELS) })
      .map(({ id, labels }): Item => ({ kind: 'session', id, patch: { labels } })),
  },
);

type Step =
  | { do: 'publish'; items: Item[] }
  | {
      do: 'open';
      filter: number;
      limit: number;
      room: number;
      resume: number;
      snapshots: boolean;
    }
  | { do: 'drain' | 'drop'; stream: number; room: number }
  | { do: 'turn' };

/** Room of a socket: hardly any, some, or as much as there is. */
const rooms = fc.constantFrom(1, 500, 3000, Number.POSITIVE_INFINITY);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('publish' as const),
        items: fc.array(item, { minLength: 1, maxLength: 25, size: 'max' }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('open' as const),
        filter: fc.nat({ max: FILTERS.length - 1 }),
        limit: fc.nat({ max: LIMITS.length - 1 }),
        room: rooms,
        // -1: not at all; else so many frames back, which may be before the ring's tail.
        resume: fc.constantFrom(-1, -1, 0, 1, 5, 30, 1000),
        snapshots: fc.boolean(),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('drain' as const, 'drain' as const, 'drop' as const),
        stream: fc.nat(),
        room: rooms,
      }),
    },
    { weight: 6, arbitrary: fc.constant({ do: 'turn' as const }) },
  ),
  { maxLength: 60, size: 'max' },
);

/** Fronts of the running test: one that fails must not continue in the next. */
const fronts: TestFront[] = [];
function open(...args: ConstructorParameters<typeof TestFront>): TestFront {
  const front = new TestFront(...args);
  fronts.push(front);
  return front;
}
function abandon(): void {
  for (const front of fronts.splice(0)) front.abandon();
}
afterEach(abandon);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** @param keepsUp whether the front runs after each publish, so that only its subscribers are lapped. */
async function play(front: TestFront, script: readonly Step[], keepsUp: boolean): Promise<void> {
  for (const step of script) {
    const { streams } = front;
    if (step.do === 'publish') {
      front.publish(structuredClone(step.items));
      // Without streams the front sleeps through a frame; a REST read would take its mirror to the head.
      if (keepsUp && front.fanout.size === 0) front.mirror.sync();
      if (keepsUp) while (front.mirror.next < front.head) await setTimeout(1);
    } else if (step.do === 'turn') await turn();
    else if (step.do === 'open') {
      const seq = Math.max(0, front.head - 1 - step.resume);
      front.open({
        query: FILTERS[step.filter] as Pairs,
        limit: LIMITS[step.limit] as Limit,
        room: step.room,
        lastEventId: step.resume === -1 ? '' : `${EPOCH}-${seq}`,
        snapshots: step.snapshots,
      });
    } else if (streams.length > 0) {
      const stream = streams[step.stream % streams.length] as Opened;
      if (step.do === 'drain') front.drain(stream, step.room);
      else front.drop(stream);
    }
  }
}

async function settleAll(front: TestFront): Promise<void> {
  for (let round = 0; round < 50; round++) {
    for (const stream of front.streams) front.drain(stream);
    await front.settle();
    if (front.streams.every(({ socket }) => !socket.blocked || socket.closed)) return;
  }
}

describe('every subscriber', () => {
  it('gets every matching frame once and in order from a ring that is large enough', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const front = open(4 * 1024 * 1024, 16_384);
        await play(front, script, false);
        await settleAll(front);
        expect(front.checkAll()).toBe(0);
        expect(front.counters.get(FRONT_CELLS.gaps)).toBe(0);
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  for (const keepsUp of [true, false]) {
    const front = keepsUp ? 'it' : 'it and its front';
    it(`gets them, or a gap that says exactly which are missing, from a ring that laps ${front}`, async () => {
      let gaps = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (script) => {
          const front = open(262_144, 64);
          await play(front, script, keepsUp);
          await settleAll(front);
          front.checkAll();
          gaps += front.counters.get(FRONT_CELLS.gaps);
          abandon();
        }),
        { numRuns: 60, endOnFailure: true },
      );
      expect(gaps).toBeGreaterThan(0);
    }, 60_000);
  }
});

describe('a lapped subscriber', () => {
  const lines = (count: number): Item[] =>
    Array.from({ length: count }, (_, at) => logLine({ message: `${at} ${'x'.repeat(100)}` }));

  it('gets one gap for one lap while it was blocked', async () => {
    const front = open(262_144, 64);
    const slow = front.open({ room: 1 });
    const healthy = front.open();
    await front.settle();
    for (let round = 0; round < 20; round++) {
      front.publish(lines(20));
      await front.settle();
    }
    front.drain(slow);
    await front.settle();
    expect(front.check(slow)).toEqual({ gaps: 1, at: front.head });
    expect(front.check(healthy)).toEqual({ gaps: 0, at: front.head });
  });

  // A front that did not get to run while more than a ring was published: its mirror is lapped with its subscribers,
  // and the broadcaster's answer takes a turn or more.
  it('gets one exact gap when the front was lapped as a whole', async () => {
    const front = open(262_144, 64);
    const stream = front.open();
    const filtered = front.open({ query: [['session', 'a']] });
    front.publish([{ kind: 'session', id: 'a', patch: { status: 'in_world' } }]);
    await front.settle();
    front.publish(lines(500));
    await front.settle();
    front.publish(lines(3));
    await front.settle();
    expect(front.rebases).toBeGreaterThan(0);
    expect(front.check(stream)).toEqual({ gaps: 1, at: front.head });
    expect(front.check(filtered).gaps).toBe(1);
    expect(front.counters.get(FRONT_CELLS.gaps)).toBe(2);
  });

  it('waits for the snapshots when the broadcaster does not answer yet, instead of repeating its gap', async () => {
    const front = open(262_144, 64);
    const stream = front.open();
    await front.settle();
    front.answers = false;
    front.publish(lines(500));
    await setTimeout(50);
    expect(front.counters.get(FRONT_CELLS.gaps)).toBeLessThanOrEqual(1);
    front.answers = true;
    front.publish(lines(1));
    await front.settle();
    expect(front.check(stream)).toEqual({ gaps: 1, at: front.head });
  });
});

describe('streams whose filters match nothing new', () => {
  const line = (session_id: string): Item => logLine({ session_id });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('cost a pass nothing, and get their frames when these come', async () => {
    const front = open(4 * 1024 * 1024, 16_384);
    const bots = Array.from({ length: 50 }, (_, at) => `bot-${at}`);
    const streams = bots.map((bot) => front.open({ query: [['session', bot]] }));
    const gone = front.open({ query: [['session', 'bot-1']] });
    const looks = vi.spyOn(SubscriberGroup.prototype, 'next');
    // First each finds out that there is nothing for it; a pass that also looks for heartbeats changes nothing yet.
    do {
      looks.mockClear();
      front.publish([line('other')]);
      await front.settle();
    } while (looks.mock.calls.length > 0);
    for (let round = 0; round < 20; round++) {
      front.publish([line('other'), line('another')]);
      await front.settle();
    }
    expect(looks).not.toHaveBeenCalled();
    front.drop(gone);
    for (const [at, bot] of bots.entries()) {
      front.publish([line(bot), line('other')]);
      await front.settle();
      const { socket } = streams[at] as Opened;
      expect(socket.text).toContain(`"${bot}"`);
    }
    // One look that finds the frame, and one or two in which it finds that there is no other.
    expect(looks.mock.calls.length).toBeLessThanOrEqual(3 * bots.length);
    expect(front.checkAll()).toBe(0);
    for (const stream of streams) front.drop(stream);
    expect(front.fanout.size).toBe(0);
  });

  it('report what they lost when the front was lapped, from where they were', async () => {
    const front = open(262_144, 64);
    const stream = front.open({ query: [['session', 'a']] });
    for (let round = 0; round < 5; round++) {
      front.publish([line('b')]);
      await front.settle();
    }
    const lost = front.head;
    front.publish(Array.from({ length: 500 }, (_, at) => line(at % 2 ? 'a' : 'b')));
    await front.settle();
    front.publish([line('a')]);
    await front.settle();
    expect(front.check(stream)).toEqual({ gaps: 1, at: front.head });
    expect(stream.socket.text).toContain(`"from":"${EPOCH}-${lost}"`);
  });

  it('get their frames from more than is examined at once, and none twice', async () => {
    const front = open(16 * 1024 * 1024, 65_536);
    const query = [['session', 'a']] as const;
    const before = front.open({ query });
    front.publish([line('b')]);
    await front.settle();
    const burst = Array.from({ length: 20_000 }, (_, at) => line(at % 1000 === 0 ? 'a' : 'b'));
    front.publish(burst);
    // It begins behind the burst, where the index has not been yet.
    const after = front.open({ query });
    const resumed = front.open({ query, lastEventId: `${EPOCH}-9000` });
    front.publish([line('b')]);
    await front.settle();
    front.publish([line('b'), line('a')]);
    await front.settle();
    expect(front.checkAll()).toBe(0);
    const frames = ({ socket }: Opened) => socket.text.match(/^id: /gm)?.length;
    expect([before, after, resumed].map(frames)).toEqual([21, 1, 12]);
  });

  it('resume after the position that their client was told last', async () => {
    const front = open(4 * 1024 * 1024, 1024);
    const first = front.open({ query: [['session', 'a']] });
    front.publish([line('a'), line('b')]);
    await front.settle();
    front.publish([line('b')]);
    await front.settle();
    front.drop(first);
    front.publish([line('a'), line('b'), line('a')]);
    const again = front.open({ query: [['session', 'a']], lastEventId: `${EPOCH}-2` });
    await front.settle();
    front.publish([line('b'), line('a')]);
    await front.settle();
    expect(front.checkAll()).toBe(0);
    expect(again.socket.text.match(/^id: /gm)).toHaveLength(3);
  });
});

describe('a stream that is limited by labels', () => {
  const labelled = (id: string, labels: Record<string, string>): Item => ({
    kind: 'session',
    id,
    patch: { labels },
  });
  const line = (message: string): Item => logLine({ session_id: 'a', message });

  it('has a gap where its front does not know the labels, though the ring has the frames', async () => {
    const old = open(4 * 1024 * 1024, 1024);
    const limit = { labels: { team: 'x' } };
    old.publish([labelled('a', { team: 'y' }), line('not for x'), labelled('a', { team: 'x' })]);
    old.publish([line('for x')]);
    await old.settle();
    const lastEventId = `${EPOCH}-1`;
    // The front that was there all the time knows.
    const known = old.open({ limit, lastEventId });
    await old.settle();
    expect(old.check(known)).toEqual({ gaps: 0, at: old.head });
    expect(known.socket.text).toContain('for x');

    const fresh = old.replaced();
    fronts.push(fresh);
    const unknown = fresh.open({ limit, lastEventId });
    const unlimited = fresh.open({ lastEventId });
    const present = fresh.open({ limit, lastEventId: `${EPOCH}-${fresh.head - 1}` });
    fresh.publish([line('later')]);
    await fresh.settle();
    expect(fresh.check(unknown)).toEqual({ gaps: 1, at: fresh.head });
    expect(unknown.socket.text).not.toContain('not for x');
    expect(unknown.socket.text).toContain('later');
    for (const stream of [unlimited, present]) {
      expect(fresh.check(stream)).toEqual({ gaps: 0, at: fresh.head });
    }
  });

  it('continues without a gap when the broadcaster was replaced and its front missed nothing', async () => {
    const front = open(4 * 1024 * 1024, 1024);
    const limit = { labels: { team: 'x' } };
    front.publish([labelled('a', { team: 'y' }), line('not for x')]);
    front.open({ limit });
    await front.settle();
    front.publish([labelled('a', { team: 'x' }), line('for x')]);
    front.rebase();
    // An answer that comes late: the front has read on meanwhile.
    const { next, sessions } = front.broadcaster.baseline();
    front.publish([labelled('a', { team: 'y' }), line('not any more')]);
    front.publish([labelled('a', { team: 'x' }), line('again')]);
    front.mirror.sync();
    front.mirror.reset(next, sessions);
    await front.settle();
    front.open({ limit, lastEventId: `${EPOCH}-1` });
    await front.settle();
    expect(front.checkAll()).toBe(0);
  });
});

describe('a subscriber that comes or goes', () => {
  it('may go twice', async () => {
    const front = open(65_536, 64);
    const [one, other] = [front.open(), front.open()];
    front.drop(one);
    if (one.socket.subscriber) front.fanout.remove(one.socket.subscriber);
    expect(front.fanout.size).toBe(1);
    front.publish([logLine()]);
    await front.settle();
    expect(front.check(other).at).toBe(front.head);
  });

  it('with a foreign or a future id gets one gap with that id, and the snapshots', async () => {
    for (const lastEventId of ['0123456789-5', `${EPOCH}-4711`]) {
      const front = open(65_536, 64);
      front.publish([{ kind: 'session', id: 'a', patch: { status: 'in_world' } }, logLine()]);
      const stream = front.open({ lastEventId });
      front.publish([logLine()]);
      await front.settle();
      expect(front.check(stream)).toEqual({ gaps: 1, at: front.head });
      expect(stream.socket.text).toContain('"in_world"');
    }
  });

  it('with a malformed id is a new one', async () => {
    const front = open(65_536, 64);
    front.publish([{ kind: 'session', id: 'a', patch: { status: 'in_world' } }]);
    const stream = front.open();
    const odd = front.open({ lastEventId: '' });
    front.fanout.add(odd.socket, {
      filter: null,
      opening: '',
      lastEventId: 'x',
      snapshots: false,
      isOwn: false,
      removed: () => {},
    });
    await front.settle();
    expect(front.counters.get(FRONT_CELLS.gaps)).toBe(0);
    expect(front.check(stream).gaps).toBe(0);
  });
});

describe('with time', () => {
  const step = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
  };
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'setImmediate',
        'clearImmediate',
        'performance',
      ],
    });
    // The clock of a process that runs does not stand at 0.
    vi.advanceTimersByTime(1000);
  });
  afterEach(() => {
    abandon();
    vi.useRealTimers();
  });

  it('a silent stream gets a comment, again and again, and only when it is silent', async () => {
    const front = open(65_536, 64, { heartbeatMs: 15_000, stallMs: 30_000 });
    const { socket } = front.open();
    await step(10);
    const beats = (): number[] =>
      socket.times.filter((_, at) => socket.chunks[at]?.toString() === ':\n');
    await step(14_000);
    expect(beats()).toEqual([]);
    await step(100_000);
    const silent = beats();
    expect(silent.length).toBeGreaterThanOrEqual(6);
    const waits = silent.slice(1).map((time, at) => time - (silent[at] as number));
    // A look each second: a beat comes after 15 s, or at the next look.
    for (const wait of waits) {
      expect(wait).toBeGreaterThanOrEqual(15_000);
      expect(wait).toBeLessThanOrEqual(16_100);
    }
    for (let second = 0; second < 40; second++) {
      front.publish([logLine()]);
      await step(1000);
    }
    expect(beats()).toEqual(silent);
    expect(socket.faults).toEqual([]);
  });

  it('a stream that takes nothing is closed after the stall and not before, and gets only heartbeats', async () => {
    const front = open(65_536, 64, { heartbeatMs: 15_000, stallMs: 30_000 });
    const slow = front.open({ room: 1 });
    const healthy = front.open();
    for (let second = 0; second < 29; second++) {
      front.publish([logLine()]);
      await step(1000);
    }
    expect(slow.socket.closed).toBe(false);
    // Tried every four seconds, with nothing but heartbeats.
    expect(slow.socket.chunks).toHaveLength(1 + slow.socket.touches);
    expect(slow.socket.touches).toBeGreaterThan(0);
    expect(slow.socket.touches).toBeLessThanOrEqual(7);
    expect(front.counters.get(FRONT_CELLS.blocked)).toBe(1);
    await step(2500);
    expect(slow.socket.closed).toBe(true);
    expect(healthy.socket.closed).toBe(false);
    expect(front.counters.get(FRONT_CELLS.evictions)).toBe(1);
    await step(1000);
    expect(front.counters.get(FRONT_CELLS.blocked)).toBe(0);
    expect(front.fanout.size).toBe(1);
    expect(slow.socket.faults).toEqual([]);
    expect(front.check(healthy).at).toBe(front.head);
  });

  it('what is handed to streams is counted: frames, writes, bytes, and how long it took', async () => {
    const front = open(65_536, 64, { heartbeatMs: 60_000, stallMs: 60_000 });
    const all = front.open();
    const warnings = front.open({ query: [['level', 'warn']] });
    for (const level of ['info', 'warn', 'info', 'error'] as const) {
      front.publish([{ ...logLine(), level }]);
      await step(100);
    }
    expect(front.check(all).at).toBe(front.head);
    const { chunks: first } = all.socket;
    const { chunks: second } = warnings.socket;
    const sent = Buffer.concat([...first, ...second]);
    expect(front.counters.get(FRONT_CELLS.frames)).toBe(5);
    expect(front.counters.get(FRONT_CELLS.writes)).toBe(first.length + second.length);
    expect(front.counters.get(FRONT_CELLS.bytes)).toBe(sent.length);
    const buckets = FLUSH_BOUNDS.map((_, at) => front.counters.get(FRONT_CELLS.flush + at));
    expect(buckets.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(4);
  });

  it('a stream that is behind catches up without further passes over all the others', async () => {
    const front = open(2 ** 22, 4096, { heartbeatMs: 60_000, stallMs: 60_000 });
    front.publish(Array.from({ length: 3000 }, () => logLine({ message: 'm'.repeat(900) })));
    const others = Array.from({ length: 20 }, () => front.open());
    await step(100);
    const passes = (): number => {
      const buckets = FLUSH_BOUNDS.map((_, at) => front.counters.get(FRONT_CELLS.flush + at));
      return buckets.reduce((sum, count) => sum + count, 0);
    };
    const before = passes();
    const late = front.open({ lastEventId: `${EPOCH}-1` });
    await step(100);
    expect(front.check(late).at).toBe(front.head);
    expect(late.socket.chunks.length).toBeGreaterThan(30);
    // A turn of the event loop takes a millisecond here, as long as a rest.
    expect(passes() - before).toBeLessThan(0.7 * late.socket.chunks.length);
    // And none is forgotten when new frames come meanwhile.
    front.publish([logLine()]);
    await step(100);
    for (const stream of [late, ...others]) expect(front.check(stream).at).toBe(front.head);
  });

  it('streams that go while they catch up end it', async () => {
    const front = open(2 ** 22, 4096, { heartbeatMs: 60_000, stallMs: 60_000 });
    front.publish(Array.from({ length: 3000 }, () => logLine({ message: 'm'.repeat(900) })));
    const other = front.open();
    await step(100);
    const late = front.open({ lastEventId: `${EPOCH}-1` });
    // Taken away in the middle of a write.
    late.socket.write = () => {
      front.drop(late);
      return true;
    };
    await step(100);
    expect(late.socket.removals).toBe(1);
    front.publish([logLine()]);
    await step(100);
    expect(front.check(other).at).toBe(front.head);
  });

  it('a stream that takes a little in time is not closed', async () => {
    const front = open(65_536, 64, { heartbeatMs: 15_000, stallMs: 5000 });
    const slow = front.open({ room: 1 });
    for (let second = 0; second < 40; second++) {
      front.publish([logLine()]);
      await step(1000);
      if (second % 4 === 3) front.drain(slow, 1);
    }
    expect(slow.socket.closed).toBe(false);
    expect(front.counters.get(FRONT_CELLS.evictions)).toBe(0);
    expect(slow.socket.faults).toEqual([]);
  });

  it('finish ends every stream after its last frame, and cuts off those that take nothing', async () => {
    const front = open(65_536, 64, { heartbeatMs: 15_000, stallMs: 30_000 });
    const healthy = front.open();
    const slow = front.open({ room: 1 });
    const stuck = front.open({ room: 1 });
    const filtered = front.open({ query: [['session', 'nobody']] });
    await step(10);
    front.publish([logLine({ message: 'last words' })]);
    let finished = false;
    void front.fanout.finish(front.head, 3000).then(() => {
      finished = true;
    });
    await step(100);
    expect(healthy.socket.ended).toBe(true);
    expect(filtered.socket.ended).toBe(true);
    expect(finished).toBe(false);
    front.drain(slow);
    await step(100);
    expect(slow.socket.ended).toBe(true);
    for (const stream of [healthy, slow, filtered]) front.check(stream);
    for (const { socket } of [healthy, slow]) expect(socket.text).toContain('last words');
    expect(finished).toBe(false);
    expect(stuck.socket.closed).toBe(false);
    await step(3000);
    expect(stuck.socket.closed).toBe(true);
    expect(stuck.socket.ended).toBe(false);
    expect(finished).toBe(true);
    expect(front.fanout.size).toBe(0);
    // A stream that is added now ends in the next turn.
    const late = front.open();
    await step(100);
    expect(late.socket.ended).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('a pass skips no subscriber when others are removed while it runs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 12 }),
        fc.array(fc.tuple(fc.nat({ max: 11 }), fc.nat({ max: 11 })), { maxLength: 8 }),
        async (count, removals) => {
          const front = open(262_144, 1024);
          const streams = Array.from({ length: count }, () => front.open());
          await step(10);
          // While the one is written to, the other goes: a client that closes, seen in the middle of a pass.
          for (const [writer, goer] of removals) {
            const from = streams[writer % count] as Opened;
            const to = streams[goer % count] as Opened;
            const write = from.socket.write.bind(from.socket);
            from.socket.write = (bytes) => {
              const ok = write(bytes);
              front.drop(to);
              return ok;
            };
          }
          // The front sleeps: what arrives now is one pass, and no later one serves a subscriber.
          await step(10);
          const begin = front.streams.map(({ socket }) => socket.chunks.length);
          front.publish([logLine({ message: 'news' })]);
          for (const [at, { socket }] of streams.entries()) {
            if (!socket.closed) expect(socket.chunks.length).toBe((begin[at] as number) + 1);
          }
          await step(10);
          front.checkAll();
          expect(front.fanout.size).toBe(streams.filter(({ socket }) => !socket.closed).length);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('an event after a pause leaves at once and is followed by no rest, one that follows others is', async () => {
    const front = open(65_536, 1024);
    const { socket } = front.open();
    await step(100);
    const has = (message: string): boolean => socket.text.includes(message);
    const send = async (message: string): Promise<void> => {
      front.publish([logLine({ message })]);
      await step(0);
    };
    await send('first');
    expect(has('first')).toBe(true);
    await send('second');
    expect(has('second')).toBe(true);
    await send('third');
    expect(has('third')).toBe(false);
    await step(5);
    expect(has('third')).toBe(true);
    front.checkAll();
  });

  it('a front without streams sleeps through frames, is not lapped, and wakes for the first stream', async () => {
    const front = open(65_536, 1024);
    await step(10);
    const bell = vi.spyOn(front.fanout, 'wake');
    for (let n = 0; n < 20; n++) {
      front.publish([logLine()]);
      await step(10);
    }
    // The first frame is also the first step of the ring.
    expect(bell.mock.calls.length).toBeLessThanOrEqual(1);
    for (let n = 0; n < 5000; n++) {
      front.publish([logLine()]);
      await step(1);
    }
    expect(bell.mock.calls.length).toBeLessThan(400);
    expect(front.rebases).toBe(0);
    const stream = front.open();
    await step(10);
    front.publish([logLine({ message: 'at once' })]);
    await step(1);
    expect(stream.socket.text).toContain('at once');
    front.drop(stream);
    bell.mockClear();
    for (let n = 0; n < 20; n++) {
      front.publish([logLine()]);
      await step(10);
    }
    expect(bell.mock.calls.length).toBeLessThanOrEqual(2);
    front.checkAll();
  });

  it('a silent stream with a filter gets its position, though no pass visits it, and ends at finish', async () => {
    const front = open(65_536, 64, { heartbeatMs: 15_000, stallMs: 30_000 });
    const stream = front.open({ query: [['session', 'a']] });
    for (let second = 0; second < 40; second++) {
      front.publish([logLine({ session_id: 'b' })]);
      await step(1000);
    }
    const positions = [...stream.socket.text.matchAll(/^: position \S+-(\d+)$/gm)].map(([, seq]) =>
      Number(seq),
    );
    // One at the beginning, then one for each 15 s, with what was published until then.
    expect(positions).toHaveLength(3);
    expect(positions[1]).toBeGreaterThanOrEqual(14);
    expect(positions[2]).toBeGreaterThanOrEqual(29);
    front.publish([logLine({ session_id: 'a', message: 'last words' })]);
    void front.fanout.finish(front.head, 3000);
    await step(100);
    expect(stream.socket.text).toContain('last words');
    expect(stream.socket.ended).toBe(true);
    expect(front.check(stream).at).toBe(front.head);
  });

  it('a stream that is blocked while no pass visits it is closed after the stall', async () => {
    const front = open(65_536, 64, { heartbeatMs: 2000, stallMs: 5000 });
    const stream = front.open({ query: [['session', 'a']] });
    front.publish([logLine({ session_id: 'b' })]);
    await step(100);
    // The next heartbeat blocks it.
    stream.socket.room = 1;
    await step(4000);
    expect(stream.socket.blocked).toBe(true);
    expect(front.counters.get(FRONT_CELLS.blocked)).toBe(1);
    await step(6000);
    expect(stream.socket.closed).toBe(true);
    expect(front.fanout.size).toBe(0);
  });

  it('finish without subscribers resolves at once', async () => {
    const front = open(65_536, 64);
    await front.fanout.finish(front.head, 3000);
    await step(0);
    expect(front.fanout.size).toBe(0);
  });
});
