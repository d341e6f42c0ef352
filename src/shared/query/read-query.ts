import { DroverError } from '../errors.js';
import type { QueryUse } from './fields.js';
import { parseQuery } from './parse-query.js';
import { QueryError } from './query-error.js';
import type { Query } from './term.js';

/** The query of a request, its parameter `query`. @throws DroverError `bad_request` */
export function readQuery(text: string, use: QueryUse): Query {
  try {
    return parseQuery(text, use);
  } catch (thrown) {
    if (!(thrown instanceof QueryError)) throw thrown;
    throw new DroverError('bad_request', `query: ${thrown.message}`);
  }
}
