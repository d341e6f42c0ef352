// A journal whose disk fails: full, corrupt, removed or off. The service continues without it, reports that, and returns
// to it without a restart. Corrupt files are set aside.
//
// The full disk is a small tmpfs where the system permits the mount. A limit on the file size (RLIMIT_FSIZE) covers the
// same case without privileges.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, watch } from '../harness/bots.js';
import { epochOf, journalOf, keptBy, pastDownload, pastPage, seqOf } from '../harness/history.js';
import { requireTool } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { logOf, waitForLog } from '../harness/shapes.js';
import { mountSmallDisk } from '../harness/small-disk.js';
import type { SseStream } from '../harness/sse.js';

const LOAD = {
  id: 'load',
  kind: 'synthetic',
  config: { events_per_second: 4000, message_bytes: 400 },
};

let home: string;
let dataDir: string;
let journalDir: string;
let service: Service | undefined;

beforeEach(() => {
  const dir = makeDir();
  // After the file systems that a test mounts in it are gone.
  onTestFinished(() => removeDir(dir));
  home = dir;
  dataDir = path.join(home, 'data');
  journalDir = path.join(dataDir, 'journal');
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

const begin = async (config: object = {}): Promise<Service> => {
  service = await startService({ dataDir, config: { bots: [LOAD], ...config } });
  return service;
};

const journalLine = (stream: SseStream, text: string | RegExp) =>
  waitForLog(
    stream,
    ({ scope, message }) =>
      scope === 'journal' &&
      (typeof text === 'string' ? message.includes(text) : text.test(message)),
    60_000,
  );

const pressureOf = async (
  of: Service,
): Promise<{ journal: { state: string; reason: string | null } }> => {
  const answer = await call(of, 'GET', '/api/pressure');
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { journal: { state: string; reason: string | null } };
};

/** Holds the lock of an LMDB file's writer from the first line of standard input to its end. */
const HOLD = `
  import { readSync, writeSync } from 'node:fs';
  import { open } from 'lmdb';
  const root = open({ path: process.env.HELD, noSubdir: true, maxDbs: 8 });
  writeSync(1, 'opened');
  readSync(0, Buffer.alloc(1));
  root.transactionSync(() => {
    writeSync(1, 'held');
    try { while (readSync(0, Buffer.alloc(1)) > 0); } catch {}
  });
  process.kill(process.pid, 'SIGKILL');
`;

/** Each number of the stream up to `last` is in the journal or in a gap that it declares. */
async function expectWhole(of: Service, last: number): Promise<{ lost: number }> {
  const events = await pastDownload(of);
  let at = seqOf(events[0]?.id ?? '') - 1;
  let lost = 0;
  for (const { id, event, data } of events) {
    const seq = seqOf(id);
    if (event === 'gap') {
      expect(data).toEqual({ from: `${epochOf(id)}-${at + 1}`, to: id, dropped: seq - at });
      lost += data.dropped ?? 0;
    } else if (seq !== at + 1) expect.unreachable(`${id} after ${at}`);
    at = seq;
  }
  expect(at).toBeGreaterThanOrEqual(last);
  return { lost };
}

async function fillAndEmpty(
  of: Service,
  fill: () => void,
  empty: () => void,
): Promise<{ stream: SseStream; failedAt: number }> {
  const stream = await watch(of, '?scope=journal,drover');
  await eventually(async () => (await keptBy(of)) > 6000, 'journaled events');
  fill();
  const line = await journalLine(stream, 'continues without its journal');
  expect(line.level).toBe('error');
  expect((await pressureOf(of)).journal).toMatchObject({
    state: 'failed',
    reason: expect.any(String),
  });
  // Everything else works: requests, bots, streams. Events already written stay readable.
  expect((await call(of, 'GET', '/health', { token: null })).text).toBe('ok');
  const live = await watch(of, '?session=load&snapshot=0');
  await live.until(() => live.frames.length > 500);
  live.close();
  await eventually(async () => {
    const answer = await call(of, 'GET', '/api/events?limit=5');
    return answer.status === 200 && (answer.json as { events: unknown[] }).events.length === 5;
  }, 'a page of history');
  const failedAt = stream.frames.length;
  empty();
  await journalLine(stream, 'it is written again');
  await eventually(async () => (await pressureOf(of)).journal.state === 'on', 'journal state on');
  return { stream, failedAt };
}

it('a full disk, with a ring that bridges it: nothing is lost', {
  timeout: 120_000,
}, async (context) => {
  const disk = mountSmallDisk(context, journalDir, 16);
  const of = await begin();
  const { stream } = await fillAndEmpty(of, disk.fill, disk.empty);
  const { newest } = await journalOf(of);
  expect(await expectWhole(of, seqOf(newest ?? ''))).toEqual({ lost: 0 });
  // One line each, not one for every retry.
  const lines = stream.frames.flatMap((frame) => logOf(frame) ?? []);
  expect(
    lines.filter(({ scope, level }) => scope === 'journal' && level === 'error').length,
  ).toBeLessThanOrEqual(2);
});

it('a disk that is full at the start, without the lock file: the journal waits, then resumes with the same epoch', {
  timeout: 120_000,
}, async (context) => {
  const disk = mountSmallDisk(context, journalDir, 16);
  const first = await begin();
  await eventually(async () => (await keptBy(first)) > 2000, 'journaled events');
  const { oldest, newest } = await journalOf(first);
  await stopClean(first);
  rmSync(path.join(journalDir, 'journal.mdb-lock'));
  disk.fill();
  const of = await begin();
  await eventually(
    async () => (await pressureOf(of)).journal.state === 'failed',
    'journal state failed',
  );
  expect((await pressureOf(of)).journal.reason).toContain('ENOSPC');
  disk.empty();
  await eventually(async () => (await pressureOf(of)).journal.state === 'on', 'journal state on');
  expect(readdirSync(journalDir).filter((name) => name.includes('broken'))).toEqual([]);
  expect(await journalOf(of)).toMatchObject({ oldest, lost: 0 });
  const after = await journalOf(of);
  expect(epochOf(after.newest ?? '')).toBe(epochOf(newest ?? ''));
  expect(seqOf(after.newest ?? '')).toBeGreaterThan(seqOf(newest ?? ''));
});

it('a file size limit, with a ring that does not bridge it: the gap is declared', {
  timeout: 120_000,
}, async () => {
  requireTool('prlimit', 'util-linux');
  const of = await begin({ stream: { ring_bytes: 1_048_576 } });
  const limit = (bytes: number | 'unlimited'): void => {
    execFileSync('prlimit', ['--pid', String(of.child.pid), `--fsize=${bytes}:unlimited`]);
  };
  await fillAndEmpty(
    of,
    () => limit(statSync(path.join(journalDir, 'journal.mdb')).size),
    () => limit('unlimited'),
  );
  // 16 MiB wait in memory, the rest on the ring. At that rate the test may end before anything is lost.
  const found = await expectWhole(of, seqOf((await journalOf(of)).newest ?? ''));
  // After that: the journal may have come to the hole while it was read.
  const { lost, holes } = await journalOf(of);
  expect(found.lost).toBe(lost);
  expect(holes > 0).toBe(lost > 0);
});

it('a directory that is not writable at the start: the journal recovers without a restart', async () => {
  mkdirSync(dataDir, { recursive: true });
  // A file in place of the directory: nobody can write below it, not even root.
  writeFileSync(journalDir, 'in the way');
  const of = await begin();
  expect((await pressureOf(of)).journal.state).toBe('failed');
  const refused = await call(of, 'GET', '/api/events');
  expect(refused.status).toBe(503);
  expect(refused.json).toEqual({ error: expect.stringContaining('journal') });
  const stream = await watch(of);
  await stream.until(() => stream.frames.length > 200);
  rmSync(journalDir);
  await eventually(async () => (await pressureOf(of)).journal.state === 'on', 'journal state on');
  await eventually(
    async () => (await pastPage(of, '?session=load&limit=1')).events.length === 1,
    'new lines',
  );
  const { newest } = await journalOf(of);
  expect(await expectWhole(of, seqOf(newest ?? ''))).toEqual({ lost: 0 });
});

it.each<[string, (file: string) => void]>([
  ['garbage', (file) => writeFileSync(file, Buffer.alloc(50_000, 'garbage '))],
  ['truncated', (file) => truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096)],
  ['pages of zeros', (file) => writeFileSync(file, Buffer.alloc(40_960), { flag: 'r+' })],
])(
  'a file that is corrupt at the start (%s) is set aside, and a new one is created',
  async (_, damage) => {
    const first = await begin();
    await eventually(async () => (await keptBy(first)) > 5000, 'journaled events');
    await stopClean(first);
    const file = path.join(journalDir, 'journal.mdb');
    const before = statSync(file).size;
    copyFileSync(file, path.join(home, 'whole'));
    damage(file);
    const size = statSync(file).size;
    const of = await begin();
    await eventually(async () => (await journalOf(of)).state === 'on', 'journal state on');
    const aside = readdirSync(journalDir).filter((name) => name.startsWith('journal.mdb.broken-'));
    expect(aside).toHaveLength(1);
    expect(statSync(path.join(journalDir, aside[0] as string)).size).toBe(size);
    expect(before).toBeGreaterThan(0);
    const lines = await pastPage(of, '?scope=journal&order=oldest');
    expect(lines.events.map(({ data }) => data.message)).toEqual([
      expect.stringMatching(/is broken \(.*\) and is set aside as .*; a new one begins empty/),
    ]);
    await eventually(
      async () => (await pastPage(of, '?session=load&limit=1')).events.length === 1,
      'new lines',
    );
  },
);

it('a file that is removed while in use: a new one is created', async () => {
  const of = await begin();
  await eventually(async () => (await keptBy(of)) > 2000, 'journaled events');
  const file = path.join(journalDir, 'journal.mdb');
  renameSync(file, path.join(home, 'taken'));
  await eventually(
    async () => existsSync(file) && (await journalOf(of)).state === 'on',
    'it is on',
    30_000,
  );
  await eventually(
    async () => (await pastPage(of, '?session=load&limit=1')).events.length === 1,
    'new lines',
  );
});

it('a journal that is lost between two runs: a new epoch, and a resumed stream reports it', async () => {
  const first = await begin();
  await eventually(async () => (await journalOf(first)).bytes > 0, 'journaled events');
  const { events } = await pastPage(first, '?limit=1');
  await stopClean(first);
  rmSync(journalDir, { recursive: true });
  const of = await begin();
  const stream = await watch(of, `?last_event_id=${events[0]?.id}`);
  const gap = await stream.waitFor((frame) => frame.event === 'gap');
  expect((gap.json as { from: string }).from).toBe(events[0]?.id);
  expect(epochOf(gap.id ?? '')).not.toBe(epochOf(events[0]?.id ?? ''));
});

it('off: each run has its own epoch, there is no history, and nothing is written', async () => {
  const off = { journal: { enabled: false } };
  const first = await begin(off);
  const answer = await call(first, 'GET', '/api/events');
  expect({ status: answer.status, json: answer.json }).toEqual({
    status: 503,
    json: { error: 'the journal is off' },
  });
  expect((await call(first, 'GET', '/api/stats')).status).toBe(503);
  expect((await pressureOf(first)).journal).toEqual({ state: 'off', reason: null });
  const epochs: string[] = [];
  for (const _ of [1, 2]) {
    const of = service as Service;
    const stream = await watch(of);
    const frame = await stream.waitFor(({ id }) => id !== undefined && id !== '');
    epochs.push(epochOf(frame.id ?? ''));
    await stopClean(of);
    await begin(off);
  }
  expect(new Set(epochs).size).toBe(2);
  expect(existsSync(journalDir)).toBe(false);
});

it('a write that hangs: it is reported, everything else continues, and the journal recovers', async () => {
  // Simulates a disk that hangs: another process holds the lock that LMDB takes for each commit. It opens the file before
  // the service writes to it: during a commit that would take the commit back.
  await begin();
  await stopClean(service);
  const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD], {
    env: { ...process.env, HELD: path.join(journalDir, 'journal.mdb') },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const of = await begin();
  const stream = await watch(of, '?scope=journal,drover');
  const before = await keptBy(of);
  await eventually(async () => (await keptBy(of)) > before + 1000, 'journaled events');
  try {
    holder.stdin.write('\n');
    await once(holder.stdout, 'data');
    await journalLine(stream, /without its journal: the disk has not answered for 5 s/);
    expect((await pressureOf(of)).journal).toMatchObject({ state: 'failed' });
    const live = await watch(of, '?session=load&snapshot=0');
    await live.until(() => live.frames.length > 500);
    live.close();
  } finally {
    holder.stdin.end();
  }
  await journalLine(stream, 'it works again');
  await eventually(async () => (await pressureOf(of)).journal.state === 'on', 'journal state on');
  const { newest, lost } = await journalOf(of);
  expect(await expectWhole(of, seqOf(newest ?? ''))).toEqual({ lost });
});
