// Programs as kinds of bots, in a service as a process: what the operator configures, what the API shows and refuses, and that
// nothing of them survives.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import {
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  incidents,
  invoke,
  lineFrom,
  POST,
  remove,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { markedProcesses } from '../harness/marked-processes.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { type Log, logs } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

const PROGRAMS_DIR = fileURLToPath(new URL('../fixtures/programs', import.meta.url));
/** Programs whose environment has this are those of this test. */
const MARK = `drover-programs-${process.pid}`;
const env = { MARK };
const LISTENS = 'echo up; while read line; do echo "got $line"; done';

let service: Service;
let stream: SseStream;

interface Kind {
  kind: string;
  description: string;
  commands: Record<string, object>;
}

beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [PROGRAMS_DIR],
      programs: {
        listener: { command: ['sh', '-c', LISTENS], protocol: 'raw', env },
        forker: { command: ['sh', '-c', 'sleep 1000 & sleep 1000'], protocol: 'raw', env },
        liar: { command: ['echo', 'no JSON'], protocol: 'jsonl' },
        flood: { command: ['yes', 'a line that is written again and again'], protocol: 'raw' },
        complaints: { command: ['sh', '-c', 'yes complaint >&2'], protocol: 'jsonl' },
        half: { command: ['sh', '-c', `printf '{"id"'; exit 7`], protocol: 'jsonl' },
        silent: { command: ['sleep', '1000'], protocol: 'mcp', start_timeout_ms: 300 },
        absent: { command: ['./no-such-program'], protocol: 'raw' },
        broken: { command: ['true'], protocol: 'raw', commands: { a: {} } },
        offering: { command: ['python3', 'counter.py'], cwd: PROGRAMS_DIR, protocol: 'jsonl', env },
      },
      hosts: { count: 1, stop_grace_ms: 5000, bot_lines_per_second: 2000 },
      stream: { ring_bytes: 64 * 2 ** 20 },
      restart: { policy: 'never' },
      drills: { enabled: true },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

async function kinds(): Promise<{ kinds: Kind[]; failed: { module: string; error: string }[] }> {
  return (await call(service, 'GET', '/api/kinds')).json as never;
}

const marked = (): string[] => markedProcesses(MARK);

function parentOf(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]);
}

const goneSoon = (what: string): Promise<void> => eventually(() => marked().length === 0, what);

it('shows programs as kinds, those of the configuration and manifests, and says what is wrong', async () => {
  const { kinds: list, failed } = await kinds();
  const names = list.map(({ kind }) => kind);
  expect(names).toEqual(
    expect.arrayContaining(['listener', 'forker', 'liar', 'absent', 'tally', 'offering']),
  );
  const listener = list.find(({ kind }) => kind === 'listener');
  expect(Object.keys(listener?.commands ?? {})).toEqual(['send', 'signal', 'eof']);
  expect(list.find(({ kind }) => kind === 'tally')).toMatchObject({
    description: 'Counts',
    commands: { count: { description: 'Adds to the count' } },
  });
  // Neither what is run nor its environment is shown.
  expect(JSON.stringify(list)).not.toContain(MARK);
  expect(failed).toEqual([
    { module: 'programs/broken', error: 'commands: a raw program has send, signal and eof only' },
  ]);
});

it('refuses a configuration that brings a command', async () => {
  const tries = [
    { config: { command: ['id'] } },
    { config: { cwd: '/' } },
    { config: { env: { PATH: '/tmp' } } },
    { command: ['id'] },
    { program: { command: ['id'], protocol: 'raw' } },
  ];
  for (const more of tries) {
    const answer = await create(service, { id: 'shell', kind: 'listener', ...more });
    expectError(answer, 400, /command|cwd|env|program/);
  }
  const made = await create(service, { id: 'fixed', kind: 'listener', desired: 'stopped' });
  expect(made.status).toBe(201);
  const change = await call(service, 'PATCH', '/api/bots/fixed', {
    body: { config: { command: ['id'] } },
  });
  expectError(change, 400, /command/);
});

it('runs a program that is told what to do, and stops it', async () => {
  const from = stream.frames.length;
  await create(service, { id: 'listens', kind: 'listener' });
  await statusFrom(stream, from, 'listens', 'running');
  expect((await invoke(service, 'listens', 'send', { text: 'hello' })).json).toEqual({
    result: null,
  });
  const got = await lineFrom(stream, from, ({ message }) => message === 'got hello');
  expect(got).toMatchObject({ level: 'info', scope: 'stdout', session_id: 'listens' });
  expectError(await invoke(service, 'listens', 'send', {}), 400, /text/);
  expect((await POST(service, '/api/bots/listens/stop')).status).toBe(200);
  expect(await snapshot(service, 'listens')).toMatchObject({ status: 'stopped', last_error: null });
  await goneSoon('the program is gone');
});

it('shows the commands of a program when it runs', async () => {
  const from = stream.frames.length;
  const before = (await kinds()).kinds.find(({ kind }) => kind === 'offering');
  expect(before?.commands).toEqual({});
  await create(service, { id: 'offers', kind: 'offering' });
  await statusFrom(stream, from, 'offers', 'counting');
  const after = (await kinds()).kinds.find(({ kind }) => kind === 'offering');
  expect(Object.keys(after?.commands ?? {})).toEqual(['count', 'boom']);
  expect((await invoke(service, 'offers', 'count', { by: 4 })).json).toEqual({ result: 4 });
  // Over main, as for lists of bots.
  const listed = await POST(service, '/invoke', {
    session_id: ['offers'],
    command: 'count',
    args: {},
  });
  expect(listed.json).toEqual({ results: { offers: { result: 5 } } });
  expectError(await invoke(service, 'offers', 'count', { by: 'x' }), 400, /by/);
  expectError(await invoke(service, 'offers', 'nothing'), 404, /count, boom/);
  expectError(await invoke(service, 'offers', 'boom'), 500, /that was too much/);
});

it('says in the snapshot, and in an incident report, why a program has failed', async () => {
  for (const [kind, reason] of [
    ['liar', /^the program wrote a line that is no JSON: "no JSON"/],
    ['absent', /^there is no program ".\/no-such-program"/],
  ] as const) {
    const from = stream.frames.length;
    await create(service, { id: kind, kind });
    const { last_error } = await statusFrom(stream, from, kind, 'failed');
    expect(last_error).toMatch(reason);
    // It is stored with the bot's last lines.
    await eventually(
      async () => (await incidents(service, kind)).length > 0,
      'the report is there',
    );
    const [report] = await incidents(service, kind);
    expect(report).toMatchObject({ suspect: kind, reason: expect.stringMatching(reason) });
  }
});

it('lets no other bot of the host notice what a program does', async () => {
  await createNeighbour(service, stream, 'neighbour');
  const from = stream.frames.length;
  const bad = ['flood', 'complaints', 'half', 'silent', 'liar', 'absent'];
  for (const kind of bad) await create(service, { id: `bad-${kind}`, kind });
  await Promise.all(
    ['half', 'silent', 'liar', 'absent'].map((kind) =>
      statusFrom(stream, from, `bad-${kind}`, 'failed'),
    ),
  );
  for (const [kind, level] of [
    ['flood', 'info'],
    ['complaints', 'warn'],
  ]) {
    const line = await lineFrom(
      stream,
      from,
      ({ session_id, message }) =>
        session_id === `bad-${kind}` && / lines were skipped/.test(message),
    );
    expect(line.message).toMatch(new RegExp(`^\\d+ ${level} lines were skipped: rate limit`));
  }
  await expectUndisturbed(stream, 'neighbour');
  for (const kind of bad) await remove(service, `bad-${kind}`);
  await remove(service, 'neighbour');
});

it('leaves nothing of a program when its host is lost, and the other bots start again', async () => {
  const from = stream.frames.length;
  await create(service, { id: 'forks', kind: 'forker' });
  await statusFrom(stream, from, 'forks', 'running');
  await eventually(() => marked().length >= 3, 'its children run');
  const old = new Set(marked());
  await invoke(service, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
  await eventually(() => marked().every((pid) => !old.has(pid)), 'the old processes are gone');
  await remove(service, 'forks');
  await remove(service, 'offers');
  await goneSoon('all are gone');
});

it('runs in a host that is a process, and leaves nothing when that is killed', async () => {
  const from = stream.frames.length;
  await create(service, { id: 'apart', kind: 'offering', isolation: 'process' });
  await statusFrom(stream, from, 'apart', 'counting');
  expect((await invoke(service, 'apart', 'count', { by: 9 })).json).toEqual({ result: 9 });
  await remove(service, 'apart');
  await goneSoon('the first program is gone');
  await create(service, { id: 'apart', kind: 'forker', isolation: 'process' });
  await eventually(() => marked().length >= 3, 'its children run');
  const old = new Set(marked());
  const hosts = [...old].map(parentOf).filter((pid) => !old.has(String(pid)));
  expect(new Set(hosts).size).toBe(1);
  expect(hosts[0]).not.toBe(service.child.pid);
  process.kill(hosts[0] as number, 'SIGKILL');
  await eventually(() => marked().every((pid) => !old.has(pid)), 'the old processes are gone');
  await remove(service, 'apart');
  await goneSoon('all are gone');
});

it('leaves nothing of a program when the service is killed', async () => {
  const own = await startService({
    config: {
      programs: {
        forker: { command: ['sh', '-c', 'sleep 1000 & sleep 1000'], protocol: 'raw', env },
      },
      bots: [1, 2, 3].map((n) => ({ id: `forks-${n}`, kind: 'forker' })),
    },
  });
  await eventually(() => marked().length >= 9, 'its children run');
  await own.kill();
  await goneSoon('all are gone');
});

it('keeps lines in order', () => {
  const own = logs(stream).filter(({ session_id }: Log) => session_id === 'listens');
  const messages = own.map(({ message }) => message);
  expect(messages.indexOf('up')).toBeLessThan(messages.indexOf('got hello'));
});
