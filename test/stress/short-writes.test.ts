// Sockets that accept only a part of a write, or nothing, at any byte, also between a chunk's size and its data. Needs
// Linux and a C compiler, which builds the send() that does so.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { TLS_CIPHERS } from '../../src/shared/contract/config.js';
import { makeCertificate } from '../harness/certificate.js';
import { raw, requestBytes } from '../harness/http.js';
import { Ledger } from '../harness/ledger.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const SOURCE = fileURLToPath(new URL('short-writes.c', import.meta.url));
const SERVER = fileURLToPath(new URL('short-writes-server.mjs', import.meta.url));
const BUILD = new URL('../../dist/src/', import.meta.url).href;
const MIB = 2 ** 20;
/** Larger than the largest write of any engine. */
const MAX_PIECE_BYTES = 300_000;
const STREAM_BYTES = 48 * MIB;
/** Prime: the pattern never repeats in step with a piece. */
const PATTERN_BYTES = 1_000_003;
const SILENT = 400;

const dir = makeDir();
const library = path.join(dir, 'short-writes.so');
const isLinux = process.platform === 'linux';

let service: Service | undefined;
beforeAll(async () => {
  if (!isLinux) return;
  requireTool('cc', 'gcc libc6-dev');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
  service = await startService({
    env: { LD_PRELOAD: library },
    config: {
      bots: [
        { id: 'big', kind: 'synthetic', config: { events_per_second: 1000, message_bytes: 8000 } },
        { id: 'many', kind: 'synthetic', config: { events_per_second: 2000, message_bytes: 60 } },
        // Enough bots to make their list larger than any buffer on the way.
        ...Array.from({ length: SILENT }, (_, n) => ({
          id: `silent-${n}`,
          kind: 'synthetic',
          config: { events_per_second: 0 },
        })),
      ],
    },
  });
});
beforeEach((context) => skipWithout(context, isLinux, 'Linux'));
afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

it.each([
  ['', false],
  ['?session=big', true],
  ['?session=many', true],
])('every byte arrives, once and in order: /events%s', async (query, filtered) => {
  const { port, token } = service as Service;
  const auth = await token();
  // The bots' earlier lines are on the ring: a client that resumes from there gets large writes at once.
  const first = new Ledger();
  const stream = await RawStream.open(port, { token: auth, onBlock: first.take });
  onTestFinished(() => stream.close());
  await stream.until(() => stream.bodyBytes > 4 * MIB);
  const faults = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const ledger = new Ledger({ filtered });
      // The client sets the start position, so the stream does not repeat it.
      ledger.last = first.first;
      const resumed = await RawStream.open(port, {
        token: auth,
        target: `/events${query}`,
        headers: { 'Last-Event-ID': `${first.epoch}-${first.first}` },
        onBlock: ledger.take,
      });
      onTestFinished(() => resumed.close());
      await resumed.until(() => (ledger.last ?? 0) >= (first.last ?? 0)).catch(() => {});
      return [...ledger.faults, ...(resumed.fault ? [resumed.fault.message] : [])];
    }),
  );
  expect(faults).toEqual(faults.map(() => []));
  expect(stream.fault).toBeUndefined();
  expect(first.faults).toEqual([]);
});

it.each([
  ['uws', false],
  ['uws', true],
  ['node', false],
  ['node', true],
])('large writes of any size lose no byte: %s, TLS %s', async (engine, isTls) => {
  const certificate = isTls ? makeCertificate(dir, engine, 1) : undefined;
  const count = path.join(dir, `count-${engine}-${isTls}`);
  writeFileSync(count, Buffer.alloc(8));
  const server = spawn(
    process.execPath,
    [
      SERVER,
      JSON.stringify({
        build: BUILD,
        engine,
        tls: certificate ? { cert: certificate.certPath, key: certificate.keyPath } : null,
        ciphers: TLS_CIPHERS,
        maxPieceBytes: MAX_PIECE_BYTES,
        streamBytes: STREAM_BYTES,
        patternBytes: PATTERN_BYTES,
      }),
    ],
    {
      env: { ...process.env, LD_PRELOAD: library, SHORT_WRITES_COUNT: count },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  onTestFinished(() => void server.kill('SIGKILL'));
  let errors = '';
  server.stderr.on('data', (text: Buffer) => {
    errors += text.toString().slice(0, 1000);
  });
  const [port] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const pattern = Buffer.alloc(2 * PATTERN_BYTES);
  for (let at = 0; at < pattern.length; at++) {
    pattern[at] = ((at % PATTERN_BYTES) * 2654435761) >>> 13;
  }
  const faults = await Promise.all(
    Array.from({ length: 4 }, async () => {
      let at = 0;
      let fault: string | undefined;
      const stream = await RawStream.open(Number(port), {
        ...(certificate ? { ca: certificate.certPem } : {}),
        onBody: (bytes) => {
          const from = at % PATTERN_BYTES;
          const isSame = pattern.compare(bytes, 0, bytes.length, from, from + bytes.length) === 0;
          if (!isSame) fault ??= `other bytes from ${at} on`;
          at += bytes.length;
        },
      });
      onTestFinished(() => stream.close());
      const end = await stream.ended;
      return [end, at, fault ?? stream.fault?.message];
    }),
  );
  expect(faults).toEqual(faults.map(() => ['complete', STREAM_BYTES, undefined]));
  expect(errors).toBe('');
  expect(Number(readFileSync(count).readBigUInt64LE())).toBeGreaterThan(1000);
});

it('responses to requests are complete too', async () => {
  for (let n = 0; n < 50; n++) {
    const { port, token } = service as Service;
    const headers = { Authorization: `Bearer ${await token()}` };
    const answer = await raw(port, requestBytes('GET', '/api/bots', headers));
    expect(answer.status).toBe(200);
    expect((answer.json() as { bots: object[] }).bots).toHaveLength(SILENT + 2);
  }
});
