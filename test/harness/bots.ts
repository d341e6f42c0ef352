import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { type Answer, call, type ServiceApi } from './api.js';
import { PATIENCE_MS } from './patience.js';
import { type Log, logOf, logs, type Snapshot, snapshotOf, snapshots } from './shapes.js';
import { type SseStream, streamOn } from './sse.js';

/** The directory of the test kinds, for `kinds` in a configuration. */
export const FIXTURE_KINDS = fileURLToPath(new URL('../fixtures/kinds', import.meta.url));

/** Logged by a `guarded` bot when a second instance of it runs. */
export const DOUBLE = 'DOUBLE INSTANCE';

export const POST = (service: ServiceApi, path: string, body?: unknown): Promise<Answer> =>
  call(service, 'POST', path, body === undefined ? {} : { body });

export function create(service: ServiceApi, body: object): Promise<Answer> {
  return POST(service, '/api/bots', body);
}

export function act(service: ServiceApi, id: string, action: string): Promise<Answer> {
  return POST(service, `/api/bots/${id}/${action}`);
}

export function remove(service: ServiceApi, id: string): Promise<Answer> {
  return call(service, 'DELETE', `/api/bots/${id}`);
}

export function invoke(
  service: ServiceApi,
  id: string | null,
  command: string,
  args: object = {},
): Promise<Answer> {
  return POST(service, '/invoke', { session_id: id, command, args });
}

export async function snapshot(service: ServiceApi, id: string): Promise<Snapshot> {
  const answer = await call(service, 'GET', `/api/bots/${id}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as Snapshot;
}

export async function list(service: ServiceApi): Promise<Snapshot[]> {
  return ((await call(service, 'GET', '/api/bots')).json as { bots: Snapshot[] }).bots;
}

export interface Incident {
  id: string;
  at_ms: number;
  type: string;
  reason: string;
  suspect: string | null;
  host: number | null;
  bots: string[];
  stack: { function: string; url: string; line: number; column: number }[] | string | null;
  exit?: { code: number | null; signal: string | null };
  stderr?: string[];
  heap: { used: number; limit: number } | null;
  bot_count: number;
  last_lines: string[];
  last_lines_at_ms: number[];
  cause: string;
  last_commands: string[];
  repeats: number;
  repeated_at_ms: number | null;
}

/** Incident reports of one bot or of all, newest first. */
export async function incidents(service: ServiceApi, id?: string): Promise<Incident[]> {
  const path = id === undefined ? '/api/incidents' : `/api/bots/${id}/incidents`;
  const answer = await call(service, 'GET', path);
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { incidents: Incident[] }).incidents;
}

/** A stream without a filter. */
export async function watch(service: ServiceApi, query = ''): Promise<SseStream> {
  return streamOn(service, `/events${query}`, { token: await service.token() });
}

/** The first matching line at or after frame `from`. */
export async function lineFrom(
  stream: SseStream,
  from: number,
  fits: (log: Log) => boolean,
  timeoutMs?: number,
): Promise<Log> {
  let found: Log | undefined;
  let next = from;
  await stream.until(() => {
    for (; next < stream.frames.length && !found; next++) {
      const frame = stream.frames[next];
      const log = frame && logOf(frame);
      if (log && fits(log)) found = log;
    }
    return found !== undefined;
  }, timeoutMs);
  return found as Log;
}

/** The first matching snapshot of a bot at or after frame `from`. */
export async function snapshotFrom(
  stream: SseStream,
  from: number,
  id: string,
  fits: (snapshot: Snapshot) => boolean,
  timeoutMs?: number,
): Promise<Snapshot> {
  let found: Snapshot | undefined;
  let next = from;
  await stream.until(() => {
    for (; next < stream.frames.length && !found; next++) {
      const frame = stream.frames[next];
      const shown = frame && snapshotOf(frame);
      if (shown?.id === id && fits(shown)) found = shown;
    }
    return found !== undefined;
  }, timeoutMs);
  return found as Snapshot;
}

export const statusFrom = (
  stream: SseStream,
  from: number,
  id: string,
  status: string,
  timeoutMs?: number,
): Promise<Snapshot> => snapshotFrom(stream, from, id, (s) => s.status === status, timeoutMs);

/** The statuses of a bot since frame `from`, without repetitions. */
export function statusesOf(stream: SseStream, id: string, from = 0): string[] {
  const seen = stream.frames
    .slice(from)
    .flatMap((frame) => snapshotOf(frame) ?? [])
    .filter((s) => s.id === id)
    .map(({ status }) => status);
  return seen.filter((status, n) => status !== seen[n - 1]);
}

/** Polls until the condition holds. For state that no stream reports. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Creates a bot that numbers its lines, for {@link expectUndisturbed}. */
export async function createNeighbour(
  service: ServiceApi,
  stream: SseStream,
  id: string,
  linesPerSecond = 100,
): Promise<void> {
  const config = { events_per_second: linesPerSecond, message_bytes: 10 };
  expect((await create(service, { id, kind: 'synthetic', config })).status).toBe(201);
  await lineFrom(stream, 0, ({ session_id, message }) => session_id === id && /^5 /.test(message));
}

/** Time that the thread waits for a CPU counts as time that it was held: on a busy machine any bot may be named so. */
export const HELD = /^its code held the event loop of its bot host for \d+ ms/;

/**
 * The neighbour still runs after everything now on the stream, has lost none of its lines, and never restarted. The
 * stream must be open before the neighbour is created.
 */
export async function expectUndisturbed(stream: SseStream, id: string): Promise<void> {
  const from = stream.frames.length;
  let seen = 0;
  await lineFrom(
    stream,
    from,
    (log) => log.session_id === id && log.level === 'info' && ++seen > 9,
  );
  const own = logs(stream).filter((log) => log.session_id === id);
  const numbers = own
    .filter(({ level }) => level === 'info')
    .map((log) => Number.parseInt(log.message, 10));
  expect(numbers).toEqual(numbers.map((_, n) => n + 1));
  const complaints = own.filter(({ level }) => level === 'warn' || level === 'error');
  expect(complaints.filter(({ message }) => !HELD.test(message))).toEqual([]);
  expect(snapshots(stream, id).filter((s) => s.restarts > 0 || s.last_error !== null)).toEqual([]);
  expect(statusesOf(stream, id)).toEqual(['starting', 'running']);
}

/** The stream has lost nothing: no faults, no gaps, no refused events. */
export function expectComplete(stream: SseStream): void {
  expect(stream.faults).toEqual([]);
  expect(stream.frames.filter(({ event }) => event === 'gap')).toEqual([]);
  expect(logs(stream).filter(({ message }) => message.startsWith('an event was refused'))).toEqual(
    [],
  );
}

/** No guarded bot ever ran twice. */
export function expectSingle(stream: SseStream): void {
  expect(logs(stream).filter(({ message }) => message.includes(DOUBLE))).toEqual([]);
  const met = stream.frames.flatMap((frame) => snapshotOf(frame) ?? []);
  expect(met.filter(({ last_error }) => last_error?.includes(DOUBLE))).toEqual([]);
}
