import { LIMIT } from '../shared/contract/query-bounds.js';
import { DroverError } from '../shared/errors.js';

/**
 * All values of a parameter, in order. Percent-encoding is decoded; a `+` stays a `+`, because tokens are base64 and
 * callers forget to encode it.
 */
export function queryValues(query: string, name: string): string[] {
  return queryPairs(query)
    .filter(([key]) => key === name)
    .map(([, value]) => value);
}

/** All parameters in order. Broken percent-encoding is left as it is. */
export function queryPairs(query: string): [name: string, value: string][] {
  if (query === '') return [];
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=');
      return at === -1
        ? [decode(part), '']
        : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
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
