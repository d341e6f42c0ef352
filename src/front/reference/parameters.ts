// Pure; used by the fronts. Owns how the parameters of a route are described.

import type { TSchema } from '../../shared/contract/typebox.js';
import type { JsonSchema, JsonValue, Operation } from './operation.js';

export interface DocumentParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: JsonSchema;
  /** Lists: how several values are written. */
  style?: 'form';
  explode?: boolean;
  example?: JsonValue;
}

/** What stands in paths that begin so. */
const PATH_PARAMETERS: readonly (readonly [string, string])[] = [
  ['/api/bots/', 'Id of the bot.'],
  ['/api/tokens/', 'Id of the token.'],
  ['/assets/', 'Name of a file of the dashboard, as its page has it.'],
];

/** All of an operation: of its path, its query and its headers. */
export function parametersOf(
  path: string,
  { query = {}, headers = [] }: Operation,
): DocumentParameter[] {
  const plain = { required: false, schema: { type: 'string' } };
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      ...{ ...plain, name, in: 'path' as const, required: true },
      description: pathParameter(path, name),
    })),
    ...Object.entries(query).map(([name, schema]) => queryParameter(name, schema)),
    ...headers.map((header) => ({ ...plain, ...header, in: 'header' as const })),
  ];
}

function pathParameter(path: string, name: string): string {
  const [, owner] = PATH_PARAMETERS.find(([start]) => path.startsWith(start)) ?? [];
  if (owner === undefined) throw new Error(`nobody says what ${name} of ${path} is`);
  return owner;
}

function queryParameter(name: string, schema: TSchema): DocumentParameter {
  // As plain JSON: TypeBox has notes of its own beside it.
  const plain = JSON.parse(JSON.stringify(schema)) as JsonSchema;
  const { description, examples, ...rest } = plain;
  const isList = rest['type'] === 'array';
  return {
    name,
    in: 'query',
    required: false,
    description: `${description}${isList ? ' Several values: comma-separated, repeated, or both.' : ''}`,
    schema: rest,
    ...(isList ? { style: 'form', explode: false } : {}),
    ...(Array.isArray(examples) ? { example: examples[0] as JsonValue } : {}),
  };
}
