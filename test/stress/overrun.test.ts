// A writer that constantly laps every reader: the smallest ring, and a bot that writes as fast as it can.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { type Gap, Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      // Frequent heartbeats visit every stream, including those that are about to start.
      stream: { ring_bytes: 262_144, heartbeat_ms: 100 },
      hosts: { bot_lines_per_second: 0 },
      bots: [
        {
          id: 'flood',
          kind: 'synthetic',
          config: { events_per_second: 10_000_000, message_bytes: 100 },
        },
        { id: 'calm', kind: 'synthetic', config: { events_per_second: 20 } },
      ],
    },
  });
});
afterAll(() => stopClean(service));

async function open(ledger: Ledger, query = '', also = (_block: string): void => {}) {
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    target: `/events${query}`,
    onBlock: (block) => {
      ledger.take(block);
      also(block);
    },
  });
  onTestFinished(() => stream.close());
  return stream;
}

const lost = (gaps: Gap[]): number => gaps.reduce((sum, { dropped }) => sum + (dropped ?? 0), 0);

it('streams that open and stay open account for every number', async () => {
  const ledgers: Ledger[] = [];
  for (let round = 0; round < 12; round++) {
    const ledger = new Ledger();
    ledgers.push(ledger);
    const stream = await open(ledger);
    await stream.until(() => ledger.frames > 2000 && ledger.gaps.length > 3);
  }
  expect(ledgers.flatMap(({ faults }) => faults)).toEqual([]);
  for (const ledger of ledgers) {
    expect(ledger.accounted).toBe((ledger.last ?? 0) - (ledger.first ?? 0));
    expect(lost(ledger.gaps)).toBeGreaterThan(0);
  }
});

it('each gap is followed by the snapshot of every bot, once', async () => {
  const order: string[] = [];
  const ledger = new Ledger();
  const stream = await open(ledger, '', (block) => {
    const [first = '', second = ''] = block.split('\n');
    if (second === 'event: gap') order.push('gap');
    else if (first === 'event: session') order.push('snapshot');
    else if (second === 'event: session' && order.length === 1) order.push('snapshot');
    else if (first.startsWith('id: ')) order.push('frame');
  });
  await stream.until(() => ledger.gaps.length >= 20);
  const text = order.join(' ').replaceAll(/frame( frame)*/g, 'frames');
  // A new lap may come before all of a gap's snapshots are sent, but only with frames in between.
  expect(text).toMatch(/^snapshot snapshot( frames)?( gap snapshot snapshot( frames)?)* gap/);
});

it('filtered streams start like any other: `retry`, the snapshots with the position', async () => {
  const beginnings: string[][] = [];
  for (let round = 0; round < 16; round++) {
    await Promise.all(
      Array.from({ length: 15 }, async () => {
        const ledger = new Ledger({ filtered: true });
        const blocks: string[] = [];
        const stream = await open(ledger, '?session=calm', (block) => blocks.push(block));
        await stream.until(() => ledger.last !== undefined);
        stream.close();
        expect(ledger.faults).toEqual([]);
        beginnings.push(blocks.slice(0, 2));
      }),
    );
  }
  for (const [retry, snapshot] of beginnings) {
    expect(retry).toMatch(/^retry: \d+$/);
    expect(snapshot).toMatch(
      /^id: [0-9a-f]+-\d+\nevent: session\ndata: \{"snapshot":\{"id":"calm",/,
    );
  }
});

it('requests are answered meanwhile, and streams report created and deleted bots', async () => {
  const sessions = new Ledger({ filtered: true });
  await open(sessions, '?event=session');
  for (let n = 0; n < 5; n++) {
    const id = `guest-${n}`;
    const body = { id, kind: 'synthetic', config: { events_per_second: 1 } };
    expect((await call(service, 'POST', '/api/bots', { body })).status).toBe(201);
    expect((await call(service, 'GET', `/api/bots/${id}`)).json).toMatchObject({ id });
    expect((await call(service, 'DELETE', `/api/bots/${id}`)).status).toBe(204);
    expect((await call(service, 'GET', `/api/bots/${id}`)).status).toBe(404);
  }
  const list = (await call(service, 'GET', '/api/bots')).json as { bots: { id: string }[] };
  expect(list.bots.map(({ id }) => id)).toEqual(['flood', 'calm']);
  expect(sessions.faults).toEqual([]);
});
