// The life of a journal, step by step: what it does at its end, at its beginning, and when something goes wrong between.

import { expect, it } from 'vitest';
import { expectNoHole, journalDir, Life } from '../harness/journal.js';

it('what was published while the last streams were open keeps its numbers', async () => {
  const dir = journalDir();
  const first = await Life.begin(dir);
  await first.on();
  const stopped = first.say('one', 'stopped');
  await first.past();
  // A request that is answered while a slow stream still takes its last frames.
  const head = first.say('after it', 'and one more');
  expect(head).toBe(stopped + 2);
  await first.end();
  const next = await Life.begin(dir);
  await next.on();
  expect(next.first).toBe(head);
  const events = await next.past();
  expectNoHole(events);
  expect(events.map(({ data }) => data.message)).toEqual([
    'one',
    'stopped',
    'after it',
    'and one more',
  ]);
  await next.end();
});

it('a thread that is replaced goes on with the journal of this run, also when the run began without one', async () => {
  const dir = journalDir();
  const before = await Life.begin(dir);
  await before.on();
  before.say('of another run');
  await before.end();
  const life = await Life.begin(dir, { fault: 'EROFS: read-only file system' });
  expect(life.state).toBe('failed');
  life.say('while it could not be kept');
  await life.on();
  // What lies there is of another numbering.
  expect(life.notices).toEqual([expect.stringContaining('another numbering')]);
  life.say('kept');
  expect(await life.past()).toHaveLength(2);
  await life.replace({ fault: 'EROFS: read-only file system' });
  expect(life.notices).toEqual([]);
  expect((await life.past()).map(({ data }) => data.message)).toEqual([
    'while it could not be kept',
    'kept',
  ]);
  await life.end();
});
