import { InvalidArgumentError } from 'commander';
import { MAX_TIMER_MS } from '../../shared/contract/timers.js';
import type { QueryUse } from '../../shared/query/fields.js';
import { parseQuery } from '../../shared/query/parse-query.js';
import { QueryError } from '../../shared/query/query-error.js';
import { parseDuration, TOO_LONG } from './duration.js';

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** A whole number of at least 1. */
export function count(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('It must be at least 1.');
  return number;
}

/** Comma-separated values; the flag can also be repeated. */
export function list(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((part) => part !== '')];
}

/** Comma-separated `name=value` pairs; the flag can also be repeated. */
export function labels(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new InvalidArgumentError('It must be name=value.');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { ...before, ...Object.fromEntries(pairs) };
}

/** A duration in ms, of any length. */
export function timeSpan(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new InvalidArgumentError('It must be a duration such as 500ms, 5s, 2m or 1h.');
  return ms;
}

/** A duration in ms that a timer can wait for. */
export function duration(text: string): number {
  const ms = timeSpan(text);
  if (ms > MAX_TIMER_MS) throw new InvalidArgumentError(TOO_LONG);
  return ms;
}

export function jsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new InvalidArgumentError('It must be a JSON object, such as {"text":"hello"}.');
}

/** A query for bots, which the service answers. Mistakes are found before any request. */
export function botQuery(text: string): string {
  return checkedQuery(text, 'bots');
}

/** The same for events. */
export function eventQuery(text: string): string {
  return checkedQuery(text, 'lines');
}

function checkedQuery(text: string, use: QueryUse): string {
  try {
    parseQuery(text, use);
    return text;
  } catch (thrown) {
    if (thrown instanceof QueryError) throw new InvalidArgumentError(`${thrown.message}.`);
    throw thrown;
  }
}
