import { type Answer, call } from './api.js';
import type { Service } from './service.js';

/** `POST /api/bots` for a demo bot in the bundled world. */
export async function createDemoBot(service: Service, id: string): Promise<Answer> {
  return call(service, 'POST', '/api/bots', { body: { id, kind: 'demo' } });
}
