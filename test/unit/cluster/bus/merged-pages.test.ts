// Pages of all nodes: every event once, in the order of their times, with pages of any size.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type HistoryQuestion,
  type PageAnswerHead,
  type PageQuestion,
  withHead,
} from '../../../../src/cluster/bus/history-messages.js';
import type { HistoryNodes } from '../../../../src/cluster/bus/history-nodes.js';
import { decodeCursor, encodeCursor } from '../../../../src/cluster/bus/merged-cursor.js';
import { MergedPages } from '../../../../src/cluster/bus/merged-pages.js';
import type { Asked, PageRequest } from '../../../../src/shared/contract/journal-messages.js';
import { DroverError } from '../../../../src/shared/errors.js';

const EPOCH = 'ee';
const REQUEST: Asked<PageRequest> = {
  filter: null,
  order: 'newest',
  afterSeq: null,
  beforeSeq: null,
  afterMs: null,
  beforeMs: null,
  limit: 1000,
  maxBytes: 1 << 20,
  lines: false,
  token: 't',
  merged: { cursor: null, cut: null },
};

interface OwnEvent {
  ms: number;
  seq: number;
}

/** Nodes with these events, which answer as their journals would. `steps`: events that one search finds at the most. */
class FakeNodes implements Pick<HistoryNodes, 'of' | 'ask'> {
  readonly questions: PageQuestion[] = [];
  readonly down = new Set<string>();
  forgottenBelow = 0;
  readonly #events: ReadonlyMap<string, readonly OwnEvent[]>;
  readonly #steps: number;

  constructor(events: ReadonlyMap<string, readonly OwnEvent[]>, steps = 1000) {
    this.#events = events;
    this.#steps = steps;
  }

  of(wanted: readonly string[] | null): string[] {
    return [...this.#events.keys()].filter((node) => wanted?.includes(node) ?? true).sort();
  }

  async ask(questions: ReadonlyMap<string, HistoryQuestion>) {
    const answers: { node: string; bytes: Buffer }[] = [];
    const faults = new Map<string, DroverError>();
    for (const [node, question] of questions) {
      if (this.down.has(node)) faults.set(node, new DroverError('unavailable', 'nobody answers'));
      else answers.push({ node, bytes: this.#answer(node, question as PageQuestion) });
    }
    const missing = [...faults].map(([node, { message: reason }]) => ({ node, reason }));
    return { answers, missing, faults };
  }

  #answer(node: string, question: PageQuestion): Buffer {
    this.questions.push(question);
    const { at, request } = question;
    const isDown = request.order === 'newest';
    const all = [...(this.#events.get(node) ?? [])]
      .filter(({ ms }) => ms >= (request.afterMs ?? 0) && ms < (request.beforeMs ?? Infinity))
      .sort((one, other) => (isDown ? other.seq - one.seq : one.seq - other.seq))
      .filter(({ seq }) => at === null || (isDown ? seq < at : seq > at));
    const some = all.slice(0, Math.min(request.limit, this.#steps));
    const isEnd = some.length === all.length;
    const head: PageAnswerHead = {
      at: isEnd ? null : (some.at(-1)?.seq ?? null),
      forgottenBelow: this.forgottenBelow,
    };
    const lines = some.map(({ ms, seq }) => `${ms} ${seq} {"id":"${node}-${seq}"}\n`);
    return Buffer.from(withHead(head, Buffer.from(lines.join(''))));
  }
}

const pagesOf = (nodes: FakeNodes): MergedPages =>
  new MergedPages({ nodes, position: () => ({ epoch: EPOCH, next: 500, seq: 40 }) });

async function readAll(nodes: FakeNodes, request: Partial<PageRequest>): Promise<string[]> {
  const pages = pagesOf(nodes);
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const asked = { ...REQUEST, ...request, merged: { cursor, cut: null } };
    const page = await pages.page(asked);
    const body = JSON.parse(Buffer.from(page.body).toString()) as { events: { id: string }[] };
    expect(body.events).toHaveLength(page.count);
    ids.push(...body.events.map(({ id }) => id));
    cursor = page.merged?.cursor ?? null;
  } while (cursor !== null);
  return ids;
}

const nodeEvents = fc
  .array(fc.record({ step: fc.nat(3), ahead: fc.nat(2) }), { maxLength: 30 })
  .map((steps) => {
    let ms = 1000;
    // Times of a node go back a little now and then.
    return steps.map(({ step, ahead }, at) => {
      ms += step;
      return { ms: ms - ahead, seq: at + 1 };
    });
  });

it('have every event once, each node in its order, in any size and order', async () => {
  const cases = fc.record({
    h1: nodeEvents,
    h2: nodeEvents,
    h3: nodeEvents,
    limit: fc.integer({ min: 1, max: 12 }),
    steps: fc.integer({ min: 1, max: 9 }),
    order: fc.constantFrom('newest' as const, 'oldest' as const),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ h1, h2, h3, limit, steps, order }) => {
      const events = new Map(Object.entries({ h1, h2, h3 }));
      const whole = await readAll(new FakeNodes(events), { order });
      const inPages = await readAll(new FakeNodes(events, steps), { order, limit });
      expect([...inPages].sort()).toEqual(
        [...events].flatMap(([node, list]) => list.map(({ seq }) => `${node}-${seq}`)).sort(),
      );
      // A node that has not searched to its end holds the others back, so the order is that of one large page.
      expect(inPages).toEqual(whole);
    }),
    { numRuns: 200 },
  );
});

it('are in the order of the times', async () => {
  const events = new Map([
    ['h1', [10, 30, 50].map((ms, at) => ({ ms, seq: at + 1 }))],
    ['h2', [20, 30, 40].map((ms, at) => ({ ms, seq: at + 1 }))],
  ]);
  const oldest = ['h1-1', 'h2-1', 'h1-2', 'h2-2', 'h2-3', 'h1-3'];
  expect(await readAll(new FakeNodes(events), { order: 'oldest', limit: 2 })).toEqual(oldest);
});

it('ask the nodes of the filter, without it, and below the cut', async () => {
  const nodes = new FakeNodes(
    new Map([
      ['h1', []],
      ['h2', [{ ms: 1, seq: 1 }]],
    ]),
  );
  const filter = JSON.stringify([null, ['warn'], null, null, ['h2'], null]);
  const page = await pagesOf(nodes).page({ ...REQUEST, filter, beforeSeq: 900, afterSeq: 7 });
  expect(page).toMatchObject({ count: 1, merged: { cursor: null, cut: 500, missing: [] } });
  expect(nodes.questions).toMatchObject([{ after: 7, before: 500, seq: 40, at: null }]);
  expect(nodes.questions[0]?.request.filter).toBe(
    JSON.stringify([null, ['warn'], null, null, null, null]),
  );
});

it('say which nodes are missing, and fail when all are', async () => {
  const nodes = new FakeNodes(
    new Map([
      ['h1', [{ ms: 5, seq: 1 }]],
      ['h2', [{ ms: 4, seq: 9 }]],
    ]),
  );
  nodes.down.add('h2');
  const page = await pagesOf(nodes).page(REQUEST);
  const missing = [{ node: 'h2', reason: 'nobody answers' }];
  expect(JSON.parse(Buffer.from(page.body).toString())).toEqual({
    events: [{ id: 'h1-1' }],
    cursor: null,
    missing,
  });
  nodes.down.add('h1');
  await expect(pagesOf(nodes).page(REQUEST)).rejects.toMatchObject({ code: 'unavailable' });
});

it('continue with a node that comes back at the time of the last page', async () => {
  const list = (...times: number[]) => times.map((ms, at) => ({ ms, seq: at + 1 }));
  const nodes = new FakeNodes(
    new Map([
      ['h1', list(1, 3, 5, 7)],
      ['h2', list(2, 4, 6, 8)],
    ]),
  );
  nodes.down.add('h2');
  const pages = pagesOf(nodes);
  const first = await pages.page({ ...REQUEST, limit: 2 });
  nodes.down.clear();
  const merged = { cursor: first.merged?.cursor ?? null, cut: null };
  const second = await pages.page({ ...REQUEST, merged });
  const { events } = JSON.parse(Buffer.from(second.body).toString()) as {
    events: { id: string }[];
  };
  expect(events.map(({ id }) => id)).toEqual(['h2-2', 'h1-2', 'h2-1', 'h1-1']);
});

it('declare what a node has removed since the position of the client', async () => {
  const nodes = new FakeNodes(new Map([['h1', [{ ms: 1, seq: 1 }]]]));
  nodes.forgottenBelow = 100;
  const ids = await readAll(nodes, { order: 'oldest', afterSeq: 9 });
  expect(ids).toEqual([`${EPOCH}-99`, 'h1-1']);
  expect(await readAll(nodes, { order: 'newest', afterSeq: 9 })).toEqual(['h1-1']);
  expect(await readAll(nodes, { order: 'oldest', afterSeq: 99 })).toEqual(['h1-1']);
});

it('refuse a cursor that is none of theirs', () => {
  const cursor = { epoch: EPOCH, order: 'newest' as const, cut: 5, at: { h1: 3, h2: null }, ms: 1 };
  const text = encodeCursor(cursor);
  expect(decodeCursor(text, EPOCH, 'newest')).toEqual(cursor);
  const refusal = (...[wrong, epoch, order]: Parameters<typeof decodeCursor>): unknown => {
    try {
      return decodeCursor(wrong, epoch, order);
    } catch (thrown) {
      return (thrown as DroverError).code;
    }
  };
  expect(refusal(text, 'other', 'newest')).toBe('bad_request');
  expect(refusal(text, EPOCH, 'oldest')).toBe('bad_request');
  for (const wrong of ['', 'x', 'e-5', encodeCursor({ ...cursor, at: { h1: 'x' as never } })]) {
    expect(refusal(wrong, EPOCH, 'newest')).toBe('bad_request');
  }
});
