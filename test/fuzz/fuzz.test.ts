// Issue 5 "Bad input": malformed HTTP, sent raw. No crash, no hang, no leak; the next good request is served.
//
// This is the short form. `npm run fuzz` (fuzz.mjs) sets the environment for a long one, and FUZZ_SEED repeats a run.

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { attack } from './attack.js';
import { type Case, casesFrom, everySplit, randomFrom } from './cases.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`FUZZ_${name}`] ?? otherwise);
const cases = given('CASES', 3000);
const seed = given('SEED', Date.now() % 1_000_000);
/** Connections at a time. */
const WIDTH = 24;
/** Between two looks at whether the service is well. */
const ROUND = 250;
/** Only ends a run that hangs. */
const LIMIT_MS = 120_000 + cases * 50;
/** What resident memory may grow by from the end of the first quarter on: garbage comes and goes. */
const MOST_GROWTH = 96 * 2 ** 20;

let service: Service;
let token: string;
let stream: RawStream;
let keptAlive: RawConnection;
beforeAll(async () => {
  service = await startService({
    config: {
      // Wrong PINs are among the cases, and this is not about them.
      pin: { capacity: 1000, refill_per_minute: 60_000 },
      http: { header_timeout_ms: 2000, idle_timeout_ms: 2000, body_timeout_ms: 1000 },
      stream: { heartbeat_ms: 500 },
    },
  });
  token = await service.token();
  stream = await RawStream.open(service.port, { token });
});
afterAll(async () => {
  stream?.close();
  keptAlive?.close();
  await stopClean(service);
});

/** Where a long run stands, for those who wait for it. */
function progress(line: string): void {
  if (process.env['FUZZ_PROGRESS']) process.stderr.write(`${line}\n`);
}

/** Throws the first fault, with the case that brought it, ready to be sent again. */
async function send(list: readonly Case[]): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < list.length; at = next++) {
      const tried = list[at] as Case;
      try {
        await attack(service.port, tried);
      } catch (thrown) {
        const bytes = JSON.stringify(tried.pieces.map((piece) => piece.toString('latin1')));
        throw new Error(`${tried.name} (FUZZ_SEED=${seed}): ${bytes.slice(0, 2000)}`, {
          cause: thrown,
        });
      }
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
}

/** The next good request is served, and who was there before has noticed nothing. */
async function expectWell(): Promise<void> {
  expect(service.child.exitCode).toBeNull();
  expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
  expect(stream.fault).toBeUndefined();
  expect(stream.isOver).toBe(false);
}

const openFiles = (): number => readdirSync(`/proc/${service.child.pid}/fd`).length;
const residentBytes = (): number => {
  const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
};

describe('malformed HTTP', () => {
  it('a request that is cut at any byte is served or refused, and does no harm', async () => {
    await send([...everySplit(token)]);
    await expectWell();
  });

  it(`${cases} cases do no harm (FUZZ_SEED=${seed})`, { timeout: LIMIT_MS }, async () => {
    const canLook = process.platform === 'linux';
    const filesBefore = canLook ? openFiles() : 0;
    const source = casesFrom(randomFrom(seed), token);
    const startedAt = performance.now();
    let settledMemory = 0;
    for (let sent = 0; sent < cases; sent += ROUND) {
      const size = Math.min(ROUND, cases - sent);
      await send(Array.from({ length: size }, () => source.next().value));
      await expectWell();
      if (!canLook) continue;
      if (settledMemory === 0 && sent >= cases / 4) settledMemory = residentBytes();
      if ((sent / ROUND) % 40 === 0) {
        const rate = Math.round((sent + size) / ((performance.now() - startedAt) / 1000));
        const mb = Math.round(residentBytes() / 2 ** 20);
        progress(`${sent + size} cases, ${rate}/s, ${mb} MB, ${openFiles()} open files`);
      }
    }
    // The stream has been alive all the time, and is.
    const before = stream.bodyBytes;
    await stream.until(() => stream.bodyBytes > before);
    if (!canLook) return;
    // Sockets of clients that left in the middle go with the idle timeout.
    await expect.poll(openFiles, { timeout: 40_000 }).toBeLessThanOrEqual(filesBefore + 5);
    expect(residentBytes() - settledMemory).toBeLessThan(MOST_GROWTH);
  });

  it('a connection that was open all the time is served too', async () => {
    keptAlive = await RawConnection.open(service.port);
    const good = requestBytes('GET', '/health');
    await keptAlive.send(good);
    expect((await keptAlive.response()).body).toBe('ok');
    const junk = await RawConnection.open(service.port);
    await junk.send('GET / HTTP/9.9\r\n\r\n');
    await junk.ended();
    await keptAlive.send(good);
    expect((await keptAlive.response()).body).toBe('ok');
  });
});
