// What bots have said last, on a ring that is lapped many times.

import { expect, it } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { LastLines } from '../../../src/broadcaster/last-lines.js';
import type { BotSnapshot, Item } from '../../../src/shared/contract/events.js';
import { createRing } from '../../../src/shared/memory/layout.js';
import { logLine } from '../shared/ring-fixture.js';

const RING_BYTES = 262_144;

function broadcasterOf(...bots: string[]): Broadcaster {
  const ring = createRing({ bytes: RING_BYTES, slots: 1024, fronts: 1 }, 1);
  const broadcaster = new Broadcaster({ ring, epoch: 'e', hashKey: 'key' }, () => {});
  broadcaster.publish(bots.map((id): Item => ({ kind: 'session', id, patch: {} })));
  return broadcaster;
}
const last = (broadcaster: Broadcaster, bots: string[]): string[] =>
  broadcaster.lastLines(bots).map(({ text }) => text);
const line = (session_id: string | null, message: string): Item => logLine({ session_id, message });
const shown = (id: string, message: string): string => `info ${id} bot: ${message}`;

it('the lines of a quiet bot outlive many laps of the ring, in their order and no more than 20', () => {
  const broadcaster = broadcasterOf('quiet', 'busy', 'mixed');
  const expected: string[] = [];
  for (let n = 0; n < 50; n++) {
    const message = `quiet ${n} "quoted" \u2028 \u{1f600}`;
    broadcaster.publish([line('quiet', message)]);
    expected.push(shown('quiet', message));
    // More than the ring holds, in bursts of different sizes.
    for (let m = 0; m < 1200; m += 30) {
      const burst = Array.from({ length: 30 }, (_, k) => line('busy', `${n} ${m + k}`));
      broadcaster.publish(n % 2 === 0 ? burst : [...burst, line(null, 'of nobody')]);
    }
  }
  expect(last(broadcaster, ['quiet'])).toEqual(expected.slice(-20));
  const busy = Array.from({ length: 20 }, (_, k) => shown('busy', `49 ${1180 + k}`));
  expect(last(broadcaster, ['busy'])).toEqual(busy);
  expect(last(broadcaster, ['mixed', 'nobody'])).toEqual([]);
  // Together: the last of all.
  broadcaster.publish([line('quiet', 'the end')]);
  const both = last(broadcaster, ['quiet', 'busy', 'mixed']);
  expect(both).toEqual([...busy.slice(1), shown('quiet', 'the end')]);
});

it('a line has its time, on the ring and after it has left that', () => {
  const broadcaster = broadcasterOf('a', 'busy');
  const timestamp_ms = 1_795_257_600_123;
  broadcaster.publish([{ ...logLine({ session_id: 'a', message: 'x' }), timestamp_ms }]);
  const expected = [{ at: timestamp_ms, text: shown('a', 'x') }];
  expect(broadcaster.lastLines(['a'])).toEqual(expected);
  for (let n = 0; n < 2000; n++) broadcaster.publish([line('busy', `${n} ${'x'.repeat(300)}`)]);
  expect(broadcaster.lastLines(['a'])).toEqual(expected);
});

it('a bot is as its last event shows it, until it was deleted', () => {
  const broadcaster = broadcasterOf('a');
  broadcaster.publish([
    { kind: 'session', id: 'a', patch: { status: 'in_world', data: { x: 1 } } },
  ]);
  expect(broadcaster.snapshot('a')).toMatchObject({ id: 'a', status: 'in_world', data: { x: 1 } });
  broadcaster.publish([{ kind: 'session', id: 'a', patch: { status: 'deleted' } }]);
  expect(broadcaster.snapshot('a')).toBeNull();
});

it('a burst larger than the ring in one batch loses none of the last lines', () => {
  const broadcaster = broadcasterOf('a', 'b');
  const burst = Array.from({ length: 5000 }, (_, n) => line('b', `${n} ${'x'.repeat(200)}`));
  broadcaster.publish([line('a', 'before'), ...burst]);
  expect(last(broadcaster, ['a'])).toEqual([shown('a', 'before')]);
  expect(last(broadcaster, ['b'])).toHaveLength(20);
});

it('a broadcaster that takes the place of a dead one finds what is on the ring', () => {
  const ring = createRing({ bytes: RING_BYTES, slots: 1024, fronts: 1 }, 1);
  const begin = (): Broadcaster => new Broadcaster({ ring, epoch: 'e', hashKey: 'key' }, () => {});
  const first = begin();
  const ids = ['quiet', 'busy', 'mute', 'reborn'];
  first.publish(ids.map((id): Item => ({ kind: 'session', id, patch: {} })));
  first.publish([line('quiet', 'off the ring')]);
  // Three times what the ring holds.
  for (let n = 0; n < 3000; n++) first.publish([line('busy', `${n}`)]);
  for (let n = 0; n < 25; n++) {
    first.publish([line('quiet', `quiet ${n}`), line('reborn', 'of the first'), line(null, 'x')]);
  }
  first.publish([{ kind: 'session', id: 'reborn', patch: { status: 'deleted' } }]);
  const data = { note: '"status":"deleted"', status: 'deleted' };
  first.publish([{ kind: 'session', id: 'quiet', patch: { data } }]);
  first.publish([{ kind: 'session', id: 'reborn', patch: {} }, line('reborn', 'of the second')]);
  const before = ids.map((id) => last(first, [id]));
  expect(before.map((lines) => lines.length)).toEqual([20, 20, 0, 1]);

  const second = begin();
  second.restore(ids.map((id) => ({ id, status: 'running' }) as BotSnapshot));
  expect(ids.map((id) => last(second, [id]))).toEqual(before);
  // They are saved by it too when the ring gives them up.
  for (let n = 0; n < 3000; n++) second.publish([line('busy', `again ${n}`)]);
  expect(last(second, ['quiet'])).toEqual(before[0]);
  expect(last(second, ['reborn'])).toEqual(before[3]);
});

it('a long line is cut', () => {
  const broadcaster = broadcasterOf('a', 'busy');
  const check = (): void => {
    const [only = ''] = last(broadcaster, ['a']);
    expect(only).toHaveLength(1024);
    expect(only).toMatch(/^info a bot: m+…$/);
  };
  broadcaster.publish([line('a', 'm'.repeat(8000))]);
  check();
  for (let n = 0; n < 3000; n++) broadcaster.publish([line('busy', 'b'.repeat(100))]);
  check();
});

it.each(['deleted', 'moved'])(
  'a %s bot leaves no lines, and a new bot with the same name starts empty',
  (status) => {
    const broadcaster = broadcasterOf('a', 'busy');
    broadcaster.publish([line('a', 'of the first')]);
    broadcaster.publish([{ kind: 'session', id: 'a', patch: { status } }]);
    broadcaster.publish([line('a', 'of nobody')]);
    expect(last(broadcaster, ['a'])).toEqual([]);
    broadcaster.publish([{ kind: 'session', id: 'a', patch: {} }, line('a', 'of the second')]);
    expect(last(broadcaster, ['a'])).toEqual([shown('a', 'of the second')]);
  },
);

it('what all saved lines may take is bounded: those that were saved first go', () => {
  const texts = new Map<number, string>();
  const frames = { oldest: 1, text: (seq: number): string => texts.get(seq) ?? '' };
  const last = new LastLines(frames, 1000);
  const say = (id: string, seq: number): void => {
    const event = { level: 'info', session_id: id, scope: 'bot', message: 'm'.repeat(86) };
    texts.set(seq, `id: e-${seq}\nevent: log\ndata: ${JSON.stringify(event)}\n\n`);
    last.note(id, { id }, seq);
  };
  for (let n = 1; n <= 30; n++) {
    const id = `b${n}`.padStart(3, '0');
    last.add(id);
    say(id, n);
  }
  last.save(31);
  frames.oldest = 31;
  texts.clear();
  const left = Array.from({ length: 30 }, (_, n) => last.of([`b${n + 1}`.padStart(3, '0')]).length);
  expect(left).toEqual([...Array(20).fill(0), ...Array(10).fill(1)]);
});

it('of the lines of one bot the oldest go first', () => {
  const texts = new Map<number, string>();
  const frames = { oldest: 1, text: (seq: number): string => texts.get(seq) ?? '' };
  const last = new LastLines(frames, 1000);
  last.add('a');
  for (let seq = 1; seq <= 18; seq++) {
    const message = `${seq} `.padEnd(88, 'm');
    const event = { level: 'info', session_id: 'a', scope: 'bot', message };
    texts.set(seq, `id: e-${seq}\nevent: log\ndata: ${JSON.stringify(event)}\n\n`);
    last.note('a', { id: 'a' }, seq);
  }
  last.save(19);
  frames.oldest = 19;
  texts.clear();
  const numbers = last
    .of(['a'])
    .map(({ text }) => Number.parseInt(text.slice('info a bot: '.length), 10));
  expect(numbers).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
});
