// Operations: what is done to many bots at once is followed, paused, resumed and canceled; and what each token sees of it.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ActivityEvent } from '../../src/shared/contract/events.js';
import type { Operation, OperationBots } from '../../src/shared/contract/operations.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { eventually, list } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { activityOf, operationOf } from '../harness/shapes.js';
import type { Frame, SseStream } from '../harness/sse.js';
import { type Made, makeToken, streamOf } from '../harness/tokens.js';

/** The second bot of an operation with it is not begun during a test. */
const HOURLY = { parallel: 1, stagger_ms: 3_600_000 };

let service: InjectedService;
let stream: SseStream;
let ada: Made;
let serial = 0;
/** Bots of this test. */
let ids: string[];

beforeAll(async () => {
  service = await inject({ fronts: 2 });
  stream = await streamOf(service, await service.token());
  ada = await makeToken(service, { name: 'Ada', scopes: ['control', 'read'] });
});
afterAll(async () => {
  stream?.close();
  await service?.close();
});
beforeEach(async () => {
  serial += 1;
  ids = [0, 1, 2].map((n) => `op-${serial}-${n}`);
  const labels = { group: `g${serial}` };
  const bots = ids.map((id) => ({ id, kind: 'synthetic', desired: 'stopped', labels }));
  await createLines(bots.map((bot) => JSON.stringify(bot)).join('\n'));
});

const actions = (body: object, query = '', token = ada.token): Promise<Answer> =>
  call(service, 'POST', `/api/bots/actions${query}`, { body, token });
const get = (path: string, token = ada.token): Promise<Answer> =>
  call(service, 'GET', `/api/operations${path}`, { token });
const change = (id: string, what: string, token = ada.token): Promise<Answer> =>
  call(service, 'POST', `/api/operations/${id}/${what}`, { token });
const createLines = (text: string, query = '', token = ada.token): Promise<Answer> =>
  call(service, 'POST', `/api/bots${query}`, {
    text,
    token,
    headers: { 'content-type': 'application/x-ndjson' },
  });
const operationIn = ({ json }: Answer): Operation => (json as { operation: Operation }).operation;
const botsOf = async (id: string, query = '', token = ada.token): Promise<OperationBots> =>
  (await get(`/${id}/bots${query}`, token)).json as OperationBots;
async function begun(body: object, token = ada.token): Promise<Operation> {
  const answer = await actions(body, '?wait=0', token);
  expect(answer.status, answer.text).toBe(202);
  return operationIn(answer);
}
const toldOf = (id: string): Operation[] =>
  stream.frames.flatMap((frame: Frame) => operationOf(frame) ?? []).filter((one) => one.id === id);
const activitiesOf = (id: string): ActivityEvent[] =>
  stream.frames
    .flatMap((frame: Frame) => activityOf(frame) ?? [])
    .filter(({ operation }) => operation === id);

it('an action waits for its end, and its answer has the operation', async () => {
  const answer = await actions({ action: 'start', ids: [...ids, 'gone'] });
  expect(answer.status).toBe(200);
  const { results, operation } = answer.json as { results: object; operation: Operation };
  expect(Object.keys(results)).toEqual([...ids, 'gone']);
  expect(results).toMatchObject({ gone: { error: 'no bot "gone"' } });
  expect(operation).toMatchObject({
    type: 'action',
    title: 'start 4 bots',
    state: 'done',
    actor: { name: 'Ada', token: ada.id },
    options: { parallel: 1000, stagger_ms: 0, max_failed: null },
    bots: 4,
    counts: { done: 3, failed: 1 },
  });
  expect((await get(`/${operation.id}`)).json).toEqual(operation);
  const { bots } = await botsOf(operation.id, '?result=failed');
  expect(bots).toMatchObject([{ id: 'gone', result: 'failed', error: 'no bot "gone"' }]);
  const listed = (await get('?limit=1')).json as { operations: Operation[] };
  expect(listed.operations).toEqual([operation]);
});

it('wait=0 answers at once, a shorter wait with what is done by then, and GET waits for the end', async () => {
  const answer = await actions({ action: 'start', ids, ...HOURLY }, '?wait=1');
  expect(answer.status).toBe(202);
  const { id } = operationIn(answer);
  await eventually(async () => (await botsOf(id, '?result=done')).bots.length === 1, 'one done');
  const some = (await get(`/${id}?wait=1`)).json as Operation;
  expect(some).toMatchObject({ state: 'running', ended_ms: null, counts: { done: 1, waiting: 2 } });
  const waits = get(`/${id}?wait=60000`);
  await change(id, 'cancel');
  expect((await waits).json).toMatchObject({ state: 'canceled', reason: 'canceled by Ada' });
  const quick = await begun({ action: 'stop', ids });
  expect((await get(`/${quick.id}?wait=60000`)).json).toMatchObject({ state: 'done' });
  expectError(
    await get(`/${id}?wait=3600001`),
    400,
    'wait must be a whole number from 0 to 3600000',
  );
  expectError(await get('/none'), 404, 'no operation "none"');
});

it('it is paused, resumed and canceled, and says who did that; its end refuses more', async () => {
  const { id } = await begun({ action: 'start', ids, ...HOURLY });
  expect((await change(id, 'pause')).json).toMatchObject({ state: 'paused' });
  expect((await change(id, 'pause')).status).toBe(200);
  expect((await change(id, 'resume')).json).toMatchObject({ state: 'running' });
  const { json } = await change(id, 'cancel');
  expect(json).toMatchObject({ reason: 'canceled by Ada' });
  expect((await get(`/${id}?wait=60000`)).json).toMatchObject({
    state: 'canceled',
    counts: { done: 1, skipped: 2 },
  });
  for (const what of ['pause', 'resume', 'cancel']) {
    expectError(await change(id, what), 409, `operation ${id} is canceled: it cannot ${what}`);
  }
  await stream.until(() =>
    ['pause', 'resume', 'cancel'].every((what) =>
      stream.frames.some((frame: Frame) => {
        const told = activityOf(frame);
        return told?.activity === `operation.${what}` && told.target === id;
      }),
    ),
  );
});

it('the answer of one that was canceled has a reason for each bot that was not begun', async () => {
  const waits = actions({ action: 'start', ids, ...HOURLY });
  let id = '';
  await eventually(async () => {
    const { operations } = (await get('?limit=1')).json as { operations: Operation[] };
    id = operations[0]?.id ?? '';
    return operations[0]?.counts.done === 1 && operations[0].state === 'running';
  }, 'the first bot is done');
  await change(id, 'cancel');
  const { results } = (await waits).json as { results: Record<string, object> };
  expect(ids.map((bot) => results[bot])).toEqual([
    { status: expect.any(String) },
    { error: 'skipped: canceled by Ada' },
    { error: 'skipped: canceled by Ada' },
  ]);
});

it('it stops after too many failures', async () => {
  const body = { action: 'start', ids: ['no-1', 'no-2', ...ids], parallel: 1, max_failed: 1 };
  const { operation, results } = (await actions(body)).json as {
    operation: Operation;
    results: Record<string, object>;
  };
  expect(operation).toMatchObject({ state: 'stopped', counts: { failed: 2, skipped: 3 } });
  expect(results[ids[0] as string]).toEqual({ error: 'skipped: failed: 2, max_failed: 1' });
});

it('bots are selected by a query, by labels, and by ids of which they are some', async () => {
  const bots = async (body: object): Promise<string[]> => {
    const answer = await actions({ action: 'stop', ...body });
    expect(answer.status, answer.text).toBe(200);
    return Object.keys((answer.json as { results: object }).results).sort();
  };
  const group = `g${serial}`;
  expect(await bots({ query: `label:group=${group}` })).toEqual(ids);
  expect(await bots({ query: `label:group=${group} -bot:${ids[1]}` })).toEqual([ids[0], ids[2]]);
  expect(await bots({ labels: { group } })).toEqual(ids);
  expect(await bots({ labels: { group }, query: `bot:${ids[1]}` })).toEqual([ids[1]]);
  expect(await bots({ ids: [ids[2], 'gone', ids[2]], query: 'status:stopped' })).toEqual([ids[2]]);
  expect(await bots({ query: 'status:unheard-of' })).toEqual([]);
  expectError(await actions({ action: 'stop', query: 'bot:"' }), 400, /^query: /);
  expectError(await actions({ action: 'stop' }), 400, /ids or .*labels or .*query is missing/);
});

it('pages of its bots are in their order, each bot once', async () => {
  const { id } = operationIn(await actions({ action: 'stop', ids }));
  const first = await botsOf(id, '?limit=2');
  expect(first.bots.map((bot) => bot.id)).toEqual(ids.slice(0, 2));
  const second = await botsOf(id, `?limit=2&cursor=${first.next}`);
  expect(second.bots.map((bot) => bot.id)).toEqual(ids.slice(2));
  expect(second.next).toBeNull();
  const some = await botsOf(id, '?limit=1&result=done&cursor=1');
  expect(some).toMatchObject({ bots: [{ id: ids[1] }], next: '2' });
  expectError(await get(`/${id}/bots?cursor=x`), 400, 'cursor must have the form of 1000');
});

it('events say how far it is, and activities and operation have one id', async () => {
  const { operation } = (await actions({ action: 'start', ids })).json as { operation: Operation };
  await stream.until(() => toldOf(operation.id).some(({ state }) => state === 'done'));
  const told = toldOf(operation.id);
  expect(told[0]).toMatchObject({ state: 'running', title: 'start 3 bots' });
  expect(told.at(-1)).toEqual(operation);
  await stream.until(() => activitiesOf(operation.id).length === 3);
  expect(activitiesOf(operation.id)).toMatchObject(
    ids.map((session_id) => ({ session_id, activity: 'bot.start', actor: 'Ada', outcome: 'done' })),
  );
});

it('activities are told when bots are done, also of a request that does not wait', async () => {
  const { id } = await begun({ action: 'stop', ids: [...ids, 'gone'], ...HOURLY });
  await stream.until(() => activitiesOf(id).length === 1);
  await change(id, 'cancel');
  await get(`/${id}?wait=60000`);
  expect(activitiesOf(id).map(({ session_id }) => session_id)).toEqual([ids[0]]);
});

it('a token that is limited to some bots sees those in operations of others, and no number of the rest', async () => {
  const [own, other] = ids as [string, string];
  const limited = await makeToken(service, {
    name: 'Lim',
    scopes: ['read', 'control'],
    bots: [own],
  });
  const { operation } = (await actions({ action: 'start', ids })).json as { operation: Operation };
  const { id } = operation;
  const shown = (await get(`/${id}`, limited.token)).json as Operation;
  expect(shown).toMatchObject({
    title: 'action: 1 bot of this token',
    bots: 1,
    counts: { done: 1, failed: 0, skipped: 0, waiting: 0, running: 0 },
  });
  expect((await botsOf(id, '', limited.token)).bots.map((bot) => bot.id)).toEqual([own]);
  const without = operationIn(await actions({ action: 'stop', ids: [other] }));
  expectError(await get(`/${without.id}`, limited.token), 404, `no operation "${without.id}"`);
  expectError(await get(`/${without.id}/bots`, limited.token), 404);
  const { operations } = (await get('', limited.token)).json as { operations: Operation[] };
  expect(operations.some((one) => one.id === id)).toBe(true);
  expect(operations.some((one) => one.id === without.id)).toBe(false);
});

it('it changes only operations that it began, and others none that it does not see', async () => {
  const [own, other] = ids as [string, string];
  const scopes = ['read', 'control'];
  const limited = await makeToken(service, { scopes, bots: [own, other] });
  const second = await makeToken(service, { scopes, bots: [other] });
  const foreign = await begun({ action: 'start', ids, ...HOURLY });
  expectError(
    await change(foreign.id, 'cancel', limited.token),
    403,
    'this token is limited to some bots: it can cancel only operations that it began',
  );
  const mine = await begun({ action: 'stop', ids: [own, 'gone'], ...HOURLY }, limited.token);
  expectError(await change(mine.id, 'cancel', second.token), 404);
  expect((await get(`/${mine.id}`, limited.token)).json).toMatchObject({ bots: 2 });
  expect((await change(mine.id, 'cancel', limited.token)).status).toBe(200);
  // Who is not limited can end those of all.
  expect((await change(foreign.id, 'cancel')).status).toBe(200);
});

it('what was done to an earlier bot with an id is not seen by who reaches the one of now', async () => {
  const [id] = ids as [string];
  const limited = await makeToken(service, { bots: [id] });
  const stopped = operationIn(await actions({ action: 'stop', ids: [id] }));
  expect((await get(`/${stopped.id}`, limited.token)).status).toBe(200);
  await actions({ action: 'delete', ids: [id] });
  expectError(await get(`/${stopped.id}`, limited.token), 404);
  await createLines(JSON.stringify({ id, kind: 'synthetic' }));
  expectError(await get(`/${stopped.id}`, limited.token), 404);
});

it('a limited token selects and reaches no other bots, and gets no events of operations', async () => {
  const [own, other] = ids as [string, string];
  const limited = await makeToken(service, { scopes: ['read', 'control'], bots: [own] });
  const events = await streamOf(service, limited.token);
  const group = `g${serial}`;
  for (const body of [{ labels: { group } }, { query: `label:group=${group}` }]) {
    const { json } = await actions({ action: 'start', ...body }, '', limited.token);
    expect(Object.keys((json as { results: object }).results)).toEqual([own]);
  }
  const asked = await actions({ action: 'stop', ids: [own, other] }, '', limited.token);
  expect((asked.json as { results: object }).results).toMatchObject({
    [other]: { error: `no bot "${other}"` },
  });
  await events.until(() =>
    events.frames.some((frame: Frame) => activityOf(frame)?.activity === 'bot.stop'),
  );
  expect(events.frames.filter(({ event }: Frame) => event === 'operation')).toEqual([]);
  events.close();
});

it('many bots are created with one request, and an operation starts those that are to run', async () => {
  const lines = ['a', 'b', 'c'].map((name, n) => ({
    id: `made-${serial}-${name}`,
    kind: 'synthetic',
    ...(n === 2 && { desired: 'stopped' }),
  }));
  const text = `${lines.map((bot) => JSON.stringify(bot)).join('\n\r\n\n')}\n`;
  const answer = await createLines(text);
  expect(answer.status, answer.text).toBe(201);
  const operation = operationIn(answer);
  expect(operation).toMatchObject({
    type: 'create',
    title: 'create 3 bots',
    state: 'done',
    counts: { done: 3 },
  });
  const shown = await list(service);
  expect(lines.map(({ id }) => shown.find((bot) => bot.id === id)?.desired)).toEqual([
    'running',
    'running',
    'stopped',
  ]);
  expect((await botsOf(operation.id)).bots.at(-1)).toMatchObject({ status: 'stopped' });
  await stream.until(() => activitiesOf(operation.id).length === 3);
  expect(activitiesOf(operation.id)).toMatchObject(
    lines.map(({ id }) => ({ activity: 'bot.create', session_id: id, outcome: 'done' })),
  );
});

it('wait=0 answers as soon as the bots are stored, and wait is for many bots only', async () => {
  const id = `early-${serial}`;
  const answer = await createLines(JSON.stringify({ id, kind: 'synthetic' }), '?wait=0');
  expect([201, 202]).toContain(answer.status);
  expect((await list(service)).some((bot) => bot.id === id)).toBe(true);
  const one = await call(service, 'POST', '/api/bots?wait=0', { body: { id: 'x', kind: 'y' } });
  expectError(one, 400, 'wait is for many bots: send them as application/x-ndjson');
});

it('every wrong line is named, in order, and nothing is created', async () => {
  const before = (await list(service)).length;
  const bot = (more: object): string => JSON.stringify({ kind: 'synthetic', ...more });
  const id = `bad-${serial}`;
  const text = [
    bot({ id: `${id}-ok` }),
    '{"id":',
    bot({ id: `${id}-config`, config: { events_per_second: 'many' } }),
    bot({ id: 'not an id' }),
    '',
    bot({ id: `${id}-ok` }),
    bot({ id: ids[0] }),
    bot({ id: `${id}-kind`, kind: 'nope' }),
    bot({ id: `${id}-more`, colour: 'red' }),
    '[1]',
    bot({ id: `${id}-node`, node: 'h1' }),
    `${'['.repeat(70)}${']'.repeat(70)}`,
  ].join('\n');
  const error = expectError(await createLines(text), 400);
  expect(error.split(/; (?=line)/)).toEqual([
    'line 2: the line is not valid JSON',
    'line 3: config.events_per_second must be integer',
    expect.stringMatching(/^line 4: id must be /),
    `line 6: line 1 has the id ${id}-ok too`,
    `line 7: bot ${ids[0]} exists already`,
    expect.stringMatching(/^line 8: .*nope/),
    'line 9: unknown key colour',
    'line 10: must be object',
    'line 11: this service is not in a cluster: node needs one',
    'line 12: the line is nested more than 64 levels deep',
  ]);
  expect((await list(service)).length).toBe(before);
});

it('of many wrong lines the first twenty are named, and the others counted', async () => {
  const error = expectError(await createLines(Array(50).fill('{}').join('\n')), 400);
  expect(error.match(/line \d+: /g)).toHaveLength(20);
  expect(error).toMatch(/; and 30 more lines$/);
});

it('bodies that are no lines, or too many of them, are refused', async () => {
  expectError(await createLines(''), 400, 'the body has no lines');
  expectError(await createLines('\n \n'), 400, 'the body has no lines');
  const most = Array(10_001).fill('{}').join('\n');
  expectError(await createLines(most), 413, 'the body has more than 10000 lines');
  const type = { 'content-type': 'application/x-ndjson' };
  const elsewhere = await call(service, 'POST', '/api/bots/actions', { text: '{}', headers: type });
  expectError(elsewhere, 415);
});

it('a limited token creates what it reaches, and learns nothing of other ids', async () => {
  const own = `own-${serial}`;
  const limited = await makeToken(service, { scopes: ['control'], bots: [own, ids[0]] });
  const bot = (id: string | undefined): string => JSON.stringify({ id, kind: 'synthetic' });
  const lines = [bot(own), bot(ids[0]), bot(ids[1]), bot('nobody')].join('\n');
  expect(expectError(await createLines(lines, '', limited.token), 400).split(/; (?=line)/)).toEqual(
    [
      `line 2: the id ${ids[0]} cannot be used`,
      'line 3: this token is limited to some bots',
      'line 4: this token is limited to some bots',
    ],
  );
  expect((await createLines(bot(own), '', limited.token)).status).toBe(201);
  const reader = await makeToken(service, { scopes: ['read'] });
  expectError(await createLines(bot('x'), '', reader.token), 403);
});
