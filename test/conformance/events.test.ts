// docs/INTERFACE.md §2.5, §2.6, §3 and §6: what the frames say, on the demo world and its bots; and what streams see of the
// process's end (issue 2 "Shutdown").

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, tryPin } from '../harness/api.js';
import { createDemoBot } from '../harness/demo.js';
import { exchange, frontFlags, type Service, startService, stopClean } from '../harness/service.js';
import {
  expectSnapshot,
  type Log,
  logOf,
  logs,
  type Snapshot,
  snapshotOf,
  snapshots,
  waitForLog,
  waitForStatus,
} from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';
import { expectOrderlyEnd } from './orderly-end.js';

const LIFE = ['starting', 'authenticating', 'connecting', 'tutorial', 'in_world'];

let service: Service;
let stream: SseStream;
let startedAt: number;
/** A bot whose whole life is on the stream: it is created once the stream is open. */
const BOT = 'newcomer';

beforeAll(async () => {
  startedAt = Date.now();
  service = await startService({ demo: true, args: frontFlags(2) });
  stream = await openStream(`${service.url}/events`, { token: await service.token() });
  const answer = await createDemoBot(service, BOT);
  expect(answer.status).toBe(201);
  await waitForStatus(stream, BOT, 'in_world');
  await invoke(BOT, 'say', { text: 'good morning' });
  await waitForLog(stream, (log) => log.scope === 'dispatch');
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

function invoke(session_id: unknown, command: string, args: object) {
  return call(service, 'POST', '/invoke', { body: { session_id, command, args } });
}

const ofBot = (scope: string, id = BOT): Log[] =>
  logs(stream).filter((log) => log.session_id === id && log.scope === scope);

describe('log frames', () => {
  it('§2.5 a log payload has exactly its seven fields', () => {
    const fields = [
      'timestamp_ms',
      'level',
      'scope',
      'session_id',
      'transport',
      'direction',
      'message',
    ].sort();
    const all = logs(stream);
    expect(all.length).toBeGreaterThan(10);
    for (const log of all) expect(Object.keys(log).sort()).toEqual(fields);
  });

  it('§2.5 timestamp_ms is the time of the event in Unix epoch milliseconds', () => {
    for (const log of logs(stream)) {
      expect(log.timestamp_ms).toSatisfy(Number.isSafeInteger);
      expect(log.timestamp_ms).toBeGreaterThanOrEqual(startedAt - 1000);
      expect(log.timestamp_ms).toBeLessThanOrEqual(Date.now() + 1000);
    }
  });

  it('§2.5 level is one of info, warn, error, state', () => {
    const levels = new Set(logs(stream).map((log) => log.level));
    for (const level of levels) expect(['info', 'warn', 'error', 'state']).toContain(level);
    expect(levels).toContain('info');
    expect(levels).toContain('state');
  });

  it('§2.5 scope is a string; auth_client, tcp, bot, tutorial are all seen', () => {
    const scopes = new Set(logs(stream).map((log) => log.scope));
    for (const scope of scopes) expect(scope).toMatch(/^\S+$/);
    expect([...scopes]).toEqual(expect.arrayContaining(['auth_client', 'tcp', 'bot', 'tutorial']));
  });

  it('§2.5 session_id is the bot id of a bot-scoped event, else null', async () => {
    await call(service, 'GET', '/api-info');
    await invoke(null, 'ping', {});
    await waitForLog(stream, (log) => log.scope === 'dispatch' && log.session_id === null);
    const known = ['demo-1', 'demo-2', 'demo-3', BOT];
    for (const log of logs(stream)) {
      if (log.session_id !== null) expect(known).toContain(log.session_id);
      if (['auth_client', 'tcp', 'bot', 'tutorial'].includes(log.scope)) {
        expect(log.session_id).not.toBeNull();
      }
    }
  });

  it('§2.5 transport and direction are set together, on wire events, else both null', () => {
    for (const { transport, direction } of logs(stream)) {
      if (transport === null) expect(direction).toBeNull();
      else {
        expect(['tcp', 'http']).toContain(transport);
        expect(['outgoing', 'incoming']).toContain(direction);
      }
    }
  });

  it('§2.5 message is a display line: a string that is not empty', () => {
    for (const log of logs(stream)) expect(log.message).toMatch(/^\S/);
  });

  it('§6 every state log call is an event: the states that a bot goes through are on scope bot', () => {
    const states = ofBot('bot').filter((log) => log.level === 'state');
    for (const status of ['authenticating', 'connecting', 'tutorial', 'in_world']) {
      expect(states.map((log) => log.message).join('\n')).toContain(status);
    }
    for (const log of states) expect([log.transport, log.direction]).toEqual([null, null]);
  });

  it('§6 every HTTP message of the login is an event of scope auth_client, out and in', () => {
    const wire = ofBot('auth_client').filter((log) => log.transport !== null);
    expect(new Set(wire.map((log) => log.transport))).toEqual(new Set(['http']));
    const directions = wire.map((log) => log.direction);
    expect(directions.filter((d) => d === 'outgoing').length).toBeGreaterThan(0);
    expect(directions.filter((d) => d === 'incoming')).toHaveLength(
      directions.filter((d) => d === 'outgoing').length,
    );
    expect(directions[0]).toBe('outgoing');
  });

  it('§6.5 an outgoing HTTP message is a method with a URL', () => {
    const wire = ofBot('auth_client').filter((log) => log.direction === 'outgoing');
    for (const log of wire) expect(log.message).toMatch(/^(GET|POST|PUT|DELETE) https?:\/\/\S+/);
  });

  it('§6 every TCP message is an event of scope tcp, out and in', () => {
    const wire = ofBot('tcp').filter((log) => log.transport !== null);
    expect(new Set(wire.map((log) => log.transport))).toEqual(new Set(['tcp']));
    expect(new Set(wire.map((log) => log.direction))).toEqual(new Set(['outgoing', 'incoming']));
  });

  it('§6.5 a TCP message is its name with its attributes', async () => {
    const wire = ofBot('tcp').filter((log) => log.transport === 'tcp');
    for (const log of wire) expect(log.message).toMatch(/^[A-Za-z][\w.-]*(\W|$)/);
    await invoke(BOT, 'move', { x: 37, y: 41 });
    const moved = await waitForLog(
      stream,
      (log) =>
        log.session_id === BOT &&
        log.scope === 'tcp' &&
        log.direction === 'outgoing' &&
        /^move\b/i.test(log.message) &&
        log.message.includes('37'),
    );
    expect(moved.message).toMatch(/^\w+\W.*\b37\b.*\b41\b/);
  });

  it('§6 the tutorial is told on scope tutorial, after the TCP connection and before the world', () => {
    const mine = logs(stream).filter((log) => log.session_id === BOT);
    const first = (fits: (log: Log) => boolean): number => mine.findIndex(fits);
    const tutorial = first((log) => log.scope === 'tutorial');
    expect(tutorial).toBeGreaterThan(first((log) => log.scope === 'tcp'));
    expect(first((log) => log.scope === 'tcp')).toBeGreaterThan(
      first((log) => log.scope === 'auth_client'),
    );
    const inWorld = first((log) => log.level === 'state' && log.message.includes('in_world'));
    expect(inWorld).toBeGreaterThan(tutorial);
  });

  it('§6 what a bot is told to say is seen on the wire', async () => {
    const text = `hello from a test ${Date.now()}`;
    expect((await invoke(BOT, 'say', { text })).status).toBe(200);
    const said = await waitForLog(
      stream,
      (log) => log.direction === 'outgoing' && log.message.includes(text),
    );
    expect(said).toMatchObject({ transport: 'tcp', scope: 'tcp', session_id: BOT });
  });

  it('§6 text that holds line breaks and other hard characters stays one frame and comes whole', async () => {
    const text = 'a\nb\r\nc\rd\u2028e\u2029f"g\\h\u{1F411}\tdata: x\n\nevent: log';
    expect((await invoke(BOT, 'say', { text })).status).toBe(200);
    await waitForLog(
      stream,
      (log) => log.direction === 'outgoing' && log.message.includes('\u{1F411}'),
    );
    expect(stream.faults).toEqual([]);
    expect(stream.frames.every((frame) => frame.json !== undefined)).toBe(true);
    expect(stream.raw).not.toContain('\r');
  });

  it('§6 every dispatcher result is an event, failures too', async () => {
    const seen = (session: string | null, command: string): Log[] =>
      logs(stream).filter(
        (log) =>
          log.scope === 'dispatch' && log.session_id === session && log.message.includes(command),
      );
    const results: [string | null, string, object][] = [
      [BOT, 'say', { text: 'one' }],
      [BOT, 'no_such_command', {}],
      [null, 'ping', {}],
      [null, 'no_such_service_command', {}],
    ];
    for (const [session, command, args] of results) {
      await invoke(session, command, args);
      await stream.until(() => seen(session, command).length > 0);
      const before = seen(session, command).length;
      await invoke(session, command, args);
      await stream.until(() => seen(session, command).length > before);
      for (const log of seen(session, command)) {
        expect([log.transport, log.direction]).toEqual([null, null]);
      }
    }
  });
});

describe('session frames', () => {
  it('§2.6 the payload is `snapshot` alone, a BotSnapshot', () => {
    const frames = stream.frames.filter((frame) => frame.event === 'session');
    expect(frames.length).toBeGreaterThan(5);
    for (const frame of frames) {
      expect(Object.keys(frame.json as object)).toEqual(['snapshot']);
      expectSnapshot(snapshotOf(frame));
    }
  });

  it('§3 every bot state transition causes one session event, in the order of the transitions', () => {
    const mine = snapshots(stream, BOT);
    const transitions = mine.filter((s, index) => s.status !== mine[index - 1]?.status);
    expect(transitions.map((s) => s.status)).toEqual(LIFE);
    // A later frame in the same status repeats the state, it is not a transition.
    for (const status of LIFE) {
      expect(new Set(mine.filter((s) => s.status === status).map((s) => s.since_ms)).size).toBe(1);
    }
  });

  it('§3 the fields of the snapshot follow the transitions', () => {
    const mine = snapshots(stream, BOT);
    for (const [index, s] of mine.entries()) {
      expect(s).toMatchObject({ id: BOT, kind: 'demo', desired: 'running', restarts: 0 });
      expect(s.last_error).toBeNull();
      const previous = mine[index - 1];
      if (previous) expect(s.since_ms).toBeGreaterThanOrEqual(previous.since_ms);
    }
    const last = mine.at(-1) as Snapshot;
    expect(last.host).not.toBeNull();
    expect(last.started_at_ms).toBeGreaterThanOrEqual(startedAt - 1000);
    expect(last.since_ms).toBeGreaterThanOrEqual(last.started_at_ms ?? 0);
  });

  it('§2.5, §3 a transition to a status comes with the state line of that status', async () => {
    for (const status of ['authenticating', 'connecting', 'tutorial', 'in_world']) {
      await waitForLog(
        stream,
        (log) => log.session_id === BOT && log.level === 'state' && log.message.includes(status),
      );
    }
  });

  it('§3 the three demo bots come to `in_world` by themselves', async () => {
    const demos = ['demo-1', 'demo-2', 'demo-3'];
    for (const id of demos) await waitForStatus(stream, id, 'in_world');
    const { json } = await call(service, 'GET', '/api/bots?kind=demo&status=in_world');
    const { bots } = json as { bots: Snapshot[] };
    expect(bots.map(({ id }) => id).filter((id) => id !== BOT)).toEqual(demos);
    for (const bot of bots) expect(bot).toMatchObject({ kind: 'demo', desired: 'running' });
  });

  it('§3 the end of a bot is a transition too: stopped or deleted, with its last lines before', async () => {
    const id = 'short-lived';
    await createDemoBot(service, id);
    await waitForStatus(stream, id, 'in_world');
    expect((await call(service, 'DELETE', `/api/bots/${id}`)).status).toBe(204);
    await waitForStatus(stream, id, 'deleted');
    const statuses = snapshots(stream, id).map((s) => s.status);
    expect(statuses.at(-1)).toBe('deleted');
    expect(statuses).toContain('stopping');
    const end = stream.frames.findIndex((frame) => {
      const snapshot = snapshotOf(frame);
      return snapshot?.id === id && snapshot.status === 'deleted';
    });
    await invoke(null, 'ping', {});
    await stream.until(() => stream.frames.length > end + 1);
    const after = stream.frames.slice(end + 1).flatMap((frame) => logOf(frame) ?? []);
    expect(after.filter((log) => log.session_id === id && log.scope !== 'dispatch')).toEqual([]);
  });
});

it('§2.6 the snapshot of a session frame has the shape and content of GET /api/bots/{id}', async () => {
  await expect
    .poll(async () => {
      const before = await call(service, 'GET', `/api/bots/${BOT}`);
      const opened = await openStream(`${service.url}/events`, { token: await service.token() });
      const frame = await opened.waitFor((candidate) => snapshotOf(candidate)?.id === BOT);
      opened.close();
      const after = await call(service, 'GET', `/api/bots/${BOT}`);
      // A bot that moved between the two calls says nothing about equality: take another look.
      if (before.text !== after.text) return 'moved';
      expect(snapshotOf(frame)).toEqual(after.json);
      return 'equal';
    })
    .toBe('equal');
});

it('§6 the stream never shows a PIN or a token', async () => {
  const wrong = ['000000', '999999', '123450'].filter((pin) => pin !== service.pin);
  for (const pin of wrong) await tryPin(service, pin);
  const made = [await service.token()];
  for (let n = 0; n < 5; n++) made.push(await exchange(service.url, service.pin));
  for (const token of made) {
    await call(service, 'GET', '/api-info', { token });
    await call(service, 'GET', `/api-info?token=${encodeURIComponent(token)}`, { token: null });
  }
  await call(service, 'GET', `/nope?token=${encodeURIComponent(made[1] ?? '')}`, { token: null });
  const mark = `mark ${Date.now()}`;
  await invoke(BOT, 'say', { text: mark });
  await waitForLog(stream, (log) => log.message.includes(mark));
  const { raw } = stream;
  // By itself, not as a part of a timestamp.
  for (const pin of [service.pin, ...wrong])
    expect(raw).not.toMatch(new RegExp(`(?<!\\d)${pin}(?!\\d)`));
  for (const token of made) {
    expect(raw).not.toContain(token);
    expect(raw).not.toContain(encodeURIComponent(token));
  }
});

it('Shutdown: on SIGTERM every bot stops, its last lines come before `stopped`, and streams end cleanly, with idle connections too', async () => {
  const demos = ['demo-1', 'demo-2', 'demo-3', BOT];
  const bots = Object.fromEntries(demos.map((id) => [id, 'in_world']));
  await expectOrderlyEnd(service, bots, ['SIGTERM']);
});
