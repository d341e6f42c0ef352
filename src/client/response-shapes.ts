// The shapes of the service's responses, as far as the client relies on them. A response of another program or version fails the
// check here instead of breaking its reader later.

/** The minimum a value must have: the listed fields of an object; `[shape]` for each item of a list. */
export type Shape =
  | 'string'
  | 'number'
  | 'object'
  | 'anything'
  | readonly [Shape]
  | { readonly [field: string]: Shape };

export const SNAPSHOT: Shape = {
  id: 'string',
  kind: 'string',
  status: 'string',
  since_ms: 'number',
  restarts: 'number',
  labels: 'object',
};
export const TOKEN = { id: 'string', name: 'string', scopes: ['string'] } as const;
export const RULE: Shape = {
  id: 'string',
  name: 'string',
  query: 'string',
  condition: 'string',
  state: 'string',
  bots: ['string'],
};
export const KINDS: Shape = {
  kinds: [{ kind: 'string', commands: 'object' }],
  failed: ['object'],
};
export const INCIDENT: Shape = { id: 'string', type: 'string', bots: ['string'] };
export const INCIDENT_GROUPS: Shape = {
  groups: [
    { cause: 'string', title: 'string', count: 'number', bots: ['string'], counts: ['number'] },
  ],
  missing: ['string'],
};
export const FLEET_PLAN: Shape = {
  steps: [{ id: 'string', action: 'string' }],
  unchanged: 'number',
  unlisted: ['string'],
};
export const FLEET_EXPORT: Shape = {
  bots: ['object'],
  variables: ['string'],
  fleets: ['string'],
};
export const PRESSURE: Shape = { short: ['string'], streams: 'object', bots: 'object' };
export const NODE: Shape = { node: 'string', state: 'string', figures: { bots: 'number' } };
export const NODES: Shape = { state: 'string', nodes: [NODE] };
export const HOSTS: Shape = {
  hosts: [{ host: 'number', state: 'string', bots: 'number' }],
  missing: ['string'],
};
export const RUNS: Shape = {
  runs: [{ name: 'string', bytes: 'number', changed_ms: 'number' }],
  more: 'number',
};
export const HISTORY: Shape = {
  from_ms: 'number',
  step_ms: 'number',
  points: [{ at_ms: 'number', values: 'object' }],
};
export const OPERATION: Shape = {
  id: 'string',
  title: 'string',
  state: 'string',
  bots: 'number',
  counts: { waiting: 'number', done: 'number', failed: 'number' },
};
export const OPERATION_BOT: Shape = { id: 'string', result: 'string' };
export const EVENT: Shape = { event: 'string', data: 'anything' };

export function hasShape(value: unknown, shape: Shape): boolean {
  if (shape === 'anything') return value !== undefined;
  if (shape === 'object') return isObject(value);
  if (typeof shape === 'string') return typeof value === shape;
  if (isList(shape)) return Array.isArray(value) && value.every((one) => hasShape(one, shape[0]));
  return (
    isObject(value) && Object.entries(shape).every(([field, one]) => hasShape(value[field], one))
  );
}

function isList(shape: object): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
