// Streams with a query, on a ring in one thread: each gets exactly the frames that match, judged by their own time.

import { expect, it } from 'vitest';
import type { Item } from '../../../src/shared/contract/events.js';
import { logLine } from '../shared/ring-fixture.js';
import { EPOCH, type Opened, TestFront } from './fanout-fixture.js';

const line = (bot: string | null, message: string, more = {}): Item =>
  logLine({ session_id: bot, message, ...more });
const state = (id: string, patch: object): Item => ({ kind: 'session', id, patch });

/** Sequence numbers of the frames that a stream has got. The last snapshot has the number of the frame before them. */
const seqsOf = ({ socket, from }: Opened): number[] =>
  [...socket.text.matchAll(new RegExp(`^id: ${EPOCH}-(\\d+)\nevent: (?!gap)`, 'gm'))]
    .map(([, seq]) => Number(seq))
    .filter((seq) => seq >= from);
const snapshotsOf = ({ socket }: Opened): string[] =>
  [...socket.text.matchAll(/"snapshot":\{"id":"([^"]+)"/g)].map(([, id = '']) => id);

function front(): TestFront {
  const made = new TestFront(2 ** 20, 2 ** 12);
  made.publish([
    state('a', { status: 'in_world', kind: 'demo', labels: { team: 'x' } }),
    state('b', { status: 'failed', kind: 'demo', labels: {} }),
  ]);
  return made;
}

it.each([
  ['-level:info', [4, 6]],
  ['refused', [4, 7]],
  ['"login refused" -bot:b', [4]],
  ['/^(login|logout) \\w+$/', [3, 4, 7]],
  ['transport:tcp', [6]],
  ['-transport:*', [3, 4, 5, 7]],
  ['direction:incoming scope:t*', [6]],
  ['event:log bot:a level:warn', [4]],
  ['kind:demo -bot:b', [3, 4]],
  ['-kind:demo', [5, 6]],
  ['label:team=x', [3, 4]],
  ['status:failed', [7]],
  ['-status:failed', [3, 4, 5, 6]],
  ['\\u001b -kind:irc red', []],
])('%s lets through %j', async (query, expected) => {
  const service = front();
  const opened = service.open({ query: [['query', query]] });
  service.publish([
    line('a', 'login worked'),
    line('a', 'login refused', { level: 'warn' }),
    line(null, 'service line'),
    line('gone', 'Pong', { level: 'state', scope: 'tcp', transport: 'tcp', direction: 'incoming' }),
    line('b', 'login refused'),
  ]);
  await service.settle();
  expect(seqsOf(opened)).toEqual(expected);
  service.fanout.stop();
});

it('a bot is judged at the time of each frame: the change belongs to both sides', async () => {
  const service = front();
  const failed = service.open({ query: [['query', 'status:failed']] });
  const others = service.open({ query: [['query', '-status:failed']] });
  service.publish([
    line('a', 'three'),
    state('a', { status: 'failed' }),
    line('a', 'five'),
    state('a', { status: 'starting' }),
    line('a', 'seven'),
    state('b', { status: 'deleted' }),
    line('b', 'nine'),
  ]);
  await service.settle();
  expect(seqsOf(failed)).toEqual([4, 5, 6, 8]);
  expect(seqsOf(others)).toEqual([3, 4, 6, 7, 9]);
  // The snapshots at the start are those that matched then.
  expect(snapshotsOf(failed).slice(0, 1)).toEqual(['b']);
  expect(snapshotsOf(others).slice(0, 1)).toEqual(['a']);
  service.fanout.stop();
});

it('a stream that continues on the ring is judged by the time of the frames', async () => {
  const service = front();
  const first = service.open({ query: [['query', 'status:failed']] });
  service.publish([
    state('a', { status: 'failed' }),
    line('a', 'four'),
    state('a', { status: 'in_world' }),
    line('a', 'six'),
  ]);
  await service.settle();
  const second = service.open({
    query: [['query', 'status:failed']],
    lastEventId: `${EPOCH}-3`,
  });
  await service.settle();
  expect(seqsOf(first)).toEqual([3, 4, 5]);
  expect(seqsOf(second)).toEqual([4, 5]);
  service.fanout.stop();
});

it('the same terms in any order, and parameters of the same meaning, are one group', () => {
  const service = front();
  const open = (query: [string, string][]) => service.open({ query }).socket.subscriber?.group;
  const group = open([['query', 'refused -level:info kind:demo']]);
  expect(open([['query', ' kind:demo  refused -level:info refused']])).toBe(group);
  expect(open([['query', 'refused -level:info']])).not.toBe(group);
  expect(open([['query', 'level:warn session:a']])).toBe(
    open([
      ['level', 'warn'],
      ['session', 'a'],
    ]),
  );
  expect(open([['query', '']])).toBe(open([]));
  // Without a query nothing is judged: the group slices the ring.
  expect(open([])?.filter).toBeNull();
  service.fanout.stop();
});

it('what bots were is forgotten with the last stream that asks, and refused for the 101st question', () => {
  const service = front();
  const streams = Array.from({ length: 100 }, (_, at) =>
    service.open({ query: [['query', `restarts>${at}`]] }),
  );
  expect(() => service.open({ query: [['query', 'restarts>100']] })).toThrow(
    'too many different queries about bots',
  );
  const again = service.open({ query: [['query', 'level:info restarts>5']] });
  for (const stream of streams) service.drop(stream);
  service.drop(again);
  expect(service.mirror.matches.hasRoomFor('another')).toBe(true);
  service.open({ query: [['query', 'restarts>100']] });
  service.fanout.stop();
});
