// Only stream.stall_ms decides how long a client may stop reading before it is closed.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

/** Longer than the HTTP engine's request timeout of 10 s, with room for its coarse clock. */
const BLOCKED_MS = Number(process.env['DROVER_TEST_STALL_MS'] ?? 16_000);
const RING_BYTES = 4 * 2 ** 20;

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      stream: { ring_bytes: RING_BYTES, stall_ms: 20 * BLOCKED_MS },
      bots: [
        { id: 'big', kind: 'synthetic', config: { events_per_second: 1000, message_bytes: 8000 } },
      ],
    },
  });
});
afterAll(() => stopClean(service));

it('a client that was blocked for less than stream.stall_ms continues where it was, or gets a gap', {
  timeout: 4 * BLOCKED_MS,
}, async () => {
  const token = await service.token();
  const clients = await Promise.all(
    ['', '?session=big', '?event=log'].map(async (query) => {
      const ledger = new Ledger({ filtered: query !== '' });
      const stream = await RawStream.open(service.port, {
        token,
        target: `/events${query}`,
        onBlock: ledger.take,
      });
      onTestFinished(() => stream.close());
      stream.pause();
      return { query, ledger, stream };
    }),
  );
  // The test is about elapsed time, so it waits.
  await new Promise((resolve) => setTimeout(resolve, BLOCKED_MS));
  for (const { stream } of clients) stream.resume();
  const ends = await Promise.all(
    clients.map(async ({ query, ledger, stream }) => {
      const lost = (): number => ledger.gaps.at(-1)?.to ?? Number.POSITIVE_INFINITY;
      const continued = stream.until(() => (ledger.last ?? 0) > lost()).then(() => 'continued');
      return [query, await Promise.race([continued.catch(() => 'was closed'), stream.ended])];
    }),
  );
  expect(ends).toEqual(clients.map(({ query }) => [query, 'continued']));
  expect(clients.flatMap(({ ledger }) => ledger.faults)).toEqual([]);
});
