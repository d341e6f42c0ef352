import type { Parameter } from '../../shared/contract/routes/parameters.js';
import type { QueryOf, RouteName } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import { instantOf } from '../../shared/query/instant.js';
import { ROUTES } from '../../shared/routes.js';
import { queryPairs } from '../http/query-string.js';

const WHOLE_NUMBER = /^(?:0|[1-9][0-9]{0,14})$/;
const MILLISECONDS = /^[0-9]{1,15}$/;

/** Reads one value. @throws DroverError `bad_request`. */
type ValueReader = (value: string) => string | number;

/**
 * Reads the query of a route, by the schemas in the table of routes. Made once for each route.
 *
 * It refuses parameters that the route does not have, and repeated ones that are no list: a client that misspells a filter must not get
 * everything. Routes with `takesAnyQuery` ignore all of them instead.
 * @throws DroverError (the reader) `bad_request` that names the parameter.
 */
export function queryReader<R extends RouteName>(route: R): (query: string) => QueryOf<R> {
  const { query: parameters, takesAnyQuery } = ROUTES[route];
  const all = Object.entries(parameters);
  const names = all.map(([name]) => name);
  const lists = new Map(all.filter(([, { type }]) => type === 'array'));
  const values = new Map(
    all.filter(([name]) => !lists.has(name)).map(([name, one]) => [name, valueReader(name, one)]),
  );
  const defaults = Object.fromEntries(
    all.flatMap(([name, one]) => (one.default === undefined ? [] : [[name, one.default]])),
  );
  const required = [...lists].filter(([, { minItems }]) => minItems !== undefined);
  const credentials = route === 'GET /events' ? ['token', 'ticket'] : ['token'];
  const isEmpty = (query: string) => takesAnyQuery || (query === '' && required.length === 0);

  const read = (query: string): Readonly<Record<string, unknown>> => {
    if (isEmpty(query)) return defaults;
    const given = new Map<string, string>();
    const listed = new Map<string, Set<string>>();
    for (const [name, value] of queryPairs(query)) {
      if (lists.has(name)) {
        const items = listed.get(name) ?? new Set();
        listed.set(name, items);
        for (const item of value.split(',')) if (item !== '') items.add(item);
        continue;
      }
      if (!values.has(name) && !credentials.includes(name)) throw unknownParameter(name, names);
      if (given.has(name)) throw wrong(`${name} is given twice`);
      given.set(name, value);
    }
    const found: Record<string, unknown> = { ...defaults };
    for (const [name, value] of given) {
      const reader = values.get(name);
      if (reader) found[name] = reader(value);
    }
    for (const [name, items] of listed) found[name] = listOf(name, items, lists.get(name));
    for (const [name, { examples = [] }] of required) {
      if (listed.get(name)?.size) continue;
      throw wrong(`${name} is missing, as in ${name}=${examples.join()}`);
    }
    return found;
  };
  return read as (query: string) => QueryOf<R>;
}

function listOf(
  name: string,
  items: ReadonlySet<string>,
  { maxItems = Number.POSITIVE_INFINITY }: Partial<Parameter> = {},
): readonly string[] {
  if (items.size > maxItems) throw wrong(`${name} has more than ${maxItems} values`);
  return [...items];
}

function valueReader(name: string, parameter: Parameter): ValueReader {
  if (parameter.type === 'integer') return integerReader(name, parameter);
  if (parameter.isTime) return (value) => timeOf(name, value);
  const { enum: choices, pattern, maxLength = Number.POSITIVE_INFINITY, examples = [] } = parameter;
  if (choices) return (value) => oneOf(name, value, choices);
  const form = pattern === undefined ? undefined : new RegExp(pattern);
  return (value) => {
    if (value.length > maxLength) throw wrong(`${name} is longer than ${maxLength} characters`);
    if (form && !form.test(value)) throw wrong(`${name} must have the form of ${examples.join()}`);
    return value;
  };
}

function integerReader(name: string, { minimum = 0, maximum }: Parameter): ValueReader {
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  const most = maximum ?? Number.POSITIVE_INFINITY;
  return (value) => {
    const number = WHOLE_NUMBER.test(value) ? Number(value) : Number.NaN;
    if (number >= minimum && number <= most) return number;
    throw wrong(`${name} must be a whole number ${range}`);
  };
}

function oneOf(name: string, value: string, choices: readonly string[]): string {
  if (choices.includes(value)) return value;
  const [only] = choices;
  throw wrong(
    choices.length === 1
      ? `${name} must be ${only}`
      : `${name} must be one of: ${choices.join(', ')}`,
  );
}

/**
 * Unix epoch milliseconds of a time: those, or an ISO 8601 date; a time of day needs a zone.
 * @param others what else the parameter can be, for the message. @throws DroverError `bad_request`.
 */
export function timeOf(name: string, value: string, others = ''): number {
  const ms = MILLISECONDS.test(value) ? Number(value) : instantOf(value);
  if (!Number.isNaN(ms)) return ms;
  throw wrong(
    `${name} must be ${others}Unix epoch milliseconds, or a date that exists, like 2026-01-31 or 2026-01-31T03:00:00Z, with Z or an offset like +01:00 behind a time`,
  );
}

function unknownParameter(name: string, known: readonly string[]): DroverError {
  const plain = known.find((one) => name.startsWith(`${one}[`));
  const hint = plain === undefined ? '' : ` (${plain} has no brackets)`;
  const all = known.length > 0 ? `there are: ${known.join(', ')}` : 'this route takes none';
  return wrong(`unknown parameter ${JSON.stringify(name)}${hint}; ${all}`);
}

function wrong(message: string): DroverError {
  return new DroverError('bad_request', message);
}
