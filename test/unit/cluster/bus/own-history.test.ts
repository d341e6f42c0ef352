// What a node answers about its past: bounds and ids of the cluster, as its journal has them in its own numbering.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type PageAnswerHead,
  type PageQuestion,
  splitHead,
} from '../../../../src/cluster/bus/history-messages.js';
import { OwnHistory } from '../../../../src/cluster/bus/own-history.js';
import { PositionFile } from '../../../../src/cluster/bus/position-file.js';
import { PositionMap } from '../../../../src/cluster/bus/position-map.js';

let dir: string;
let places: PositionMap;
/** The bounds that the journal was asked for. */
let bounds: { afterSeq: number | null; beforeSeq: number }[];
/** First frame that the journal has. */
let oldest: number;
let isBehind: boolean;

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-own-history-'));
  places = new PositionMap(new PositionFile(dir, 'aa'));
  places.add('c1', 1, { own: 10, number: 100, count: 5 });
  places.add('c1', 2, { own: 20, number: 200, count: 5 });
  bounds = [];
  oldest = 0;
  isBehind = false;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A journal with the frames 10 to 29. */
const journal = {
  async call(_: string, { afterSeq, beforeSeq }: { afterSeq: number | null; beforeSeq: number }) {
    bounds.push({ afterSeq, beforeSeq });
    const lines: string[] = [];
    for (let seq = 10; seq < 30; seq++) {
      if (seq <= (afterSeq ?? 0) || seq >= beforeSeq) continue;
      lines.push(`${seq * 1000} ${seq} {"id":"aa-${seq}","event":"log"}\n`);
    }
    return { cursor: null, body: Buffer.from(lines.join('')) };
  },
};

async function ask(more: Partial<PageQuestion> = {}, order: 'newest' | 'oldest' = 'oldest') {
  const history = new OwnHistory({
    node: 'h1',
    incarnation: 'i',
    ownEpoch: 'aa',
    epoch: () => 'c1',
    places,
    hasJournal: true,
    journal: () => journal as never,
    readUpTo: async () => !isBehind,
    pendingFrom: () => 25,
    oldest: async () => oldest,
  });
  const request = { filter: null, order, limit: 1000, maxBytes: 1 << 20 };
  const bytes = await history.answer({
    kind: 'page',
    request: { ...request, afterMs: null, beforeMs: null },
    token: 't',
    epoch: 'c1',
    after: null,
    before: null,
    seq: 2,
    at: null,
    ...more,
  });
  const { head, rest } = splitHead<PageAnswerHead>('page', Buffer.from(bytes));
  const ids = [...rest.toString().matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id);
  return { head, ids };
}

it('events have the ids of the cluster, those that were never on its stream their own', async () => {
  const { ids } = await ask();
  // 25 and later are not on the stream yet.
  expect(ids.slice(0, 7)).toEqual([
    ...[100, 101, 102, 103, 104].map((n) => `c1-${n}`),
    'aa-15',
    'aa-16',
  ]);
  expect(ids.at(-1)).toBe('c1-204');
});

it('bounds are numbers of the cluster', async () => {
  expect((await ask({ after: 103, before: 202 })).ids).toEqual([
    'c1-104',
    ...[15, 16, 17, 18, 19].map((n) => `aa-${n}`),
    'c1-200',
    'c1-201',
  ]);
  expect(await ask({ after: 204 })).toEqual({ head: { at: null, forgottenBelow: 0 }, ids: [] });
  expect(bounds).toHaveLength(1);
});

it('what the journal has removed is said in numbers of the cluster, and asked of it no more', async () => {
  oldest = 22;
  const { head, ids } = await ask({ after: 101 });
  expect(head.forgottenBelow).toBe(202);
  expect(bounds).toEqual([{ afterSeq: 21, beforeSeq: 25 }]);
  expect(ids).toEqual(['c1-202', 'c1-203', 'c1-204']);
});

it('one that is behind, or has another stream, does not answer with a part', async () => {
  await expect(ask({ epoch: 'c0' })).rejects.toThrow('it has another stream of the cluster');
  isBehind = true;
  await expect(ask()).rejects.toThrow('it is behind the stream of the cluster');
});

it('without a journal it answers at once that it has no frames of the past', async () => {
  const none = (): never => {
    throw new Error('it has no journal');
  };
  const history = new OwnHistory({
    node: 'h1',
    incarnation: 'i',
    ownEpoch: 'aa',
    epoch: () => 'c1',
    places,
    hasJournal: false,
    journal: none,
    readUpTo: async () => true,
    pendingFrom: () => 25,
    oldest: async () => null,
  });
  const question = { kind: 'frames', epoch: 'c1', from: 1, maxBytes: 1 << 20 } as const;
  const { head } = splitHead('frames', Buffer.from(await history.answer(question)));
  expect(head).toEqual({ blocks: [], upTo: null });
});
