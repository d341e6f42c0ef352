// The threads of the service: what blocks an event loop is named. service-hangs.test.ts has those that hang.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { invoke, lineFrom, POST, watch } from '../harness/bots.js';
import { PATIENCE_MS } from '../harness/patience.js';
import { type Service, startService, stopClean } from '../harness/service.js';

/** More than a second: of the time in which the thread ran. */
const SLOW_MS = 1200;

/** The thread of the journal lets others go first: on a busy machine it needs long to be blocked for so long. */
const LONG_MS = 3 * PATIENCE_MS;

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      drills: { enabled: true },
      // One that is only slow must not be taken for one that hangs.
      watchdog: { hang_ms: 60_000 },
      bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 50 } }],
    },
  });
  await POST(service, '/api/rules', {
    name: 'many lines',
    query: 'level:error',
    condition: 'count',
    window_ms: 60_000,
  });
});
afterAll(() => stopClean(service));

it.each(['front', 'journal', 'rules', 'broadcaster', 'main'])(
  'a turn of over a second of the %s is a line that says for how long, and what ran',
  async (thread) => {
    const stream = await watch(service);
    onTestFinished(() => stream.close());
    const tokens = await call(service, 'GET', '/api/tokens');
    const { id } = (tokens.json as { tokens: { id: string }[] }).tokens[0] ?? { id: '' };
    const blocked = await invoke(service, null, 'drill', { block: thread, for_ms: SLOW_MS });
    expect(blocked.status, blocked.text).toBe(200);
    const name = thread === 'front' ? 'front-0' : thread;
    // A front is blocked by the next request.
    await call(service, 'GET', '/api/incidents?limit=7');
    const request = `GET /api/incidents with the token ${id}`;
    const what = thread === 'front' ? request : 'a drill';
    const line = await lineFrom(
      stream,
      0,
      ({ message }) => message.startsWith(`the event loop of ${name} was blocked for`),
      LONG_MS,
    );
    expect(line).toMatchObject({ level: 'warn', scope: 'drover', session_id: null });
    const [, seconds, ran] = /blocked for (\d+\.\d) s, in (.*)$/.exec(line.message) ?? [];
    expect(Number(seconds), line.message).toBeGreaterThanOrEqual(SLOW_MS / 1000);
    expect(ran).toBe(what);
    // The loops are in the metrics.
    const { text } = await call(service, 'GET', '/metrics');
    const above = new RegExp(
      `^drover_event_loop_lag_seconds_count\\{thread="${name}"\\} [1-9]`,
      'm',
    );
    expect(text).toMatch(above);
  },
  2 * LONG_MS,
);

it('drills that block a loop are refused with wrong arguments', async () => {
  const wrong = await invoke(service, null, 'drill', { block: 'demo' });
  expect(wrong.status).toBe(400);
  const long = await invoke(service, null, 'drill', { block: 'main', for_ms: 1e9 });
  expect(long.status).toBe(400);
});
