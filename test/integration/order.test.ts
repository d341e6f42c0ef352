// The end of a bot: its last lines are on the stream before its end, and none after it.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { Log, Snapshot } from '../harness/shapes.js';

const BOTS = 12;
const ROUNDS = 3;

let service: Service;
beforeAll(async () => {
  service = await startService({ args: ['--bot-hosts', '2', '--fronts', '2'] });
});
// The last test stops it.
afterAll(() => stopClean(service));

/** What the stream has of one bot, in order: the numbers of its lines, its states, its end. */
interface Life {
  numbers: number[];
  statuses: string[];
  /** Events after `deleted`. */
  late: string[];
}

it('no line of a busy bot comes after `deleted`, and none before it is missing', async () => {
  const lives = new Map<string, Life>();
  const ledger = new Ledger({
    onFrame: (seq, block) => {
      const data: unknown = JSON.parse(block.slice(block.indexOf('\ndata: ') + 7));
      const { snapshot } = data as { snapshot?: Snapshot };
      if ('activity' in (data as object)) return;
      const log = data as Log;
      const id = snapshot?.id ?? log.session_id;
      // Lines about commands have no numbers.
      if (id === null || log.scope === 'dispatch') return;
      const life = lives.get(id) ?? { numbers: [], statuses: [], late: [] };
      lives.set(id, life);
      if (life.statuses.at(-1) === 'deleted') life.late.push(`${seq} ${block.slice(0, 300)}`);
      if (snapshot) life.statuses.push(snapshot.status);
      else if (log.level === 'info') life.numbers.push(Number.parseInt(log.message, 10));
    },
  });
  const token = await service.token();
  const stream = await RawStream.open(service.port, { token, onBlock: ledger.take });
  onTestFinished(() => stream.close());
  const ids: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const batch = Array.from({ length: BOTS }, (_, n) => `busy-${round}-${n}`);
    ids.push(...batch);
    const made = await Promise.all(
      batch.map((id, n) => {
        const config = { events_per_second: 800 + 50 * n, message_bytes: 40 };
        return call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic', config } });
      }),
    );
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    await stream.until(() => batch.every((id) => (lives.get(id)?.numbers.length ?? 0) > 200));
    const gone = await Promise.all(batch.map((id) => call(service, 'DELETE', `/api/bots/${id}`)));
    expect(new Set(gone.map(({ status }) => status))).toEqual(new Set([204]));
  }
  // Any late line of theirs would come before the line of this command.
  await call(service, 'POST', '/invoke', { body: { session_id: null, command: 'ping' } });
  await stream.until(() => ids.every((id) => lives.get(id)?.statuses.at(-1) === 'deleted'));
  const { frames } = ledger;
  await call(service, 'POST', '/invoke', { body: { session_id: null, command: 'ping' } });
  await stream.until(() => ledger.frames > frames);

  expect(ledger).toMatchObject({ faults: [], gaps: [] });
  for (const id of ids) {
    const { numbers, statuses, late } = lives.get(id) as Life;
    expect(late).toEqual([]);
    expect(statuses).toEqual(['starting', 'running', 'stopping', 'stopped', 'deleted']);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
  }
});

it('at shutdown too: `stopped` is the last event of every bot, and no line is missing', async () => {
  const bots = Array.from({ length: 4 }, (_, n) => ({
    id: `last-${n}`,
    kind: 'synthetic',
    config: { events_per_second: 1000, message_bytes: 40 },
  }));
  const lives = new Map<string, string[]>();
  const ledger = new Ledger({
    onFrame: (_, block) => {
      const data: unknown = JSON.parse(block.slice(block.indexOf('\ndata: ') + 7));
      const { snapshot } = data as { snapshot?: Snapshot };
      const { session_id, level, message } = data as Log;
      const id = snapshot?.id ?? session_id;
      if (id === null) return;
      const life = lives.get(id) ?? [];
      lives.set(id, life);
      life.push(snapshot ? snapshot.status : level === 'info' ? `${parseInt(message, 10)}` : level);
    },
  });
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    onBlock: ledger.take,
  });
  for (const body of bots) {
    expect((await call(service, 'POST', '/api/bots', { body })).status).toBe(201);
  }
  const linesOf = (id: string): number => lives.get(id)?.length ?? 0;
  await stream.until(() => bots.every(({ id }) => linesOf(id) > 500));
  expect(await service.stop()).toBe(0);
  expect(await stream.ended).toBe('complete');
  expect(ledger).toMatchObject({ faults: [], gaps: [] });
  for (const { id } of bots) {
    const life = lives.get(id) ?? [];
    expect(life.slice(-4)).toEqual(['state', 'stopping', 'state', 'stopped']);
    const numbers = life.filter((entry) => /^\d+$/.test(entry)).map(Number);
    expect(numbers.length).toBeGreaterThan(100);
    expect(numbers).toEqual(numbers.map((_, n) => (numbers[0] ?? 0) + n));
  }
});
