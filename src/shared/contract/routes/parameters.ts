// Query parameters: their forms, and those that several routes have.

import type { ActivityName } from '../activity.js';
import type { Kind, Level } from '../event-kinds.js';
import { CAUSE } from '../incident-groups.js';
import { MAX_WAIT_MS } from '../operation-bounds.js';
import { LIMIT, MAX_QUERY, MAX_TEXT } from '../query-bounds.js';

/**
 * The JSON Schema of a query parameter, as plain data: the service reads requests by it (src/front/table/query-reader.ts).
 * As types, `Value` is what a handler gets, and `Given` what a caller of the client gives. Both are undefined where it may be left out.
 */
export interface Parameter<Value = unknown, Given = unknown> {
  readonly type: 'string' | 'integer' | 'array';
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
  readonly items?: { readonly type: 'string' };
  readonly minItems?: number;
  readonly maxItems?: number;
  /** A text that stands for a moment; handlers get Unix epoch milliseconds. Not part of JSON Schema. */
  readonly isTime?: true;
  readonly description: string;
  readonly examples?: readonly unknown[];
  /** Exists only as a type. */
  readonly '~types'?: readonly [Value, Given];
}

/** The query parameters of a route. */
export type QuerySchema = Readonly<Record<string, Parameter>>;

type Bounds = Pick<Parameter, 'maxLength' | 'pattern'>;

const exampleOf = (example: unknown) => (example === undefined ? {} : { examples: [example] });

export const text = (
  description: string,
  example?: string,
  bounds: Bounds = {},
): Parameter<string | undefined, string | undefined> => ({
  type: 'string',
  ...bounds,
  description,
  ...exampleOf(example),
});

/** Several values: comma-separated, repeated, or both. */
export const list = <T extends string = string>(
  description: string,
  example: readonly NoInfer<T>[],
): Parameter<readonly string[] | undefined, readonly T[] | undefined> => ({
  type: 'array',
  items: { type: 'string' },
  description,
  ...exampleOf(example),
});

/** A list of at least one value, which may not be left out. */
export const requiredList = (
  description: string,
  maxItems: number,
  example: readonly string[],
): Parameter<readonly string[], readonly string[]> => ({
  type: 'array',
  items: { type: 'string' },
  minItems: 1,
  maxItems,
  description,
  ...exampleOf(example),
});

export const choice = <const T extends string>(
  values: readonly T[],
  description: string,
): Parameter<T | undefined, T | undefined> => ({
  type: 'string',
  enum: values,
  description,
});

interface Range {
  readonly minimum: number;
  readonly maximum?: number;
}

export const integer = (
  description: string,
  range: Range,
): Parameter<number | undefined, number | undefined> => ({
  type: 'integer',
  ...range,
  description,
});

export const integerWithDefault = (
  description: string,
  range: Range & { readonly default: number },
): Parameter<number, number | undefined> => ({ type: 'integer', ...range, description });

/** Unix epoch milliseconds, or an ISO 8601 date; a time of day needs a zone. */
export const moment = (
  description: string,
  example?: string,
): Parameter<number | undefined, string | number | undefined> => ({
  type: 'string',
  isTime: true,
  description,
  ...exampleOf(example),
});

/** An id of an event, or a time. */
export const position = (
  description: string,
  example?: string,
): Parameter<string | undefined, string | number | undefined> => ({
  type: 'string',
  description,
  ...exampleOf(example),
});

export const limit = integerWithDefault('Maximum number of results.', LIMIT);

/** How long a request waits for an operation. */
export const wait = (otherwise: string) =>
  integer(
    `How long to wait for the end of the operation, in ms; 0 does not wait. Default: ${otherwise}.`,
    { minimum: 0, maximum: MAX_WAIT_MS },
  );

export const cause = (description: string) =>
  text(description, '5d0c7c1b9a3f2e64', { pattern: CAUSE });

/** The parameter `node` of routes that answer for all nodes of a cluster. */
export const onlySelf = choice(['self'], '`self`: only the answering node.');

/** A query: docs/QUERY.md. Its length is checked where it is parsed. */
export const query = (what: string, example: string) =>
  text(`${what} that match a query (docs/QUERY.md).`, example, { maxLength: MAX_QUERY });

export const eventQuery = query('Only events', 'level:warn,error label:team=a -"keep alive"');

/** Short forms of terms of a query (src/shared/query/selection.ts). */
export const botFilters = (what: string) => ({
  status: list(`${what} with this status.`, ['in_world']),
  kind: list(`${what} with this kind.`, ['demo']),
  label: list(`${what} with all of these labels: \`name=value\`, or \`name\` for any value.`, [
    'team=a',
  ]),
});

/** Of activities. */
export const ACTIVITY_FILTERS = {
  actor: list('Only what this actor has done, by name.', ['Ada']),
  activity: list<ActivityName>('Only these activities.', ['bot.restart']),
};

export const EVENT_FILTERS = {
  event: list<Exclude<Kind, 'gap'>>(
    'Only these events: `log`, `session`, `alert`, `activity`, `operation`.',
    ['log'],
  ),
  level: list<Level>('Only lines with this level: `info`, `warn`, `error`, `state`.', [
    'warn',
    'error',
  ]),
  session: list('Only events of the bot with this id.', ['demo-1']),
  scope: list('Only lines with this scope, like `tcp`.', ['tcp']),
  node: list(
    'Only events of this node of the cluster; `self` alone: the separate stream of the answering node.',
    ['h1'],
  ),
  ...botFilters('Only events of bots'),
  ...ACTIVITY_FILTERS,
  q: text(
    'Only events with this text in the message, or in the strings of the JSON of other events. Ignores case and ANSI escapes.',
    undefined,
    { maxLength: MAX_TEXT },
  ),
};
