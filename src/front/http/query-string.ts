import { SELF } from '../../shared/contract/node-name.js';
import { DroverError } from '../../shared/errors.js';

/** Parameters that people write: forms, and curl too, encode a space as `+`. */
const TEXTS: ReadonlySet<string> = new Set(['q', 'query']);

/** All parameters of a query, in order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** A parameter that is no list; undefined when it is missing. Routes refuse a repeated one: src/front/table/query-reader.ts. */
export function queryValue(pairs: Pairs, name: string): string | undefined {
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

/** Which stream a query asks for: the parameter `node`, a list or one value. */
export interface NodeQuery {
  readonly node?: readonly string[] | string | undefined;
}

/** Whether a query has `node=self`. @throws DroverError `bad_request` when it asks for other nodes too. */
export function asksForSelf({ node = [] }: NodeQuery): boolean {
  const isSelf = node === SELF || node.includes(SELF);
  if (isSelf && typeof node !== 'string' && node.length > 1) {
    throw new DroverError(
      'bad_request',
      "node=self is this node's own stream: it cannot be asked for together with other nodes",
    );
  }
  return isSelf;
}
