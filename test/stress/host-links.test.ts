// One suite over both links of a bot host: a thread of the service, and a process.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  act,
  create,
  eventually,
  expectComplete,
  type Incident,
  incidents,
  invoke,
  lineFrom,
  remove,
  snapshotFrom,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { ISOLATION_KINDS, isolatedProcesses, isThere } from '../harness/isolation.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { logOf, logs } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

describe.each(['thread', 'process'] as const)('a bot host in a %s', (isolation) => {
  let service: Service;
  let stream: SseStream;
  let serial = 0;
  let id: string;
  let from: number;

  beforeAll(async () => {
    service = await startService({
      config: {
        kinds: [ISOLATION_KINDS],
        stream: { ring_bytes: 64 * 2 ** 20 },
        hosts: {
          count: 1,
          isolation,
          max_heap_mb: 96,
          stop_grace_ms: 300,
          in_flight_bytes: 65_536,
          bot_lines_per_second: 0,
        },
        watchdog: { hang_ms: 1000 },
        drills: { enabled: true },
        restart: { backoff_ms: 10, backoff_cap_ms: 200 },
      },
    });
    stream = await watch(service);
  });
  afterAll(async () => {
    stream?.close();
    if (!service) return;
    const left = isolatedProcesses(service);
    await stopClean(service);
    await eventually(() => left.every((pid) => !isThere(pid)), 'its processes are gone');
  });
  beforeEach(() => {
    id = `bot-${++serial}`;
    from = stream.frames.length;
  });

  const start = async (more: object = {}): Promise<void> => {
    expect((await create(service, { id, kind: 'breaker', ...more })).status).toBe(201);
    await statusFrom(stream, from, id, 'alive');
  };
  const command = async (name: string, args: object = {}): Promise<unknown> => {
    const answer = await invoke(service, id, name, args);
    expect(answer.status, answer.text).toBe(200);
    return (answer.json as { result: unknown }).result;
  };
  const reportOf = async (type: string): Promise<Incident> => {
    let found: Incident | undefined;
    await eventually(async () => {
      found = (await incidents(service, id)).find((one) => one.type === type);
      return found !== undefined;
    }, `an incident report ${type}`);
    return found as Incident;
  };

  it('runs its bots there, with their lines, status and data in order', async () => {
    await start();
    const where = await command('where');
    const isInService = isolation === 'thread';
    expect(where).toMatchObject({ main: !isInService });
    expect((where as { pid: number }).pid === service.child.pid).toBe(isInService);
    await snapshotFrom(stream, from, id, ({ data }) => (data['beats'] as number) > 1);
    await command('lines', { count: 100 });
    await lineFrom(
      stream,
      from,
      (log) => log.session_id === id && log.message.startsWith('line 99 '),
    );
    const lines = logs(stream).filter(
      (log) => log.session_id === id && log.message.startsWith('line '),
    );
    expect(lines.map(({ message }) => message.split(' ')[1])).toEqual(
      Array.from({ length: 100 }, (_, n) => String(n)),
    );
    expect((await act(service, id, 'stop')).status).toBe(200);
    await statusFrom(stream, from, id, 'stopped');
    expect(statusesOf(stream, id)).toEqual(['starting', 'alive', 'stopping', 'stopped']);
  });

  it('answers commands, and hears that nobody waits any more', async () => {
    await start();
    const texts = Array.from({ length: 200 }, (_, n) => `text ${n} é\u{1f600}`);
    const results = await Promise.all(texts.map((text) => command('echo', { text })));
    expect(results).toEqual(texts.map((text) => ({ text })));
    const gone = new AbortController();
    const waits = fetch(`${service.url}/invoke`, {
      method: 'POST',
      signal: gone.signal,
      headers: {
        authorization: `Bearer ${await service.token()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ session_id: id, command: 'wait', args: {} }),
    });
    // The bot has the command when it has answered a later one.
    await command('echo', { text: 'between' });
    gone.abort();
    await expect(waits).rejects.toThrow();
    await lineFrom(stream, from, ({ message }) => message === 'the wait was cancelled');
  });

  it('a bot that does not stop in time is abandoned, and its successor waits for it', async () => {
    await start({ config: { stop_ms: 1000 } });
    expect((await act(service, id, 'restart')).status).toBe(200);
    await lineFrom(
      stream,
      from,
      ({ message }) => message === 'did not stop within 300 ms and is abandoned',
    );
    const again = stream.frames.length;
    await statusFrom(stream, again, id, 'alive');
    expect((await remove(service, id)).status).toBe(204);
  });

  it('a bot that throws is reported, and restarted', async () => {
    await start();
    await command('throw');
    expect(await reportOf('crash')).toMatchObject({
      reason: 'thrown by the breaker',
      suspect: id,
      last_commands: [`throw on ${id}`],
    });
    await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
  });

  it('a bot that hangs is found by its stack, and gets its own host', async () => {
    await start();
    await command('spin');
    const report = await reportOf('hang');
    expect(report.reason).toMatch(/^bot host \d+ was blocked for \d+ ms in bot /);
    expect(report.suspect).toBe(id);
    expect(report.last_commands.at(-1)).toBe(`spin on ${id}`);
    expect(report.stack).toContainEqual(expect.objectContaining({ function: 'spinForEver' }));
    await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
    expect((await remove(service, id)).status).toBe(204);
  });

  it('a host above its limit of memory is ended, and its bots return', async () => {
    await start({ dedicated: true });
    await command('buffers');
    const report = await reportOf('out_of_memory');
    expect(report.suspect).toBe(id);
    await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
    expect((await remove(service, id)).status).toBe(204);
  });

  it('a flood is skipped and counted, and no error line of it is lost', async () => {
    await start({ dedicated: true });
    const flood = command('lines', { count: 100_000 });
    const errors = command('lines', { count: 500, level: 'error' });
    await Promise.all([flood, errors]);
    await lineFrom(
      stream,
      from,
      (log) =>
        log.session_id === id && log.message.startsWith('line 499 ') && log.level === 'error',
    );
    const own = stream.frames.slice(from).flatMap((frame) => logOf(frame) ?? []);
    const errorLines = own.filter((log) => log.session_id === id && log.level === 'error');
    expect(errorLines).toHaveLength(500);
    await lineFrom(
      stream,
      from,
      (log) => log.session_id === id && log.level === 'warn' && /skipped/.test(log.message),
    );
    expectComplete(stream);
    expect((await remove(service, id)).status).toBe(204);
  });

  it('it continues with a new broadcaster', async () => {
    await start();
    const before = stream.frames.length;
    const killed = await invoke(service, null, 'drill', { kill: 'broadcaster' });
    expect(killed.status, killed.text).toBe(200);
    await lineFrom(stream, before, ({ message }) =>
      message.startsWith('the broadcaster was lost and replaced'),
    );
    const after = stream.frames.length;
    await command('lines', { count: 3 });
    await lineFrom(
      stream,
      after,
      (log) => log.session_id === id && log.message.startsWith('line 2 '),
    );
    expect(await command('echo', { text: 'still' })).toEqual({ text: 'still' });
  });
});
