import { Operation } from '../../shared/contract/operations.js';
import { BOT, exampleOf } from '../../shared/contract/routes/examples.js';
import type { Parameter, QuerySchema } from '../../shared/contract/routes/parameters.js';
import type { Header, JsonSchema, JsonValue } from '../../shared/contract/routes/route.js';
import { TokenInfo } from '../../shared/contract/tokens.js';

export interface DocumentParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: JsonSchema;
  /** For lists. */
  style?: 'form';
  explode?: boolean;
  example?: JsonValue;
}

/** Path parameters, by prefix of the path. */
const PATH_PARAMETERS: readonly (readonly [string, { description: string; example: string }])[] = [
  ['/api/bots/', { description: 'Id of the bot.', example: BOT.id }],
  ['/api/fleet/', { description: 'Name of the fleet.', example: 'web' }],
  [
    '/api/tokens/',
    { description: 'Id of the token.', example: (exampleOf(TokenInfo) as TokenInfo).id },
  ],
  ['/api/nodes/', { description: 'Name of the node.', example: 'h1' }],
  [
    '/api/operations/',
    { description: 'Id of the operation.', example: (exampleOf(Operation) as Operation).id },
  ],
  [
    '/api/rollouts/',
    { description: 'Id of its operation.', example: (exampleOf(Operation) as Operation).id },
  ],
  ['/api/rules/', { description: 'Id of the rule.', example: '6f0d2c1b9a3f2e64' }],
  ['/api/kinds/', { description: 'Name of the kind.', example: 'demo' }],
  ['/api/runs/', { description: 'Name of the file.', example: 'nightly.ndjson' }],
  ['/assets/', { description: 'Name of the file, from the dashboard page.', example: 'main.js' }],
];

/** Path, query and header parameters. */
export function parametersOf(
  path: string,
  query: QuerySchema,
  headers: readonly Header[],
): DocumentParameter[] {
  const plain = { required: false, schema: { type: 'string' } };
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      ...{ ...plain, name, in: 'path' as const, required: true },
      ...pathParameter(path, name),
    })),
    ...Object.entries(query).map(([name, schema]) => queryParameter(name, schema)),
    ...headers.map((header) => ({ ...plain, ...header, in: 'header' as const })),
  ];
}

function pathParameter(path: string, name: string): (typeof PATH_PARAMETERS)[number][1] {
  const [, owner] = PATH_PARAMETERS.find(([start]) => path.startsWith(start)) ?? [];
  if (owner === undefined) throw new Error(`${path}: ${name} has no description`);
  return owner;
}

function queryParameter(name: string, parameter: Parameter): DocumentParameter {
  const { description, examples, isTime: _, ...rest } = parameter;
  const isList = rest.type === 'array';
  return {
    name,
    in: 'query',
    // One that may not be left out is a list of at least one value.
    required: rest.minItems !== undefined,
    description: `${description}${isList ? ' Separate values with commas or repeat the parameter.' : ''}`,
    schema: rest as unknown as JsonSchema,
    ...(isList ? { style: 'form', explode: false } : {}),
    ...(examples === undefined ? {} : { example: examples[0] as JsonValue }),
  };
}
