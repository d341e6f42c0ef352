// Pure; runs in clients. Owns what the answers of the service have in any version that this client understands.

import type { Shape } from './shape.js';

export const SNAPSHOT: Shape = {
  id: 'string',
  kind: 'string',
  status: 'string',
  since_ms: 'number',
  restarts: 'number',
  labels: 'object',
};
export const TOKEN = { id: 'string', name: 'string', scopes: ['string'] } as const;
export const KINDS: Shape = {
  kinds: [{ kind: 'string', commands: 'object' }],
  failed: ['object'],
};
export const INCIDENT: Shape = { id: 'string', type: 'string', bots: ['string'] };
export const PRESSURE: Shape = { short: ['string'], streams: 'object', bots: 'object' };
export const EVENT: Shape = { event: 'string', data: 'anything' };
