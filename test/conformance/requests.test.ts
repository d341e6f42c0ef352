// Requests and their answers, on one service with almost the default configuration. Each file of the folder requests has the
// tests of one subject.

import { afterAll, beforeAll, describe } from 'vitest';
import { type Service, startService, stopClean } from '../harness/service.js';
import { dashboardFileTests } from './requests/dashboard-files.js';
import { framingTests } from './requests/framing.js';
import { greetingTests } from './requests/greeting.js';
import { healthTests } from './requests/health.js';
import { malformedTests } from './requests/malformed.js';
import { methodTests } from './requests/methods.js';
import { queryParameterTests } from './requests/query-parameters.js';
import { quietStreamTests } from './requests/quiet-stream.js';
import { securityHeaderTests } from './requests/security-headers.js';
import { tokenTests } from './requests/token.js';

let service: Service;
const given = (): Service => service;
beforeAll(async () => {
  service = await startService({
    host: '0.0.0.0',
    config: {
      http: { max_bodies_bytes: 65_536 },
      pin: { capacity: 1000, refill_per_minute: 600 },
      stream: { heartbeat_ms: 100 },
      // It says nothing, so that lists are the same twice.
      bots: [{ id: 'only', kind: 'synthetic', config: { events_per_second: 0 } }],
    },
  });
});
afterAll(() => stopClean(service));

// In this order: those that need a service on which nothing has happened yet come first, those that create bots last.
describe('the start', () => greetingTests(given));
describe('a quiet stream', () => quietStreamTests(given));
describe('GET /health', () => healthTests(given));
describe('methods and paths', () => methodTests(given));
describe('the token', () => tokenTests(given));
describe('the dashboard', () => dashboardFileTests(given));
describe('security headers', () => securityHeaderTests(given));
describe('request framing', () => framingTests(given));
describe('the API description', () => queryParameterTests(given));
describe('malformed requests', () => malformedTests(given));
