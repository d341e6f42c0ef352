// Streams and what depends on several fronts, on one service with two. Each file of the folder streams has the tests of one
// subject.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTargets } from '../harness/access-lines.js';
import { call, tryPin } from '../harness/api.js';
import {
  frontFlags,
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';
import { expectRefusal, failingIn } from '../harness/starts.js';
import { expectOrderlyEnd } from './orderly-end.js';
import { accessLogTests } from './streams/access-log.js';
import { alertTests } from './streams/alerts.js';
import { otherClientTests } from './streams/other-clients.js';
import { streamTests } from './streams/stream.js';
import { tokenFrontTests } from './streams/tokens.js';

let service: Service;
const given = (): Service => service;
beforeAll(async () => {
  service = await startService({
    host: null,
    port: null,
    args: frontFlags(2),
    config: {
      http: { host: '127.0.0.1', port: 0, trusted_proxies: ['127.0.0.1'] },
      log: { access: 'all' },
      stream: { heartbeat_ms: 100, retry_ms: 100 },
      bots: [
        { id: 'talker', kind: 'synthetic', config: { events_per_second: 200, message_bytes: 80 } },
        { id: 'quiet', kind: 'synthetic', config: { events_per_second: 1, message_bytes: 20 } },
      ],
    },
  });
});
afterAll(() => stopClean(service));

describe('the stream', () => streamTests(given));
describe('alerts', () => alertTests(given));
describe('clients that others wrote', () => otherClientTests(given));
describe('tokens and tickets', () => tokenFrontTests(given));
describe('the access log', () => accessLogTests(given));

it('Bad input: a port that another Drover has taken, with one front and with two; it has it from its configuration', async (context) => {
  // Configuration: http.host and http.port of the file are used.
  expect(service.port).not.toBe(8090);
  expect(service.stdout()).toContain(`listening on http://127.0.0.1:${service.port}\n`);
  expect((await call(service, 'GET', '/api-info')).json).toMatchObject({ port: service.port });
  const base = makeDir();
  context.onTestFinished(() => removeDir(base));
  const failing = failingIn(base);
  // An engine that cannot share a port has one front both times.
  for (const fronts of new Set([1, 2].map((count) => frontFlags(count)[1] as string))) {
    const ended = await failing(['--port', String(service.port), '--fronts', fronts]);
    expectRefusal(ended, new RegExp(`\\b${service.port}\\b`));
    expect((await tryPin(service, service.pin)).status).toBe(200);
  }
});

it('Shutdown: on SIGINT, also when more signals follow, every bot stops, streams end cleanly, and no line of the access log is lost', async () => {
  for (let n = 0; n < 50; n++) await call(service, 'GET', `/nowhere/${n}`, { token: null });
  const bots = { talker: 'running', quiet: 'running' };
  await expectOrderlyEnd(service, bots, ['SIGINT', 'SIGTERM', 'SIGINT']);
  expect(accessTargets(service).filter((line) => line.includes('/nowhere/'))).toHaveLength(50);
});
