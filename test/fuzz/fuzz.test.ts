// Malformed HTTP, sent raw: no crash, no hang, no leak, and the next valid request is served.
//
// This is the short form. `npm run long -- fuzz` (fuzz.mjs) sets the environment for a long one, and FUZZ_SEED repeats a run.

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../harness/certificate.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import {
  frontFlags,
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';
import { attack, type Way } from './attack.js';
import { type Case, casesFrom, everySplit, handshakesFrom, randomFrom } from './cases.js';
import { Target } from './target.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`FUZZ_${name}`] ?? otherwise);
/** `npm test` always sends the same few cases. `npm run long -- fuzz` sends many, different each time. */
const allCases = given('CASES', 600);
const seed = given('SEED', 1);
const isLong = allCases >= 10_000;
/** Connections at a time. */
const WIDTH = 24;
/** Number of cases between two health checks of the service. */
const ROUND = 250;
/** Only ends a run that hangs. */
const LIMIT_MS = 120_000 + allCases * 50;
/** Permitted growth of resident memory after the first quarter, with room for uncollected garbage. */
const MOST_GROWTH = 96 * 2 ** 20;

/** The services under attack, with their number of cases. */
const SERVICES = [
  { name: 'one front', fronts: 1, isTls: false, cases: allCases },
  ...(isLong
    ? [{ name: 'two fronts', fronts: 2, isTls: false, cases: Math.ceil(allCases / 10) }]
    : []),
  { name: 'TLS', fronts: 2, isTls: true, cases: Math.ceil(allCases / 6) },
];

/** Progress of a long run. */
function progress(line: string): void {
  if (process.env['FUZZ_PROGRESS']) process.stderr.write(`${line}\n`);
}

/** The first bytes of a client that speaks TLS. */
async function clientHello(): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const client = tls.connect({ port, host: '127.0.0.1', servername: 'localhost' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
}

describe.each(SERVICES)('malformed HTTP to $name', ({ fronts, isTls, cases }) => {
  let dir: string;
  let service: Service;
  let target: Target;
  let hello: Buffer;
  let keptAlive: RawConnection;
  /** How many cases got any response. */
  const answered = new Map<Way, number>();
  beforeAll(async () => {
    dir = makeDir();
    const { certPath: cert, keyPath: key } = makeCertificate(dir, 'used', 1);
    hello = await clientHello();
    service = await startService({
      args: frontFlags(fronts),
      config: {
        // Some cases contain wrong PINs. Their limit is not under test.
        pin: { capacity: 1000, refill_per_minute: 60_000 },
        http: { header_timeout_ms: 2000, idle_timeout_ms: 2000, body_timeout_ms: 1000 },
        stream: { heartbeat_ms: 500 },
        ...(isTls ? { tls: { cert, key } } : {}),
      },
    });
    target = await Target.of(service, isTls);
  });
  afterAll(async () => {
    target?.close();
    keptAlive?.close();
    await stopClean(service);
    removeDir(dir);
  });

  /** Cases and how to send each one. */
  function* attacks(): Generator<[Case, Way], never, void> {
    const random = randomFrom(seed);
    const source = casesFrom(random, target.token);
    const handshakes = handshakesFrom(random, hello);
    for (;;) {
      if (!isTls) {
        yield [source.next().value, 'plain'];
        continue;
      }
      yield [source.next().value, 'tls'];
      yield [source.next().value, 'tls'];
      yield [source.next().value, 'plain to tls'];
      yield [handshakes.next().value, 'plain to tls'];
    }
  }

  /** @throws Error for the first fault, with its case in a form that can be sent again. */
  async function send(list: readonly [Case, Way][]): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let at = next++; at < list.length; at = next++) {
        const [tried, way] = list[at] as [Case, Way];
        try {
          if (await attack(service.port, tried, way))
            answered.set(way, (answered.get(way) ?? 0) + 1);
        } catch (thrown) {
          const bytes = JSON.stringify(tried.pieces.map((piece) => piece.toString('latin1')));
          throw new Error(`${tried.name}, ${way} (FUZZ_SEED=${seed}): ${bytes.slice(0, 2000)}`, {
            cause: thrown,
          });
        }
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, worker));
  }

  /** The next valid request is served, and existing clients are unaffected. */
  async function expectWell(): Promise<void> {
    expect(service.child.exitCode).toBeNull();
    expect((await target.ask({ path: '/api-info' })).status).toBe(200);
    expect(target.ended).toBeUndefined();
  }

  const openFiles = (): number => readdirSync(`/proc/${service.child.pid}/fd`).length;
  const residentBytes = (): number => {
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
    return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  };

  if (fronts === 1) {
    it('a request that is cut at any byte is served or refused, and breaks nothing', async () => {
      await send([...everySplit(target.token)].map((split) => [split, 'plain']));
      await expectWell();
    });
  }

  it(`${cases} cases break nothing (FUZZ_SEED=${seed})`, { timeout: LIMIT_MS }, async () => {
    const canLook = process.platform === 'linux';
    const filesBefore = canLook ? openFiles() : 0;
    const source = attacks();
    const startedAt = performance.now();
    let settledMemory = 0;
    for (let sent = 0; sent < cases; sent += ROUND) {
      const size = Math.min(ROUND, cases - sent);
      await send(Array.from({ length: size }, () => source.next().value));
      await expectWell();
      if (!canLook) continue;
      if (isLong && settledMemory === 0 && sent >= cases / 4) settledMemory = residentBytes();
      if ((sent / ROUND) % 40 === 0) {
        const rate = Math.round((sent + size) / ((performance.now() - startedAt) / 1000));
        const mb = Math.round(residentBytes() / 2 ** 20);
        progress(`${sent + size} cases, ${rate}/s, ${mb} MB, ${openFiles()} open files`);
      }
    }
    // The cases reached their targets: the HTTP parser and the handshake parser.
    for (const way of isTls ? (['tls', 'plain to tls'] as const) : (['plain'] as const)) {
      expect(answered.get(way), way).toBeGreaterThan(cases / 40);
    }
    // The stream was open all the time, and still works.
    await target.hears();
    if (!canLook) return;
    // Sockets of clients that left early close with the idle timeout.
    await expect.poll(openFiles).toBeLessThanOrEqual(filesBefore + 5);
    if (settledMemory > 0) expect(residentBytes() - settledMemory).toBeLessThan(MOST_GROWTH);
  });

  if (isTls) return;
  it('a connection that stayed open is still served', async () => {
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
