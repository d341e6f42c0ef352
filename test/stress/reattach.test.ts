// The broadcaster dies while a host or a front starts: none of them may be left without a channel to the next one.

import { expect, it, onTestFinished, vi } from 'vitest';
import { create, eventually, remove } from '../harness/bots.js';
import { raw, requestBytes } from '../harness/http.js';
import { listeners } from '../harness/ports.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

vi.setConfig({ testTimeout: 240_000 });

/** DROVER_TEST_REATTACH changes it. */
const ROUNDS = Number(process.env['DROVER_TEST_REATTACH'] ?? 6);
/** The moment of the kill moves from the beginning of the start to after its end. */
const STEP_MS = 400 / ROUNDS;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function start(fronts: number): Promise<Service> {
  const service = await startService({
    args: ['--fronts', String(fronts), '--bot-hosts', '1'],
    env: { DROVER_DRILLS_ENABLED: 'true' },
    config: { bots: [{ id: 'steady', kind: 'synthetic', config: { events_per_second: 200 } }] },
  });
  onTestFinished(() => stopClean(service));
  return service;
}

/** On its own connection: an open one may belong to a front that has ended. */
async function drill(service: Service, args: object): Promise<void> {
  const headers = {
    Authorization: `Bearer ${await service.token()}`,
    'Content-Type': 'application/json',
    Connection: 'close',
  };
  const body = JSON.stringify({ session_id: null, command: 'drill', args });
  const request = requestBytes('POST', '/invoke', headers, body);
  await eventually(async () => {
    // The connection is cut if its front dies at that moment.
    const answer = await raw(service.port, request).catch(() => undefined);
    if (answer) expect(answer.status).toBe(200);
    return answer !== undefined;
  }, 'a response');
}

const killBroadcaster = (service: Service) => drill(service, { kill: 'broadcaster' });

/** A stream and all of its text. */
async function watch(service: Service, query = ''): Promise<{ stream: RawStream; text(): string }> {
  let text = '';
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    target: `/events${query}`,
    onBlock: (block) => {
      text += `${block}\n\n`;
    },
  });
  onTestFinished(() => stream.close());
  return { stream, text: () => text };
}

it('while hosts start: every bot on them reaches the stream', async () => {
  const service = await start(1);
  for (let round = 0; round < ROUNDS; round++) {
    const id = `dedicated-${round}`;
    const { stream, text } = await watch(service, `?session=${id}&event=log&level=info`);
    const config = { events_per_second: 50 };
    const made = create(service, { id, kind: 'synthetic', config, dedicated: true });
    await pause(round * STEP_MS);
    await killBroadcaster(service);
    // Every second kill hits a broadcaster that still recovers from the first.
    if (round % 2 === 1) await killBroadcaster(service);
    expect((await made).status).toBe(201);
    await stream.until(() => text().split('event: log').length > 10);
    stream.close();
    expect((await remove(service, id)).status).toBe(204);
  }
});

it('while fronts start: every one of them comes back and serves the stream', async () => {
  const service = await start(2);
  for (let round = 0; round < ROUNDS; round++) {
    const before = listeners(service.port);
    await drill(service, { kill: 'front', front: round % 2 });
    await pause(50 + round * STEP_MS);
    await killBroadcaster(service);
    if (round % 2 === 1) await killBroadcaster(service);
    // A front that waits for a dead broadcaster never listens again. The line about its replacement may be lost with the
    // broadcaster; its socket is not.
    await eventually(
      () => {
        const now = listeners(service.port);
        return now.length === before.length && now.some((socket) => !before.includes(socket));
      },
      `front ${round % 2} in round ${round}`,
      30_000,
    );
    const streams = await Promise.all(Array.from({ length: 12 }, () => watch(service)));
    await Promise.all(
      streams.map(({ stream, text }) =>
        stream.until(() => text().split('"session_id":"steady"').length > 20),
      ),
    );
    for (const { stream } of streams) stream.close();
  }
});
