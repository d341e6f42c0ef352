// Test harness: a bot of the demo world whose whole life is on the stream.

import { type Answer, call } from './api.js';
import type { Service } from './service.js';

/** `POST /api/bots` of a demo bot in the bundled world. */
export async function createDemoBot(service: Service, id: string): Promise<Answer> {
  return call(service, 'POST', '/api/bots', { body: { id, kind: 'demo' } });
}
