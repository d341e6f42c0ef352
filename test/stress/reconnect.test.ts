// Clients that are dropped at any byte and reconnect with their last id: nothing is lost or duplicated, or the loss is
// declared. DROVER_TEST_CLIENTS and DROVER_TEST_ROUNDS make the test longer.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const CLIENTS = Number(process.env['DROVER_TEST_CLIENTS'] ?? 150);
const ROUNDS = Number(process.env['DROVER_TEST_ROUNDS'] ?? 2);
/** The text of every n-th frame is compared across all clients. */
const SAMPLE = 53;
const SMALL_RING = 262_144;

const LOAD = ['a', 'b', 'c'].map((id) => ({
  id,
  kind: 'synthetic',
  config: { events_per_second: 800, message_bytes: 60 },
}));

let roomy: Service;
let small: Service;
beforeAll(async () => {
  // Without a journal: with one, a client that resumes still receives events that have left the ring (journal.test.ts).
  const start = (stream: object) =>
    startService({ config: { bots: LOAD, stream, journal: { enabled: false } } });
  [roomy, small] = await Promise.all([start({}), start({ ring_bytes: SMALL_RING })]);
});
afterAll(() => Promise.all([stopClean(roomy), stopClean(small)]));

/** One client across all of its connections. */
class Client {
  readonly ledger: Ledger;
  readonly #service: Service;
  readonly #token: string;
  readonly #byHeader: boolean;
  #stream: RawStream | undefined;
  resumes = 0;

  constructor(service: Service, token: string, byHeader: boolean, seen: Map<number, string>) {
    this.#service = service;
    this.#token = token;
    this.#byHeader = byHeader;
    this.ledger = new Ledger({
      onFrame: (seq, block) => {
        if (seq % SAMPLE !== 0) return;
        const known = seen.get(seq);
        if (known === undefined) seen.set(seq, block);
        else if (known !== block) this.ledger.faults.push(`another text for ${seq}: ${block}`);
      },
    });
  }

  async connect(): Promise<RawStream> {
    const id = this.ledger.lastEventId;
    if (id !== '') this.resumes += 1;
    const token = `token=${encodeURIComponent(this.#token)}`;
    this.#stream = await RawStream.open(this.#service.port, {
      target: `/events?${token}${this.#byHeader || id === '' ? '' : `&last_event_id=${id}`}`,
      headers: this.#byHeader && id !== '' ? { 'Last-Event-ID': id } : {},
      onBlock: this.ledger.take,
    });
    return this.#stream;
  }

  /** One connection that is cut after that many bytes. */
  async visit(bytes: number): Promise<void> {
    const stream = await this.connect();
    stream.cutAfter(bytes);
    await stream.ended;
    if (stream.fault) throw stream.fault;
  }

  /** A last connection that stays open until it has received the number. */
  async stay(until: number): Promise<void> {
    const stream = await this.connect();
    await stream.until(() => (this.ledger.last ?? 0) >= until);
    stream.close();
  }
}

/** Pseudo-random numbers in [0, 1), so that a failing run can be repeated. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A number above all events so far. */
async function presentNumber(service: Service, token: string): Promise<number> {
  const ledger = new Ledger();
  const stream = await RawStream.open(service.port, { token, onBlock: ledger.take });
  await stream.until(() => ledger.frames > 0);
  stream.close();
  return ledger.last ?? 0;
}

/** Connects and drops all clients. `pauseMs` is the longest time that one stays disconnected. */
async function comeAndGo(service: Service, pauseMs: number): Promise<Client[]> {
  const token = await service.token();
  const random = randoms(7);
  const seen = new Map<number, string>();
  const clients = Array.from(
    { length: CLIENTS },
    (_, n) => new Client(service, token, n % 2 === 0, seen),
  );
  await Promise.all(
    clients.map(async (client) => {
      for (let round = 0; round < ROUNDS; round++) {
        // From the middle of the response head to a few hundred frames.
        await client.visit(1 + Math.floor(random() ** 2 * 120_000));
        // The time that a client stays disconnected is the test input. There is no event to wait for.
        await new Promise((resolve) => setTimeout(resolve, random() * pauseMs));
      }
    }),
  );
  const end = await presentNumber(service, token);
  await Promise.all(clients.map((client) => client.stay(end)));
  expect(seen.size).toBeGreaterThan(10);
  return clients;
}

function expectExact(clients: readonly Client[]): void {
  expect(clients.flatMap(({ ledger }) => ledger.faults)).toEqual([]);
  for (const { ledger } of clients) {
    expect(ledger.accounted).toBe((ledger.last ?? 0) - (ledger.first ?? 0));
  }
}

it('clients that resume receive every number exactly once', async () => {
  const clients = await comeAndGo(roomy, 300);
  expectExact(clients);
  expect(clients.flatMap(({ ledger }) => ledger.gaps)).toEqual([]);
  const resumes = clients.reduce((sum, client) => sum + client.resumes, 0);
  expect(resumes).toBeGreaterThan(CLIENTS * (ROUNDS - 1));
});

it('with a small ring the overwritten events are one gap with the exact count', async () => {
  const clients = await comeAndGo(small, 1500);
  expectExact(clients);
  const gaps = clients.flatMap(({ ledger }) => ledger.gaps);
  const resumes = clients.reduce((sum, client) => sum + client.resumes, 0);
  // Both must have occurred: losses, and resumes without loss.
  expect(gaps.length).toBeGreaterThan(10);
  expect(gaps.length).toBeLessThan(resumes);
});

it('the numbers of a bot have no gap that the stream does not declare', async () => {
  // Ids alone would not show a line that was lost before it got its id.
  const token = await roomy.token();
  const numbers = new Map<string, number>();
  const faults: string[] = [];
  const ledger = new Ledger({
    onFrame: (seq, block) => {
      const json: unknown = JSON.parse(block.slice(block.indexOf('\ndata: ') + 7));
      const { session_id: bot, scope, message } = json as Record<string, string>;
      const number = scope === 'bot' && bot ? Number(/^(\d+) /.exec(message ?? '')?.[1]) : NaN;
      if (!bot || Number.isNaN(number)) return;
      const before = numbers.get(bot);
      if (before !== undefined && number !== before + 1) {
        faults.push(`${bot} ${number} after ${before} at ${seq}`);
      }
      numbers.set(bot, number);
    },
  });
  const stream = await RawStream.open(roomy.port, { token, onBlock: ledger.take });
  await stream.until(() => ledger.frames > 3000);
  stream.close();
  expect(faults).toEqual([]);
  expect([...numbers.keys()].sort()).toEqual(['a', 'b', 'c']);
  expect((await call(roomy, 'GET', '/health', { token: null })).text).toBe('ok');
});
