// Frames that have left JetStream's window, from the journals of the nodes: each once, in order, and what is in none is a hole.

import { expect, it } from 'vitest';
import { BlockWriter } from '../../../../src/cluster/bus/block-writer.js';
import { type FramesAnswerHead, withHead } from '../../../../src/cluster/bus/history-messages.js';
import { replayFromJournals } from '../../../../src/cluster/bus/journal-replay.js';
import { NameHasher } from '../../../../src/shared/contract/name-hash.js';
import { DroverError } from '../../../../src/shared/errors.js';
import { createNodeNames, NodeNamesWriter } from '../../../../src/shared/memory/node-names.js';
import { KIND_CODE, NO_LEVEL } from '../../../../src/shared/stream/frame.js';
import { Cut } from '../../../../src/shared/stream/replay-cut.js';

/** Runs of frames that a node has, by number of the cluster. */
type Runs = readonly (readonly [first: number, count: number])[];

function answer(node: string, runs: Runs, upTo: number | null): Buffer {
  const blocks = runs.map(([first, count]) => {
    const writer = new BlockWriter();
    for (let n = first; n < first + count; n++) {
      writer.add(KIND_CODE.log, NO_LEVEL, null, null, JSON.stringify({ node, n }));
    }
    const head = { node, incarnation: 'i', epoch: node, first: 1, next: count + 1 };
    const bytes = writer.finish({ ...head, type: 'frames', at: { seq: 0, total: 0 } });
    return { first, bytes };
  });
  const head: FramesAnswerHead = {
    blocks: blocks.map(({ first, bytes }) => ({ first, bytes: bytes.length })),
    upTo,
  };
  return Buffer.from(withHead(head, ...blocks.map(({ bytes }) => bytes)));
}

async function replay(answers: Record<string, Buffer | DroverError>, from: number, before = 100) {
  const all = Object.entries(answers);
  const faults = new Map(
    all.flatMap(([node, one]) => (one instanceof DroverError ? [[node, one] as const] : [])),
  );
  const nodes = {
    of: () => all.map(([node]) => node),
    isLive: (node: string) => node !== 'lost',
    ask: async () => ({
      answers: all.flatMap(([node, bytes]) => (Buffer.isBuffer(bytes) ? [{ node, bytes }] : [])),
      missing: [],
      faults,
    }),
  };
  const request = { from, filter: null, pieceBytes: 1 << 16, maxBytes: 1 << 20 } as never;
  const names = new NodeNamesWriter(createNodeNames());
  const parts = { nodes, hasher: new NameHasher('00'), names };
  const part = await replayFromJournals(parts, 'c1', request, before, new Cut(request, null));
  const text = Buffer.from(part.bytes).toString();
  const frames = [...text.matchAll(/^id: c1-(\d+)$[\s\S]*?"n":(\d+)/gm)];
  expect(frames.map(([, id]) => id)).toEqual(frames.map(([, , n]) => n));
  return { first: part.first, next: part.next, ids: frames.map(([, id]) => Number(id)) };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n);

it('those of several nodes are one part, up to where JetStream has them', async () => {
  const answers = {
    h1: answer(
      'h1',
      [
        [10, 5],
        [20, 85],
      ],
      null,
    ),
    h2: answer('h2', [[15, 5]], null),
  };
  expect(await replay(answers, 12)).toEqual({ first: 12, next: 100, ids: range(12, 100) });
});

it('end where an answer ends: what a node has after it is not known', async () => {
  const answers = {
    h1: answer('h1', [[10, 5]], 15),
    h2: answer('h2', [[15, 5]], null),
  };
  expect(await replay(answers, 10)).toEqual({ first: 10, next: 15, ids: range(10, 15) });
});

it('a frame that is in no journal is a hole up to the next one', async () => {
  const answers = {
    h1: answer(
      'h1',
      [
        [10, 5],
        [20, 5],
      ],
      null,
    ),
    lost: new DroverError('no_answer'),
  };
  expect(await replay(answers, 10)).toMatchObject({ first: 10, next: 15 });
  expect(await replay(answers, 15)).toEqual({ first: 20, next: 20, ids: [] });
  expect(await replay(answers, 25)).toEqual({ first: 100, next: 100, ids: [] });
});

it('an answer with too many blocks, or too many bytes, is none, and is not all unpacked', async () => {
  const writer = new BlockWriter();
  const text = JSON.stringify({ n: 'x'.repeat(60_000) });
  while (!writer.isFull) writer.add(KIND_CODE.log, NO_LEVEL, null, null, text);
  const count = writer.count;
  const head = { node: 'h1', incarnation: 'i', epoch: 'e', first: 1, next: count + 1 };
  const bytes = writer.finish({ ...head, type: 'frames', at: { seq: 0, total: 0 } });
  const most = (n: number): Buffer => {
    const blocks = Array.from({ length: n }, () => ({ first: 1, bytes: bytes.length }));
    return Buffer.from(withHead({ blocks, upTo: null }, ...blocks.map(() => bytes)));
  };
  expect(bytes.length).toBeLessThan(1000);
  expect((await replay({ h1: most(1) }, 1, 1 + count)).next).toBe(1 + count);
  await expect(replay({ h1: most(16_384) }, 1)).rejects.toThrow(
    /: its blocks have more than 67108864 bytes$/,
  );
  const many = Array.from({ length: 20_000 }, () => ({ first: 1, bytes: 0 }));
  await expect(
    replay({ h1: Buffer.from(withHead({ blocks: many, upTo: null })) }, 1),
  ).rejects.toThrow('its answer cannot be read: it has more than 16384 blocks');
});

it('a live node that does not answer, or not with blocks, is waited for', async () => {
  const good = answer('h1', [[10, 5]], null);
  const fault = new DroverError('no_answer', 'no answer in time');
  await expect(replay({ h1: good, h2: fault }, 10)).rejects.toBe(fault);
  await expect(replay({ h1: good, h2: good.subarray(0, good.length - 9) }, 10)).rejects.toThrow(
    'its answer cannot be read: ',
  );
});
