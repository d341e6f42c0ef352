// Who searches the journal is in nobody's way for longer than it wants to know.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Journal } from '../../../src/journal/journal.js';
import { keyOfQuery, keyOfSessions, Life, logItem, PAGE } from '../../harness/journal.js';
import { makeDir, removeDir } from '../../harness/service.js';

/** So much that a search for a text has many steps. */
const LINES = 60_000;
/** Longer than src/journal/slices.ts lets a search run before it gives way to others, in ms. */
const STEP_MS = 6;
/** As many as run and wait at a time: src/journal/requests.ts. */
const SCANS = 26;

const nothing = { ...PAGE, filter: keyOfQuery('"not to be found"') };

const dir = makeDir();
let life: Life;
beforeAll(async () => {
  life = await Life.begin(dir, { Journal, ringBytes: 2 ** 26 });
  for (let from = 0; from < LINES; from += 1000) {
    const lines = Array.from({ length: 1000 }, (_, at) => `line ${from + at}`);
    life.broadcaster.publish(lines.map((line) => logItem(line, { session_id: 'busy' })));
  }
  life.broadcaster.publish([logItem('here', { session_id: 'rare' })]);
  // Each step of a search takes its whole time, on every machine.
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += STEP_MS;
    return now;
  });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await life.end();
  removeDir(dir);
});

it('what is found by an index does not wait for those that read everything', async () => {
  const { journal } = life;
  await journal.answers.page(PAGE);
  let read = 0;
  const scans = Array.from({ length: SCANS }, () =>
    journal.answers.page(nothing).then(() => ++read),
  );
  await expect(journal.answers.page(nothing)).rejects.toMatchObject({ code: 'overloaded' });
  const { count } = await journal.answers.page({ ...PAGE, filter: keyOfSessions('rare') });
  expect(count).toBe(1);
  await journal.answers.stats({ token: 'a', after: null, before: null, stepS: null });
  expect(read).toBeLessThan(SCANS / 2);
  await Promise.all(scans);
});

it('what nobody waits for any more is not searched for, and its place is free at once', async () => {
  const { journal } = life;
  await journal.answers.page(PAGE);
  const clients = Array.from({ length: SCANS }, () => new AbortController());
  const scans = clients.map((gone) => journal.answers.page(nothing, gone.signal));
  const ends = Promise.allSettled(scans);
  // The first have begun.
  await new Promise(setImmediate);
  for (const gone of clients) gone.abort();
  for (const { status, reason } of (await ends) as PromiseRejectedResult[]) {
    expect(status).toBe('rejected');
    expect(reason).toMatchObject({ code: 'no_answer' });
  }
  const late = journal.answers.page(nothing, clients[0]?.signal);
  await expect(late).rejects.toMatchObject({ code: 'no_answer' });
  expect(await journal.answers.page(nothing)).toMatchObject({ count: 0 });
});

it('many searches of one token leave the others their share', async () => {
  const { journal } = life;
  await journal.answers.page(PAGE);
  const ended: string[] = [];
  const search = (token: string) =>
    journal.answers.page({ ...nothing, token }).then(
      () => ended.push(token),
      ({ code }) => ended.push(`${token} ${code}`),
    );
  const greedy = Array.from({ length: 40 }, () => search('greedy'));
  const others = ['b', 'c', 'd', 'e', 'f', 'g'].map((token) => search(token));
  await Promise.all([...greedy, ...others]);
  const answered = ended.filter((end) => !end.includes(' '));
  expect(answered.filter((token) => token !== 'greedy').toSorted()).toEqual([
    'b',
    'c',
    'd',
    'e',
    'f',
    'g',
  ]);
  expect(answered).toHaveLength(SCANS);
  // They did not wait for all of its searches either: one of each token runs in turn.
  expect(answered.lastIndexOf('g')).toBeLessThan(12);
});
