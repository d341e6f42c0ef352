// Calls between the main threads of nodes over a real NATS server: several nodes in this process, each with its own connection.

import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { checkCall } from '../../src/cluster/wire/call-messages.js';
import { CallResults } from '../../src/cluster/wire/call-results.js';
import { NO_ANSWER } from '../../src/cluster/wire/call-server.js';
import { type CallsOptions, NodeCalls } from '../../src/cluster/wire/calls.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import type { NatsConnection } from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { Deferred } from '../../src/shared/deferred.js';
import { DroverError } from '../../src/shared/errors.js';
import { NatsServer } from '../harness/nats.js';

const names = clusterNames('test');
const LONG = 30_000;
let server: NatsServer;
let opened: NodeCalls[];

beforeEach(async () => {
  server = await NatsServer.start();
  opened = [];
});
afterEach(async () => {
  for (const calls of opened) calls.close();
  await server.stop();
});

async function node(
  name: string,
  results?: CallResults,
  options: Partial<CallsOptions> = {},
): Promise<{ calls: NodeCalls; nats: NatsConnection }> {
  const nats = await server.connect();
  const unchecked = {
    ...{ context: 'call' as const, subject: names.calls, node: name },
    ...{ signer: Signer.NONE, check: () => {} },
  };
  const calls = new NodeCalls(nats, { ...unchecked, ...(results && { results }), ...options });
  opened.push(calls);
  // The server has its subscriptions.
  await nats.flush();
  return { calls, nats };
}

const ask = async (nats: NatsConnection, message: object): Promise<unknown> => {
  const data = JSON.stringify({ v: 1, id: 'x', deadline_ms: LONG, ...message });
  return (await nats.request(names.calls('b'), data, { timeout: LONG })).json();
};

it('answers with what the other node returns or throws', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  b.serve({
    double: ({ n }: { n: number }) => ({ n: 2 * n }),
    nothing: () => undefined,
    refuse: () => Promise.reject(new DroverError('too_many', 'slower', 7)),
    break: () => Promise.reject(new Error('an inner detail')),
  });
  expect(await a.call('b', 'double', { n: 21 }, LONG)).toEqual({ n: 42 });
  expect(await a.call('b', 'nothing', null, LONG)).toBeUndefined();
  await expect(a.call('b', 'refuse', null, LONG)).rejects.toMatchObject({
    code: 'too_many',
    message: 'slower',
    retryAfterS: 7,
  });
  await expect(a.call('b', 'break', null, LONG)).rejects.toMatchObject({ code: 'internal' });
  await expect(a.call('b', 'absent', null, LONG)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await b.call('b', 'double', { n: 1 }, LONG)).toEqual({ n: 2 });
});

it('fails at once when nothing answers to the name, and names the node', async () => {
  const { calls } = await node('a');
  const before = performance.now();
  await expect(calls.call('gone', 'x', null, LONG)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'node gone cannot be reached: nothing answers to its name',
  });
  expect(performance.now() - before).toBeLessThan(LONG / 3);
});

it('fails at the deadline, and cancels what runs there', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  const cancelled = new Deferred();
  b.serve({
    hang: (_, gone) => {
      gone.addEventListener('abort', () => cancelled.resolve());
      return new Promise(() => {});
    },
  });
  await expect(a.call('b', 'hang', null, 100)).rejects.toThrow('does not answer in time');
  await cancelled.promise;
});

it('tells the other node that the client has gone, and takes its answer', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  const begun = new Deferred();
  b.serve({
    wait: (_, gone) =>
      new Promise((_resolve, reject) => {
        begun.resolve();
        gone.addEventListener('abort', () => reject(new DroverError('conflict', 'cancelled')));
      }),
  });
  const gone = new AbortController();
  const answer = a.call('b', 'wait', null, LONG, gone.signal);
  answer.catch(() => {});
  await begun.promise;
  gone.abort();
  await expect(answer).rejects.toThrow('cancelled');
  await expect(a.call('b', 'wait', null, LONG, gone.signal)).rejects.toThrow('cancelled');
});

it('runs a repeated call once, also while it still runs', async () => {
  const [{ nats }, { calls: b }] = [await node('a'), await node('b')];
  const first = new Deferred<number>();
  let runs = 0;
  b.serve({
    count: () => {
      runs += 1;
      return first.promise;
    },
  });
  const answers = [ask(nats, { method: 'count' }), ask(nats, { method: 'count' })];
  await nats.flush();
  await vi.waitFor(() => expect(runs).toBe(1), LONG);
  first.resolve(5);
  expect(await Promise.all(answers)).toEqual([
    { v: 1, result: 5 },
    { v: 1, result: 5 },
  ]);
  expect(await ask(nats, { method: 'count' })).toEqual({ v: 1, result: 5 });
  expect(runs).toBe(1);
});

it('refuses a message of a later version, and ignores fields that it does not know', async () => {
  const [{ nats }, { calls: b }] = [await node('a'), await node('b')];
  b.serve({ hello: () => 'hello' });
  expect(await ask(nats, { method: 'hello', added_later: 1 })).toEqual({ v: 1, result: 'hello' });
  expect(await ask(nats, { v: 2, id: 'y', method: 'hello' })).toMatchObject({
    error: { code: 'unavailable', message: expect.stringContaining('version 2') },
  });
  const noJson = await nats.request(names.calls('b'), 'no json', { timeout: LONG });
  expect(noJson.json()).toMatchObject({ error: { code: 'unavailable' } });
});

it('a version of any size, or none, is refused in a short answer, and ends nothing', async () => {
  const [{ nats }, { calls: b }] = [await node('a'), await node('b')];
  b.serve({ hello: () => 'hello' });
  const long = '9'.repeat(1_048_550);
  for (const v of [`"${long}"`, long, '[9]', '1e308', 'true']) {
    const { data } = await nats.request(names.calls('b'), `{"v":${v},"id":"x"}`, { timeout: LONG });
    expect(JSON.parse(Buffer.from(data).toString())).toMatchObject({
      error: { code: 'unavailable' },
    });
    expect(data.length).toBeLessThan(1000);
  }
  expect(await ask(nats, { method: 'hello' })).toEqual({ v: 1, result: 'hello' });
});

it('carries an answer that is longer than a message, and refuses such an input', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  const long = 'äöü'.repeat(1_000_000);
  b.serve({ long: () => ({ long }), take: () => null });
  expect(await a.call('b', 'long', null, LONG)).toEqual({ long });
  await expect(a.call('b', 'take', { long }, LONG)).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringContaining('NATS carries 1048576 (max_payload)'),
  });
});

it('carries bytes, in parts too, to this node as well; what cannot be read is an error', async () => {
  const [{ calls: a }, { calls: b, nats }] = [await node('a'), await node('b')];
  const bytes = [randomBytes(3 * 2 ** 20), Buffer.alloc(60 * 2 ** 20, 'some'), Buffer.alloc(0)];
  for (const calls of [a, b]) calls.serve({ bytes: ({ n }: { n: number }) => bytes[n] });
  for (const [n, whole] of bytes.entries()) {
    for (const from of [a, b])
      expect(whole.equals((await from.call('b', 'bytes', { n }, LONG)) as Buffer)).toBe(true);
  }
  const tooMuch = deflateRawSync(Buffer.alloc(65 * 2 ** 20));
  for (const packed of [Buffer.from('x'), tooMuch, Buffer.alloc(0)]) {
    nats.subscribe(names.calls('c'), {
      max: 1,
      callback: (_, message) =>
        void message.respond(Buffer.concat([Buffer.from('{"v":1}\n'), packed])),
    });
    await nats.flush();
    await expect(a.call('c', 'bytes', { n: 0 }, LONG)).rejects.toThrow(
      'the answer of node c cannot be read',
    );
  }
});

it('a call to all is answered by one that has an answer; when none is there, that is known at once', async () => {
  const nodes = [await node('a'), await node('b'), await node('c')] as const;
  const [{ calls: a }, { calls: b }, { calls: c }] = nodes;
  /** The server knows what each node listens to. */
  const flush = () => Promise.all(nodes.map(({ nats }) => nats.flush()));
  a.serve({ who: () => NO_ANSWER }, 'all');
  b.serve({ who: () => NO_ANSWER }, 'all');
  c.serve({ who: () => ({ node: 'c' }) }, 'all');
  await flush();
  for (const from of [a, b, c])
    expect(await from.call('all', 'who', null, LONG)).toEqual({ node: 'c' });
  c.pause('all');
  await expect(a.call('all', 'who', null, 200)).rejects.toThrow('does not answer in time');
  for (const calls of [a, b]) calls.pause('all');
  await flush();
  await expect(c.call('all', 'who', null, LONG)).rejects.toThrow('nothing answers to its name');
  c.serve({}, 'all');
  expect(await a.call('all', 'who', null, LONG)).toEqual({ node: 'c' });
});

it('a call of main is none of the bus', async () => {
  const key = { signer: signerOf(1) };
  const [{ calls: a }, { calls: b }] = [
    await node('a', undefined, { ...key, context: 'question' }),
    await node('b', undefined, key),
  ];
  b.serve({ run: () => 1 });
  await expect(a.call('b', 'run', null, 500)).rejects.toThrow(/node b is not trusted/);
});

it('repeats a call after NATS was away, which then still runs once', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  const first = new Deferred<string>();
  const begun = new Deferred();
  let runs = 0;
  b.serve({
    slow: () => {
      runs += 1;
      begun.resolve();
      return first.promise;
    },
  });
  const answer = a.call('b', 'slow', null, 60_000);
  answer.catch(() => {});
  await begun.promise;
  await server.kill();
  // Its answer has nowhere to go.
  first.resolve('done');
  await server.run();
  expect(await answer).toBe('done');
  expect(runs).toBe(1);
});

it('refuses at once what another node has to do, when NATS is away for long', async () => {
  const { calls, nats } = await node('a');
  const away = new Deferred();
  void (async () => {
    for await (const { type } of nats.status()) if (type === 'disconnect') return away.resolve();
  })();
  await server.kill();
  await away.promise;
  // The first waits for NATS, until its deadline.
  await expect(calls.call('b', 'x', null, 2500)).rejects.toThrow('does not answer in time');
  await expect(calls.call('b', 'x', null, LONG)).rejects.toThrow('cut off from NATS');
});

it('says that the answer was dropped, and does not run the call again', async () => {
  const results = new CallResults(undefined, { calls: 10, bytes: 50 });
  const [{ nats }, { calls: b }] = [await node('a'), await node('b', results)];
  let runs = 0;
  b.serve({
    some: () => {
      runs += 1;
      return 'x'.repeat(20);
    },
  });
  await ask(nats, { id: '1', method: 'some' });
  await ask(nats, { id: '2', method: 'some' });
  expect(await ask(nats, { id: '1', method: 'some' })).toMatchObject({
    error: { code: 'unavailable', message: expect.stringContaining('node b has done this') },
  });
  expect(runs).toBe(2);
});

it('answers within some milliseconds', async () => {
  const [{ calls: a }, { calls: b }] = [await node('a'), await node('b')];
  b.serve({ echo: (input) => input });
  const times: number[] = [];
  for (let n = 0; n < 500; n += 1) {
    const before = performance.now();
    await a.call('b', 'echo', { n }, LONG);
    times.push(performance.now() - before);
  }
  times.sort((x, y) => x - y);
  // The median: on a busy machine the slowest say nothing about the code.
  expect(times[250]).toBeLessThan(20);
});

const signerOf = (fill: number, acceptsUnsigned = false): Signer =>
  new Signer({ keys: [new Uint8Array(32).fill(fill)], acceptsUnsigned });

it('with a key, nodes without it, or with another, do nothing for each other and say why', async () => {
  const key = { signer: signerOf(1) };
  const [{ calls: a }, { calls: b }] = [
    await node('a', undefined, key),
    await node('b', undefined, key),
  ];
  const [{ calls: none }, { calls: other }, { calls: lax }] = [
    await node('none'),
    await node('other', undefined, { signer: signerOf(2) }),
    await node('lax', undefined, { signer: signerOf(1, true) }),
  ];
  let ran = 0;
  const run = { run: () => ++ran };
  for (const calls of [a, b, none, other, lax]) calls.serve(run);
  const ask = (from: NodeCalls, to: string, withinMs = LONG) =>
    from.call(to, 'run', null, withinMs);
  expect(await ask(a, 'b')).toBe(1);
  // They are refused, and that is not signed, so another node with a key waits on.
  await expect(ask(none, 'b')).rejects.toThrow(
    'the caller of node b is not trusted: it is not signed with the key of the cluster',
  );
  await expect(ask(other, 'b', 500)).rejects.toThrow(/node b is not trusted: it is not signed/);
  expect(ran).toBe(1);
  // What they do for a node with a key it does not believe.
  await expect(ask(a, 'none', 500)).rejects.toThrow(/node none is not trusted: it is not signed/);
  await expect(ask(a, 'other', 500)).rejects.toThrow(/node other is not trusted/);
  ran = 10;
  expect(await ask(none, 'lax')).toBe(11);
  expect(await ask(lax, 'none')).toBe(12);
  expect(await ask(lax, 'b')).toBe(13);
});

it('a signed call is of one node, runs once, and not after its time', async () => {
  let now = 1_000_000;
  const key = { signer: signerOf(1), clocks: { monotonic: () => now, wall: () => now } };
  const results = new CallResults(() => now);
  const [{ calls: a }, { calls: b, nats }] = [
    await node('a', undefined, key),
    await node('b', results, key),
  ];
  const { calls: c } = await node('c', undefined, key);
  let ran = 0;
  for (const calls of [b, c]) calls.serve({ run: () => ++ran });
  const sent: Uint8Array[] = [];
  let inbox = '';
  nats.subscribe(names.calls('b'), {
    callback: (_, { data, reply = '' }) => {
      sent.push(data);
      if (inbox === '') inbox = reply;
    },
  });
  await nats.flush();
  await a.call('b', 'run', null, 1000);
  const [recorded = new Uint8Array()] = sent;
  const repeat = async (to: string, call = recorded): Promise<string> => {
    const { data } = await nats.request(names.calls(to), call, { timeout: LONG });
    return Buffer.from(data).toString();
  };
  // As long as it is accepted, it is known, and only who has sent it gets the answer again.
  const answered: string[] = [];
  nats.subscribe('_INBOX.>', { callback: (_, { subject }) => void answered.push(subject) });
  for (const afterMs of [0, 5_999, 6_001, 15_000]) {
    now = 1_000_000 + afterMs;
    nats.publish(names.calls('b'), recorded, { reply: '_INBOX.other.1' });
    nats.publish(names.calls('b'), recorded, { reply: inbox });
    await vi.waitFor(() => expect(answered).toContain(inbox), LONG);
    expect(answered.splice(0)).toEqual([inbox]);
  }
  now = 1_031_000;
  await a.call('b', 'run', null, 1000);
  const latest = sent.at(-1);
  expect(await repeat('b')).toMatch(/the clock of who has sent it is 31 s behind this one/);
  expect(await repeat('c')).toMatch(/not trusted/);
  const { calls: early } = await node('early', undefined, {
    ...key,
    clocks: { monotonic: () => now, wall: () => now - 47_000 },
  });
  early.serve({ run: () => ++ran });
  await expect(a.call('early', 'run', null, 1000)).rejects.toThrow(
    /the clock of who has sent it is 47 s ahead of this one/,
  );
  expect(ran).toBe(2);
  // One that has just started does not know whether it has run.
  now += 1;
  b.close();
  const { calls: again } = await node('b', undefined, key);
  again.serve({ run: () => ++ran });
  expect(await repeat('b', latest)).toMatch(/sent before the node had started/);
  expect(ran).toBe(2);
});

it('an answer is one to its call only, also when it comes in parts', async () => {
  const key = { signer: signerOf(1) };
  const [{ calls: a, nats }, { calls: b }] = [
    await node('a', undefined, key),
    await node('b', undefined, key),
  ];
  const text = 'x'.repeat(3 * 2 ** 20);
  b.serve({ long: () => text, short: () => 'short' });
  expect(await a.call('b', 'long', null, LONG)).toBe(text);
  // Somebody answers with what was an answer to another call.
  const answers: Uint8Array[] = [];
  nats.subscribe('_INBOX.>', { callback: (_, { data }) => void answers.push(data) });
  nats.subscribe(names.calls('forged'), {
    callback: (_, message) => void message.respond(answers[0]),
  });
  await nats.flush();
  expect(await a.call('b', 'short', null, LONG)).toBe('short');
  await expect(a.call('forged', 'short', null, 500)).rejects.toThrow(/not trusted/);
});

it('what is not trusted on its inbox does not end a call, which waits on for its answer', async () => {
  const key = { signer: signerOf(1) };
  const [{ calls: a, nats }, { calls: b }] = [
    await node('a', undefined, key),
    await node('b', undefined, key),
  ];
  const long = 'x'.repeat(3 * 2 ** 20);
  const methods = { short: () => 'right', long: () => long };
  b.serve(methods);
  // What was an answer, and its parts, is none to another call.
  const earlier: Uint8Array[] = [];
  nats.subscribe('_INBOX.>', { callback: (_, { data }) => void earlier.push(data) });
  await nats.flush();
  expect(await a.call('b', 'long', null, LONG)).toBe(long);
  expect(earlier.length).toBeGreaterThan(3);
  const texts = ['', '{}', 'null', '{"v":1,"result":"forged"}', '{"v":1,"part":0}\nforged'];
  const junk = [...texts.map((text) => Buffer.from(text)), ...earlier.slice(0, 8)];
  // Somebody is quicker than the node, each time.
  nats.subscribe(names.calls('slow'), {
    callback: (_, { data, reply = '' }) => {
      for (const forged of junk) nats.publish(reply, forged);
      nats.publish(names.calls('behind'), data, { reply });
    },
  });
  const slow = await node('slow', undefined, {
    ...key,
    subject: () => names.calls('behind'),
  });
  slow.calls.serve(methods);
  await nats.flush();
  expect(await a.call('slow', 'short', null, LONG)).toBe('right');
  expect(await a.call('slow', 'long', null, LONG)).toBe(long);
});

it('an answer in parts is bounded', async () => {
  const { calls: a, nats } = await node('a');
  const room = Buffer.alloc(1_000_000, ' ');
  let parts = 0;
  nats.subscribe(names.calls('endless'), {
    callback: (_, message) => {
      const { part } = message.json<{ part?: number }>();
      if (part === undefined) return void message.respond('{"v":1,"parts":65536}');
      parts += 1;
      message.respond(Buffer.concat([Buffer.from(`{"v":1,"part":${part}}\n`), room]));
    },
  });
  await nats.flush();
  await expect(a.call('endless', 'x', null, LONG)).rejects.toThrow(
    'the answer of node endless has more than 67108864 bytes',
  );
  expect(parts).toBe(68);
});

it('answers go to inboxes only: who may call makes no node send to what others listen to', async () => {
  const [{ nats }, { calls: b }] = [await node('a'), await node('b')];
  b.serve({ hello: () => 'hello' });
  const said: string[] = [];
  nats.subscribe('>', { callback: (_, { subject }) => void said.push(subject) });
  const data = '{"v":1,"id":"x","method":"hello","deadline_ms":1000}';
  for (const reply of ['$JS.API.STREAM.PURGE.x', names.events('b'), names.calls('a')])
    nats.publish(names.calls('b'), data, { reply });
  expect(await ask(nats, { id: 'y', method: 'hello' })).toEqual({ v: 1, result: 'hello' });
  await nats.flush();
  expect(said.filter((one) => !/^(_INBOX|drover\.test\.calls\.b)/.test(one))).toEqual([]);
});

it('a wall clock that is set back opens no old signature, and refuses no new one', async () => {
  let [monotonic, wall] = [0, 1_000_000];
  const key = {
    signer: signerOf(1),
    clocks: { monotonic: () => monotonic, wall: () => wall },
  };
  const [{ calls: a }, { calls: b, nats }] = [
    await node('a', undefined, key),
    await node('b', new CallResults(() => monotonic), key),
  ];
  let ran = 0;
  b.serve({ run: () => ++ran });
  const sent: Uint8Array[] = [];
  nats.subscribe(names.calls('b'), { callback: (_, { data }) => void sent.push(data) });
  await nats.flush();
  expect(await a.call('b', 'run', null, 1000)).toBe(1);
  const [recorded = new Uint8Array()] = sent;
  for (const [afterMs, byMs] of [
    [61_000, -60_000],
    [100, -3_600_000],
    [60_000, 0],
    [100, 7_200_000],
    [100_000, -7_200_000],
  ] as const) {
    monotonic += afterMs;
    wall += afterMs + byMs;
    const before = ran;
    expect(await a.call('b', 'run', null, 1000)).toBe(before + 1);
    const { data } = await nats.request(names.calls('b'), recorded, { timeout: LONG });
    expect(Buffer.from(data).toString()).toMatch(/the clock of who has sent it is \d+ s behind/);
  }
  expect(ran).toBe(6);
});

it('what is asked and answered is checked as HTTP checks it', async () => {
  const [{ calls: a }, { calls: b }] = [
    await node('a', undefined, { check: checkCall }),
    await node('b', undefined, { check: checkCall }),
  ];
  const rights = { scopes: ['admin'], reach: null };
  const bot = { id: 'x', kind: 'k', config: {}, labels: {}, dedicated: false, desired: 'stopped' };
  let created: unknown = null;
  b.serve({
    createBot: ({ bot }: { bot: unknown }) => {
      created = bot;
      return null;
    },
    kinds: () => ({ kinds: null }),
    hosts: () => ({ hosts: [{ host: 0, node: 'b' }], missing: [] }),
    later: () => null,
  });
  const make = (some: object) =>
    a.call('b', 'createBot', { bot: { ...bot, ...some }, rights, sealed: null }, LONG);
  await expect(make({ id: '../../x' })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('createBot.bot.id must be 1 to 64 letters'),
  });
  await expect(make({ labels: null })).rejects.toThrow('createBot.bot.labels must be object');
  expect(created).toBeNull();
  // Of a later version.
  await make({ priority: 7 });
  expect(created).toMatchObject({ id: 'x', priority: 7 });
  await expect(a.call('b', 'kinds', null, LONG)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'node b has not answered as it has to: kinds.failed is missing',
  });
  await expect(a.call('b', 'hosts', { rights: null }, LONG)).rejects.toThrow(
    'hosts.rights must be object',
  );
  expect(await a.call('b', 'hosts', { rights }, LONG)).toMatchObject({ missing: [] });
  // There is no schema of it.
  await expect(a.call('b', 'later', null, LONG)).rejects.toThrow('unknown key later');
});
