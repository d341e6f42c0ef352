// What a hostile query about many bots costs in one turn of a front. The clock moves with the looks at bots, so that looks are counted.

import { afterEach, expect, it, vi } from 'vitest';
import { findBots } from '../../../src/front/bots/bot-selection.js';
import { MirrorJudge } from '../../../src/front/bots/mirror-judge.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { parseFilter } from '../../../src/shared/stream/filter.js';
import { lookClock } from '../../harness/look-clock.js';
import { logLine } from '../shared/ring-fixture.js';
import { EPOCH, type Opened, TestFront } from './fanout-fixture.js';

const BOTS = 200;
const HOSTILE = 'a'.repeat(1024);
/** Each look takes a millisecond, and the longest slice of a front has five. */
const MOST_LOOKS = 6;

afterEach(() => vi.restoreAllMocks());

function front(bytes = 2 ** 22, slots = 2 ** 14): TestFront {
  const made = new TestFront(bytes, slots);
  made.publish(
    Array.from({ length: BOTS }, (_, at): Item => {
      const error = at % 2 === 0 ? `${HOSTILE}b` : HOSTILE;
      return { kind: 'session', id: `bot-${at}`, patch: { last_error: error } };
    }),
  );
  made.mirror.sync();
  return made;
}

/** Ids of the snapshots and lines of lines that a stream has got, in order. */
const heard = ({ socket }: Opened): string[] =>
  [...socket.text.matchAll(/"snapshot":\{"id":"([^"]+)"|"message":"([^"]+)"/g)].map(
    ([, id, message]) => (id ?? message) as string,
  );
const even = Array.from({ length: BOTS / 2 }, (_, at) => `bot-${2 * at}`);

it('a stream opens in slices, and gets the same snapshots and frames as from a quick query', async () => {
  const service = front();
  const looks = lookClock();
  const opened = service.open({ query: [['query', 'last_error:b']] });
  // What happens meanwhile belongs to it: it begins where it was opened.
  service.publish([
    logLine({ session_id: 'bot-0', message: 'early' }),
    logLine({ session_id: 'bot-1', message: 'not this one' }),
    { kind: 'session', id: 'bot-1', patch: { last_error: 'b' } },
    { kind: 'session', id: 'bot-2', patch: { status: 'deleted' } },
    logLine({ session_id: 'bot-1', message: 'late' }),
  ]);
  await service.settle();
  expect(looks.most()).toBeLessThanOrEqual(MOST_LOOKS);
  expect(heard(opened)).toEqual([...even, 'early', 'bot-1', 'bot-2', 'late']);
  service.fanout.stop();
});

it('bots that all change at once are judged in slices, and each frame by its own time', async () => {
  const service = front();
  const opened = service.open({ query: [['query', 'last_error:b event:log']] });
  await service.settle();
  const looks = lookClock();
  service.publish(
    Array.from({ length: BOTS }, (_, at): Item[] => [
      { kind: 'session', id: `bot-${at}`, patch: { last_error: at % 2 ? `${HOSTILE}b` : HOSTILE } },
      logLine({ session_id: `bot-${at}`, message: `line ${at}` }),
    ]).flat(),
  );
  await service.settle();
  expect(looks.most()).toBeLessThanOrEqual(MOST_LOOKS);
  expect(heard(opened)).toEqual(Array.from({ length: BOTS / 2 }, (_, at) => `line ${2 * at + 1}`));
  service.fanout.stop();
});

it('two streams with hostile queries share the slice', async () => {
  const service = front();
  for (const query of ['last_error:b', 'last_error:c', 'last_error:d', 'last_error:e']) {
    service.open({ query: [['query', query]], snapshots: false });
  }
  await service.settle();
  const looks = lookClock();
  service.publish(
    Array.from({ length: BOTS }, (_, at) => ({
      kind: 'session',
      id: `bot-${at}`,
      patch: { restarts: 1 },
    })),
  );
  await service.settle();
  expect(looks.most()).toBeLessThanOrEqual(MOST_LOOKS);
  service.fanout.stop();
});

it('the bots of a search in the past are found in slices', async () => {
  const service = front();
  const looks = lookClock();
  const filter = parseFilter(
    [['query', 'last_error:b']],
    new NameHasher('key'),
    null,
    undefined,
    (key, condition) => new MirrorJudge(service.mirror, key, condition),
  );
  const [sessions] = JSON.parse((await filter?.pastKey) ?? '').slice(2) as [string[]];
  expect(sessions).toEqual(even);
  expect(looks.most()).toBeLessThanOrEqual(MOST_LOOKS);
  // A second one waits for its turn: two at once would be one turn of twice the length.
  const test = ({ last_error }: { last_error: string | null }) => last_error?.indexOf('b') !== -1;
  await Promise.all([findBots(service.mirror, test), findBots(service.mirror, test)]);
  expect(looks.most()).toBeLessThanOrEqual(MOST_LOOKS);
  service.fanout.stop();
});

it('a condition that falls too far behind begins again: its streams get a gap', async () => {
  const service = front(2 ** 26, 2 ** 17);
  const opened = service.open({ query: [['query', 'last_error:b event:log']] });
  await service.settle();
  lookClock();
  const change = { kind: 'session', id: 'other', patch: { last_error: 'c' } } as const;
  for (let times = 0; times < 7; times++) {
    service.publish(Array.from({ length: 10_000 }, () => change));
    service.mirror.sync();
  }
  vi.restoreAllMocks();
  await service.settle();
  service.publish([logLine({ session_id: 'bot-0', message: 'after' })]);
  await service.settle();
  expect(opened.socket.text).toContain(`"from":"${EPOCH}-`);
  expect(heard(opened).at(-1)).toBe('after');
  service.fanout.stop();
});
