import { afterEach, beforeEach, expect, it } from 'vitest';
import { JournalThread } from '../../../src/main/threads/journal-thread.js';
import { JOURNAL_OFF } from '../../../src/shared/contract/journal-messages.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type {
  JournalControlMethods,
  JournalMethods,
  JournalStart,
} from '../../../src/shared/contract/threads.js';
import { createLags } from '../../../src/shared/memory/loop-lag.js';
import { newIdentity } from '../../../src/shared/stream/numbering.js';
import { testRing } from '../shared/ring-fixture.js';
import { FakeClock, FakeThread, settled } from './thread-fixture.js';

let clock: FakeClock;
let started: JournalStart[];
let threads: FakeThread[];
let said: string[];
let replaced: number[];
let journal: JournalThread;

beforeEach(() => {
  clock = new FakeClock();
  started = [];
  threads = [];
  said = [];
  replaced = [];
  const identity = newIdentity();
  journal = new JournalThread(
    {
      config: {
        enabled: true,
        max_bytes: 2 ** 30,
        max_age_hours: 1,
        flush_ms: 50,
        fsync: 'never',
      },
      dataDir: '/nowhere',
      node: null,
      stream: { ring: testRing(1 << 16, 64).shared, ...identity },
      numbering: { ...identity, first: 1, previousShutdown: 'clean', fault: null },
      reader: 0,
      lag: { buffer: createLags(1), block: 0 },
      slow: () => {},
      say: (level, message) => said.push(`${level} ${message}`),
    },
    { peer: { tell: () => {} } } as never,
    (start) => {
      const thread = new FakeThread();
      started.push(start);
      threads.push(thread);
      return thread;
    },
    clock,
  );
  journal.onReplaced(() => replaced.push(clock.now()));
});
afterEach(async () => {
  const closed = journal.close(1000);
  threads.at(-1)?.exit();
  await closed;
});

const last = (): FakeThread => threads.at(-1) as FakeThread;

/** The thread answers from now on, unless it is made stuck. */
function serve(thread: FakeThread) {
  const state = { isStuck: false, isIdle: false, asked: 0, answer: () => {}, awake: () => {} };
  const methods: Partial<Record<keyof JournalMethods, unknown>> = {
    ask: () =>
      new Promise((resolve) => {
        state.answer = () =>
          resolve({ status: { ...JOURNAL_OFF, state: 'on' }, isIdle: state.isIdle });
        state.asked += 1;
        if (!state.isStuck) state.answer();
      }),
    attachBroadcaster: () => {},
    close: () => thread.exit(),
  };
  const main = new Rpc<JournalMethods, JournalControlMethods>(thread.inner, methods as never);
  state.awake = () => main.tell('awake', null);
  return state;
}

it('a thread that dies at once is restarted after longer and longer pauses, and that is reported once', async () => {
  for (const pause of [1000, 2000, 4000]) {
    last().exit(new Error('Cannot find module'));
    await clock.advance(pause - 1);
    const before = threads.length;
    await clock.advance(1);
    expect(threads).toHaveLength(before + 1);
  }
  expect(replaced).toEqual([1000, 3000, 7000]);
  expect(said).toEqual(['error the service continues without its journal: Cannot find module']);
  last().exit(new Error('Cannot find module'));
  await settled();
  expect(journal.status.state).toBe('failed');
  expect(started.map(({ previousShutdown }) => previousShutdown)).toEqual([
    'clean',
    'unexamined',
    'unexamined',
    'unexamined',
  ]);
});

it('pauses never exceed a minute, and a thread that lived longer starts them over', async () => {
  for (let n = 0; n < 10; n++) {
    last().exit(new Error('broken'));
    await clock.advance(Math.min(1000 * 2 ** n, 60_000));
    expect(threads).toHaveLength(n + 2);
  }
  expect(clock.sleeps.slice(-2)).toEqual([60_000, 60_000]);
  serve(last());
  await clock.advance(60_000);
  last().exit(new Error('broken'));
  await clock.advance(1000);
  expect(clock.sleeps.at(-1)).toBe(1000);
  expect(said).toHaveLength(2);
});

it('a thread that does not answer for 5 s has failed until it answers', async () => {
  const state = serve(last());
  await clock.advance(1000);
  expect(journal.status.state).toBe('on');
  state.isStuck = true;
  await clock.advance(5000);
  expect(journal.status.state).toBe('on');
  await clock.advance(3000);
  expect(journal.status.state).toBe('failed');
  state.answer();
  await settled();
  expect(journal.status.state).toBe('on');
  expect(said).toEqual([
    'error the service continues without its journal: the disk has not answered for 5 s',
    'warn the journal: it works again',
  ]);
});

it('a thread that has nothing to do is asked rarely, until it says that it works', async () => {
  const state = serve(last());
  state.isIdle = true;
  await clock.advance(1000);
  expect(state.asked).toBe(1);
  await clock.advance(60_000);
  expect(state.asked).toBe(7);
  state.isIdle = false;
  state.awake();
  await settled();
  state.isStuck = true;
  await clock.advance(8000);
  expect(journal.status.state).toBe('failed');
});
