// Kills hosts at random and the service with kill -9, while bots are stopped, started and changed. In the end each bot
// is in its desired state, none ever ran twice, and none is missing. Half of the bots are in processes, and some of these abort or
// take all the memory that they get: the service never ends because of that.
//
// This is the short form. `npm run long -- chaos` (chaos.mjs) sets the environment for a long one, and CHAOS_SEED repeats a run.

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { call } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  expectSingle,
  FIXTURE_KINDS,
  incidents,
  invoke,
  list,
  POST,
  watch,
} from '../harness/bots.js';
import { randomFrom } from '../harness/random.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`CHAOS_${name}`] ?? otherwise);
const bots = given('BOTS', 60);
const kills = given('KILLS', 10);
const crashes = given('CRASHES', 2);
const seed = given('SEED', Date.now() % 1_000_000);
/** Only ends a run that hangs. */
const LIMIT_MS = 60_000 + (kills + crashes) * 30_000;
const HOSTS = 3;
const HANG_MS = 700;

/** Progress of a long run. */
function progress(line: string): void {
  if (process.env['CHAOS_PROGRESS']) process.stderr.write(`${line}\n`);
}

interface Wanted {
  isolation: 'thread' | 'process';
  desired: 'running' | 'stopped';
  note: string;
}

it(`chaos leaves no bot behind, and none twice (CHAOS_SEED=${seed})`, {
  timeout: LIMIT_MS,
}, async () => {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const dir = makeDir();
  const lock = randomUUID();
  const wanted = new Map<string, Wanted>();
  const faults = new Map<string, number>();
  const operations = new Map<string, number>();
  const begun = performance.now();
  const count = (counts: Map<string, number>, name: string): void => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  const said = (counts: Map<string, number>): string =>
    [...counts].map(([name, times]) => `${times} ${name}`).join(', ');
  const seconds = (): string => ((performance.now() - begun) / 1000).toFixed(0);
  let service: Service | undefined;
  let stream: SseStream | undefined;
  let running!: Service;

  const start = async (): Promise<void> => {
    running = await startService({
      dataDir: path.join(dir, 'data'),
      args: ['--bot-hosts', String(HOSTS)],
      config: {
        kinds: [FIXTURE_KINDS],
        hosts: { max_heap_mb: 64 },
        watchdog: { hang_ms: HANG_MS },
        // Three ends within a minute are this test's: the next run starts all bots nevertheless.
        start: { bots: 'all' },
        // The shortest backoff: a new instance must not start while the old one is still ending.
        restart: { max_restarts: 1000, backoff_ms: 0, backoff_cap_ms: 50 },
      },
      env: { DROVER_DRILLS_ENABLED: 'true' },
    });
    service = running;
    stream = await watch(running);
  };

  /** The bots, once they match what was asked for. */
  const settle = async (): Promise<void> => {
    const expected = [...wanted].map(([id, { desired, note }]) => {
      const on = desired === 'running';
      return [id, desired, on ? 'online' : 'stopped', on ? note : ''].join();
    });
    let seen: string[] = [];
    await eventually(
      async () => {
        seen = (await list(running)).map(({ id, desired, status, data }) =>
          [id, desired, status, desired === 'running' ? data['note'] : ''].join(),
        );
        return seen.sort().join(' ') === expected.sort().join(' ');
      },
      'what was asked for',
      30_000,
    ).catch(() => expect(seen).toEqual(expected));
    if (stream) expectSingle(stream);
  };

  const killHost = async (): Promise<void> => {
    const fault = pick(['crash', 'crash', 'crash', 'hang', 'out_of_memory', 'abort', 'hoard']);
    count(faults, fault);
    if (fault === 'abort' || fault === 'hoard') {
      await eventually(async () => {
        const isolated = [...wanted].filter(
          ([, bot]) => bot.isolation === 'process' && bot.desired === 'running',
        );
        // All of them may be stopped by now.
        if (isolated.length === 0) return true;
        const [id] = pick(isolated);
        return (await invoke(running, id, fault)).status === 200;
      }, 'a process to break');
      return;
    }
    const host = Math.floor(random() * HOSTS);
    await eventually(async () => {
      const args = { kill: 'host', host, fault };
      return (await invoke(running, null, 'drill', args)).status === 200;
    }, 'a host to kill');
  };

  /** One operation. Its response decides. On a host that hangs it may take until the watchdog acts. */
  const operate = async (): Promise<void> => {
    const id = pick([...wanted.keys()]);
    const bot = wanted.get(id) as Wanted;
    const what = pick(['start', 'stop', 'restart', 'patch', 'label'] as const);
    count(operations, what);
    if (what === 'patch') {
      const note = String(Math.floor(random() * 1e9));
      const body = { config: { note } };
      expect((await call(running, 'PATCH', `/api/bots/${id}`, { body })).status).toBe(200);
      bot.note = note;
    } else if (what === 'label') {
      // No effect on a bot that runs or waits for its restart.
      const body = { labels: { seen: String(Math.floor(random() * 1e9)) } };
      expect((await call(running, 'PATCH', `/api/bots/${id}`, { body })).status).toBe(200);
    } else {
      expect((await act(running, id, what)).status).toBe(200);
      bot.desired = what === 'stop' ? 'stopped' : 'running';
    }
  };

  try {
    await start();
    for (let n = 0; n < bots; n++) {
      const bot: Wanted = {
        isolation: n % 2 === 1 ? 'process' : 'thread',
        desired: n % 4 === 3 ? 'stopped' : 'running',
        note: String(n),
      };
      wanted.set(`bot-${n}`, bot);
      const { isolation, desired, note } = bot;
      const body = { id: `bot-${n}`, kind: 'guarded', config: { lock, note }, isolation, desired };
      expect((await create(running, body)).status).toBe(201);
    }
    await settle();
    progress(`${bots} bots on ${HOSTS} hosts, seed ${seed}`);
    const every = Math.floor(kills / (crashes + 1));
    for (let kill = 1; kill <= kills; kill++) {
      await killHost();
      for (let n = 0; n < 3; n++) await operate();
      // Sometimes the next fault occurs before recovery from the last is complete.
      if (random() < 0.6) await settle();
      progress(`${seconds()} s: host kill ${kill} of ${kills} (${said(faults)})`);
      if (kill % every === 0 && kill / every <= crashes) {
        if (stream) expectSingle(stream);
        stream?.close();
        // It runs until now: no fault of a bot has ended it.
        expect(running.child.exitCode).toBeNull();
        await running.kill();
        await start();
        progress(`${seconds()} s: service kill ${kill / every} of ${crashes}`);
        if (random() < 0.5) await settle();
      }
    }
    await settle();

    // Every bot works: it answers, and can be stopped and started as usual.
    const ids = [...wanted].filter(([, { desired }]) => desired === 'running').map(([id]) => id);
    const expected = Object.fromEntries(ids.map((id) => [id, { result: wanted.get(id)?.note }]));
    let results: unknown;
    await eventually(
      async () => {
        const body = { session_id: ids, command: 'note', args: {} };
        ({ results } = (await POST(running, '/invoke', body)).json as { results: unknown });
        // A host that hangs shows its bots as online until the watchdog acts, and fails this command then.
        return isDeepStrictEqual(results, expected);
      },
      'every bot to answer',
      30_000,
    ).catch(() => expect(results).toEqual(expected));
    // An incident report that was still being written at the kill is lost.
    const reports = await incidents(running);
    expect(reports.length).toBeGreaterThanOrEqual(kills / 2);
    expect([...faults.values()].reduce((sum, times) => sum + times, 0)).toBe(kills);
    expect(stream?.faults).toEqual([]);
    progress(
      [
        `seed ${seed}: ${bots} bots as they were asked for, none twice, none forgotten, in ${seconds()} s`,
        `host kills: ${kills} (${said(faults)}); service kills: ${crashes}; incident reports: ${reports.length}`,
        `operations meanwhile: ${said(operations)}`,
      ].join('\n'),
    );
  } finally {
    stream?.close();
    await stopClean(service);
    removeDir(dir);
  }
});
