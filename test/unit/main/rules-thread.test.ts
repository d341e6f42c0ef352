import { beforeEach, expect, it, vi } from 'vitest';
import { ruleOfBody } from '../../../src/main/rules/rule-of-body.js';
import { RulesThread } from '../../../src/main/threads/rules-thread.js';
import type { ThreadSource } from '../../../src/main/threads/thread-source.js';
import { createRing } from '../../../src/shared/memory/layout.js';
import { createLags } from '../../../src/shared/memory/loop-lag.js';
import { FakeClock, FakeThread, settled } from './thread-fixture.js';

const rule = ruleOfBody('r1', {
  name: 'errors',
  query: 'level:error',
  condition: 'count',
  window_ms: 60_000,
});
const RULES = [{ rule, revision: 1 }];
const ring = createRing({ bytes: 65_536, slots: 1024, fronts: 2 }, 0);
const threadLost = vi.fn();
const attached = vi.fn();
let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
  threadLost.mockClear();
  attached.mockClear();
});

function rulesThread(source: ThreadSource): RulesThread {
  const rules = new RulesThread(vi.fn(), source, clock);
  rules.listen({
    watched: RULES,
    changed: vi.fn(),
    alerted: vi.fn(),
    lost: vi.fn(),
    threadLost,
  });
  const stream = { ring, epoch: '0000000000', hashKey: '00'.repeat(16) };
  const lag = { buffer: createLags(1), block: 0 };
  rules.follow({ stream, lag, reader: 1 }, attached);
  return rules;
}

it('has no thread until there are rules', () => {
  const source = vi.fn(() => new FakeThread());
  const rules = rulesThread(source);
  rules.watch([]);
  expect(source).not.toHaveBeenCalled();
  rules.watch(RULES);
  expect(source).toHaveBeenCalledOnce();
  expect(attached).toHaveBeenCalledWith(1, expect.anything());
});

it('tries again after a while when the system allows no thread', async () => {
  const thread = new FakeThread();
  const told = vi.fn();
  thread.inner.on('message', told);
  const source = vi
    .fn<ThreadSource>(() => thread)
    .mockImplementationOnce(() => {
      throw new Error('no more threads');
    });
  const rules = rulesThread(source);
  rules.watch(RULES);
  await settled();
  expect(threadLost).toHaveBeenCalledWith('no more threads');
  await clock.advance(60_000);
  expect(source).toHaveBeenCalledTimes(2);
  await settled();
  expect(told.mock.calls.map(([{ method }]) => method)).toEqual(['attachBroadcaster', 'watch']);
});

it('tries no more once the service has stopped', async () => {
  const source = vi.fn<ThreadSource>(() => {
    throw new Error('no more threads');
  });
  const rules = rulesThread(source);
  rules.watch(RULES);
  await settled();
  await rules.close();
  await clock.advance(60_000);
  expect(source).toHaveBeenCalledOnce();
});
