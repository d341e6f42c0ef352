import { SELF } from '../../shared/contract/node-name.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { DroverError } from '../../shared/errors.js';

/** Parameters that people write: forms, and curl too, encode a space as `+`. */
const TEXTS: ReadonlySet<string> = new Set(['q', 'query']);

/** All parameters of a query, in order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** A parameter that is no list; undefined when it is missing. Routes refuse a repeated one: src/front/table/route-parameters.ts. */
export function queryValue<Name extends string>(pairs: Pairs, name: Name): string | undefined {
  return pairs.find(([key]) => key === name)?.[1];
}

/**
 * All parameters in order. Percent-encoding is decoded; a `+` stays a `+`, because tokens are base64 and callers forget to
 * encode it. Only in texts it is a space. Broken percent-encoding is left as it is.
 */
export function queryPairs(query: string): [name: string, value: string][] {
  if (query === '') return [];
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=');
      if (at === -1) return [decode(part), ''];
      const name = decode(part.slice(0, at));
      const value = part.slice(at + 1);
      return [name, decode(TEXTS.has(name) ? value.replaceAll('+', ' ') : value)];
    });
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The value of a `limit` parameter. @throws DroverError `bad_request`. */
export function readLimit(value: string | undefined): number {
  const limit = Number(value ?? LIMIT.default);
  if ((value !== undefined && !/^[1-9][0-9]*$/.test(value)) || limit > LIMIT.maximum) {
    throw new DroverError(
      'bad_request',
      `limit must be a whole number from ${LIMIT.minimum} to ${LIMIT.maximum}`,
    );
  }
  return limit;
}

/** Whether a query has `node=self`. @throws DroverError `bad_request` when it asks for other nodes too. */
export function asksForSelf(pairs: Pairs): boolean {
  let isSelf = false;
  let hasOthers = false;
  for (const [name, value] of pairs) {
    if (name !== 'node') continue;
    for (const node of value.split(',')) {
      if (node === SELF) isSelf = true;
      else if (node !== '') hasOthers = true;
    }
  }
  if (isSelf && hasOthers) {
    throw new DroverError(
      'bad_request',
      "node=self is this node's own stream: it cannot be asked for together with other nodes",
    );
  }
  return isSelf;
}

/** @param what `states are`. @throws DroverError `bad_request` for the name of a node. */
export function expectSelf(node: string | undefined, what: string): void {
  if (node === undefined || node === SELF) return;
  throw new DroverError('bad_request', `node must be ${SELF}: ${what} of it or of all nodes`);
}

/** One of some values. @throws DroverError `bad_request`. */
export function readOneOf<T extends string>(name: string, value: string, all: readonly T[]): T {
  const found = all.find((one) => one === value);
  if (found === undefined) {
    throw new DroverError('bad_request', `${name} must be one of: ${all.join(', ')}`);
  }
  return found;
}
