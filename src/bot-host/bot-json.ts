// JSON of values that a bot gives to the service: results and `data`.

import { isDeeper } from '../shared/contract/json-depth.js';

/** Levels of nesting. Other threads and clients recurse into it: at 5,000 levels some of them fail. */
const MAX_DEPTH = 64;

/**
 * @param what it is, for the error. @returns undefined for a value without a JSON form.
 * @throws RangeError when it is nested too deep, TypeError when it is not JSON.
 */
export function botJson(value: unknown, what: string): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (thrown) {
    // JSON.stringify recurses. Errors of a bot's toJSON are passed on.
    if (thrown instanceof RangeError && /call stack/.test(thrown.message)) throw tooDeep(what);
    throw thrown;
  }
  // Each level takes two characters.
  if (text !== undefined && text.length > 2 * MAX_DEPTH && isDeeper(Buffer.from(text), MAX_DEPTH)) {
    throw tooDeep(what);
  }
  return text;
}

function tooDeep(what: string): RangeError {
  return new RangeError(`${what} is nested too deep, ${MAX_DEPTH} levels are allowed`);
}
