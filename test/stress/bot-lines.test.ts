// A bot that logs too much loses info lines only, and the stream reports their exact number.

import { afterEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { Log, Snapshot } from '../harness/shapes.js';

const LIMIT = 100;

let service: Service | undefined;
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

/** What a stream reports about one bot. */
class BotStory {
  shown = 0;
  skipped = 0;
  reports = 0;
  lastNumber = 0;
  firstNumbers: number[] = [];
  statuses: string[] = [];
  states: string[] = [];
  readonly faults: string[] = [];
  /** The last report implies that the bot has written at least this many lines. */
  #reported = 0;

  take(block: string): void {
    const data: unknown = JSON.parse(block.slice(block.indexOf('\ndata: ') + 7));
    const { snapshot, activity } = data as { snapshot?: Snapshot; activity?: string };
    if (activity !== undefined) return;
    if (snapshot) this.statuses.push(snapshot.status);
    else this.#line(data as Log);
  }

  #line({ level, message, scope }: Log): void {
    if (scope === 'dispatch') return;
    if (level === 'state') this.states.push(message);
    else if (level === 'info') this.#shown(Number.parseInt(message, 10));
    else this.#report(level, message);
  }

  #shown(number: number): void {
    // Between two reports the line numbers only grow. After a report they exceed what it accounts for.
    if (number <= this.lastNumber) this.faults.push(`${number} after ${this.lastNumber}`);
    if (number <= this.#reported)
      this.faults.push(`${number}, but ${this.#reported} were reported`);
    this.lastNumber = number;
    this.shown += 1;
    if (this.firstNumbers.length < LIMIT) this.firstNumbers.push(number);
  }

  #report(level: string, message: string): void {
    const count = Number(/^(\d+) info lines were skipped/.exec(message)?.[1]);
    if (level !== 'warn' || !(count > 0)) this.faults.push(`${level} ${message}`);
    this.reports += 1;
    this.skipped += count;
    this.#reported = this.shown + this.skipped;
    if (this.#reported < this.lastNumber) {
      this.faults.push(`${this.shown} shown and ${this.skipped} skipped, at ${this.lastNumber}`);
    }
  }
}

async function follow(id: string): Promise<{ story: BotStory; stream: RawStream }> {
  const story = new BotStory();
  const ledger = new Ledger({ filtered: true, onFrame: (_, block) => story.take(block) });
  const { port, token } = service as Service;
  const stream = await RawStream.open(port, {
    token: await token(),
    target: `/events?session=${id}`,
    onBlock: ledger.take,
  });
  onTestFinished(() => {
    stream.close();
    expect(ledger.faults).toEqual([]);
  });
  return { story, stream };
}

async function create(id: string, config: object): Promise<void> {
  const body = { id, kind: 'synthetic', config };
  const answer = await call(service as Service, 'POST', '/api/bots', { body });
  expect(answer.status).toBe(201);
}

it('hosts.bot_lines_per_second: published and skipped lines add up to all lines of the bot', async () => {
  service = await startService({ config: { hosts: { bot_lines_per_second: LIMIT } } });
  const loud = await follow('loud');
  const soft = await follow('soft');
  const began = performance.now();
  await create('loud', { events_per_second: 2000 });
  await create('soft', { events_per_second: 50 });
  await loud.stream.until(() => loud.story.reports >= 3);
  await call(service, 'DELETE', '/api/bots/loud');
  await loud.stream.until(() => loud.story.statuses.at(-1) === 'deleted');
  const seconds = (performance.now() - began) / 1000;

  const { story } = loud;
  expect(story.faults).toEqual([]);
  // A burst of one second's allowance, then the rate.
  expect(story.firstNumbers).toEqual(Array.from({ length: LIMIT }, (_, n) => n + 1));
  expect(story.shown).toBeLessThanOrEqual(LIMIT * (1 + seconds) + 1);
  expect(story.shown).toBeGreaterThan(LIMIT);
  expect(story.skipped).toBeGreaterThan(story.shown);
  // The last lines are accounted for too: at this rate the bot writes at most a few dozen at once.
  expect(story.shown + story.skipped).toBeGreaterThanOrEqual(story.lastNumber);
  expect(story.statuses).toEqual(['starting', 'running', 'stopping', 'stopped', 'deleted']);
  expect(story.states.at(-1)).toBe('deleted');

  // Another bot on the same host that stays below the limit loses nothing.
  await soft.stream.until(() => soft.story.shown > 100);
  expect(soft.story).toMatchObject({ skipped: 0, reports: 0, faults: [] });
  expect(soft.story.lastNumber).toBe(soft.story.shown);
});

it('hosts.in_flight_bytes: a host that outpaces the broadcaster counts the lines it skips', async () => {
  service = await startService({
    config: { hosts: { bot_lines_per_second: 0, in_flight_bytes: 65_536 } },
  });
  const flood = await follow('flood');
  // A stream with little traffic, so that this test reads all of it before it is overwritten.
  const few = await follow('flood&level=warn,state');
  await create('flood', { events_per_second: 10_000_000, message_bytes: 2000 });
  await create('neighbour', { events_per_second: 100 });
  await few.stream.until(() => few.story.reports >= 2);
  expect((await call(service, 'DELETE', '/api/bots/neighbour')).status).toBe(204);
  expect((await call(service, 'DELETE', '/api/bots/flood')).status).toBe(204);
  await few.stream.until(() => few.story.states.at(-1) === 'deleted');
  await flood.stream.until(() => flood.story.statuses.at(-1) === 'deleted');

  expect(few.story.faults).toEqual([]);
  expect(few.story.skipped).toBeGreaterThan(0);
  expect(few.story.states).toEqual([
    'starting',
    'starting -> running',
    'running -> stopping',
    'stopped',
    'deleted',
  ]);
});

it('without a limit nothing is skipped and nothing is lost', async () => {
  service = await startService({ config: { hosts: { bot_lines_per_second: 0 } } });
  const { story, stream } = await follow('steady');
  await create('steady', { events_per_second: 5000 });
  await stream.until(() => story.shown > 10_000);
  await call(service, 'DELETE', '/api/bots/steady');
  await stream.until(() => story.statuses.at(-1) === 'deleted');
  expect(story).toMatchObject({ faults: [], skipped: 0, reports: 0 });
  expect(story.lastNumber).toBe(story.shown);
});
