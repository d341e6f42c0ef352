// Pure; runs in clients. Owns whether an answer looks as the client's types say, as far as that is relied on: what another
// service or another version sends is told as such, and does not break its reader somewhere later.

/** What a value must be; of an object at least these fields, in `[shape]` each one of a list. */
export type Shape =
  | 'string'
  | 'number'
  | 'object'
  | 'anything'
  | readonly [Shape]
  | { readonly [field: string]: Shape };

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
