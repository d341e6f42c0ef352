import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { StartBatches } from '../../../src/main/threads/start-batches.js';
import type { BotStart } from '../../../src/shared/contract/threads.js';
import { DroverError } from '../../../src/shared/errors.js';

type Failed = Record<number, { code: 'internal'; message: string }>;

const bot = (run: number): BotStart => ({ id: `b${run}`, run, kind: 'k', config: {} });

function batchesOf(answer: (runs: number[]) => Promise<Failed> = async () => ({})): {
  batches: StartBatches;
  sent: number[][];
} {
  const sent: number[][] = [];
  const batches = new StartBatches(async (bots) => {
    const runs = bots.map(({ run }) => run);
    sent.push(runs);
    return { failed: await answer(runs) };
  });
  return { batches, sent };
}

it('the starts of one turn share a message, in their order', async () => {
  const { batches, sent } = batchesOf();
  const started = [1, 2, 3].map((run) => batches.add(bot(run)));
  expect(sent).toEqual([]);
  await Promise.all(started);
  expect(sent).toEqual([[1, 2, 3]]);
  await batches.add(bot(4));
  expect(sent).toEqual([[1, 2, 3], [4]]);
});

it('a message has at most 64 of them', async () => {
  const { batches, sent } = batchesOf();
  await Promise.all(Array.from({ length: 150 }, (_, run) => batches.add(bot(run))));
  expect(sent.map(({ length }) => length)).toEqual([64, 64, 22]);
});

it('flush sends what waits at once, and nothing twice', async () => {
  const { batches, sent } = batchesOf();
  const started = batches.add(bot(1));
  batches.flush();
  expect(sent).toEqual([[1]]);
  batches.flush();
  await started;
  await turn();
  expect(sent).toEqual([[1]]);
});

it('each start has its own outcome', async () => {
  const { batches } = batchesOf(async () => ({ 2: { code: 'internal', message: 'it threw' } }));
  const outcomes = await Promise.allSettled([1, 2, 3].map((run) => batches.add(bot(run))));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(outcomes[1]).toMatchObject({ reason: { code: 'internal', message: 'it threw' } });
});

it('all of them reject with the loss of the host', async () => {
  const lost = new DroverError('unavailable', 'bot host 0 was lost');
  const { batches } = batchesOf(() => Promise.reject(lost));
  const outcomes = await Promise.allSettled([batches.add(bot(1)), batches.add(bot(2))]);
  expect(outcomes).toEqual([
    { status: 'rejected', reason: lost },
    { status: 'rejected', reason: lost },
  ]);
});
