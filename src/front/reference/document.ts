import { ErrorBody } from '../../shared/contract/api.js';
import {
  type Access,
  type Content,
  type JsonSchema,
  type JsonValue,
  type Route,
  TAGS,
} from '../../shared/contract/routes/route.js';
import { ROUTE_TABLE } from '../../shared/contract/routes/table.js';
import type { TSchema } from '../../shared/contract/typebox.js';
import { NAMED_SCHEMAS } from './named-schemas.js';
import { type DocumentParameter, parametersOf } from './parameters.js';

const NAME_OF = new Map(
  Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [JSON.stringify(schema), name]),
);

/** Errors that occur before a handler runs. */
const OF_ALL: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  408: 'The request did not arrive in time; the connection is closed.',
  411: 'A `Transfer-Encoding` that is not `chunked`, or on a GET; the connection is closed.',
  414: 'The URL is too long; the connection is closed.',
  429: 'Too many connections are open from this address.',
  431: 'The headers are too large or too many; the connection is closed.',
  500: '`internal error`',
  503: 'Too many connections or requests, or a part of the service is restarting. Try again.',
  505: 'The request is not HTTP/1.1; the connection is closed. On node:http HTTP/1.0 is served too.',
};
const OF_TOKENS: Readonly<Record<number, string>> = {
  401: '`missing token` or `invalid token`.',
  403: 'The token lacks the scope, or is limited to other bots.',
};
const OF_BODIES: Readonly<Record<number, string>> = {
  413: 'The body is too large; the connection is closed.',
  415: 'The body is not `application/json`.',
};
/** Errors that many routes share, and when they occur. */
export const COMMON_ERRORS: Readonly<Record<number, string>> = {
  ...OF_ALL,
  ...OF_TOKENS,
  ...OF_BODIES,
};
/** Headers of errors, by status. */
const ERROR_HEADERS: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': '`Bearer`, on routes that need a token.' },
  429: { 'Retry-After': 'Seconds, if known.' },
  503: { 'Retry-After': 'Seconds, if known.' },
};

export interface DocumentResponse {
  description: string;
  headers?: Record<string, { description: string; schema: JsonSchema }>;
  content?: Record<string, { schema: JsonSchema; example?: unknown; 'x-events'?: JsonSchema }>;
}

export interface DocumentOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  /** The scope that a token must have; `any token` or `nothing`. */
  'x-needs': Access;
  parameters?: DocumentParameter[];
  requestBody?: {
    required: true;
    content: Record<string, { schema: JsonSchema; example: unknown }>;
  };
  responses: Record<string, DocumentResponse>;
}

export interface OpenApiDocument {
  openapi: string;
  info: Record<string, JsonValue>;
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> };
}

/** The OpenAPI document. @param version of the service. */
export function openApiDocument(version: string): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const [name, route] of Object.entries(ROUTE_TABLE)) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = describe(path, route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Drover',
      version,
      summary: 'Hosts bots and streams everything they do.',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the document: a proxy may have put the service under a path.
    servers: [{ url: '.' }],
    tags: Object.entries(TAGS).map(([tag, description]) => ({ name: tag, description })),
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [name, withReferences(schema, name)]),
      ),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A token in the header.' },
        token: {
          type: 'apiKey',
          in: 'query',
          name: 'token',
          description:
            'A token in the query, percent-encoded, for clients that cannot set headers. Every route takes it; the header takes precedence.',
        },
        ticket: {
          type: 'apiKey',
          in: 'query',
          name: 'ticket',
          description: 'From `POST /auth/ticket`, for one stream.',
        },
      },
    },
  };
}

const OPEN_QUERIES = Object.entries<Route>(ROUTE_TABLE)
  .filter(([, { takesAnyQuery }]) => takesAnyQuery)
  .map(([name]) => `\`${name}\``)
  .join(', ');

const ABOUT = [
  'Bodies are JSON in UTF-8, names are snake_case, times are Unix epoch milliseconds. Responses may get more fields: ignore unknown ones.',
  `Routes take the query parameters that are described, and \`token\`: an unknown one is 400, and so is a repeated one that is no list. These ignore others: ${OPEN_QUERIES}.`,
  'Every GET route also accepts HEAD. OPTIONS returns 204 with `Allow` and needs no token. An unknown path is 404, an unsupported method 405 with `Allow`.',
  'Send a token as `Authorization: Bearer <token>`. Get the first one from `POST /auth/pin`, with the PIN that the service prints when it starts.',
  'A token has scopes: `read`, `control`, `invoke`, and `admin`, which includes the others. A token that is limited to bots sees no others.',
].join('\n\n');

function describe(path: string, route: Route): DocumentOperation {
  const { id, access, tag, summary, description, headers = [], query = {}, body, answers } = route;
  const parameters = parametersOf(path, query, headers);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(path, access),
    'x-needs': access,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: withReferences(body.schema), example: body.example },
              ...(body.lines && {
                'application/x-ndjson': {
                  schema: { type: 'string' },
                  example: `${JSON.stringify(body.example)}\n`,
                },
              }),
            },
          },
        }),
    responses: { ...errorsOf(route), ...mapped(answers, responseOf) },
  };
}

function securityOf(path: string, access: Access): Record<string, string[]>[] {
  if (access === 'nothing') return [];
  const scopes = access === 'any token' ? [] : [access];
  // All routes take a token in the query. It is described where it is needed: otherwise generated clients put it in every URL.
  const schemes = ['bearer', ...(path === '/events' ? ['token', 'ticket'] : [])];
  return schemes.map((scheme) => ({ [scheme]: scopes }));
}

function errorsOf({ access, body, errors = {} }: Route) {
  const descriptions = {
    ...OF_ALL,
    ...(access === 'nothing' ? {} : OF_TOKENS),
    ...(body === undefined ? {} : OF_BODIES),
    ...errors,
  };
  return mapped(descriptions, (description, status): DocumentResponse => {
    const content = { 'application/json': { schema: withReferences(ErrorBody) } };
    return { description, ...headersOf(ERROR_HEADERS[status]), content };
  });
}

function responseOf(
  { description, type, schema, example, headers, events, more = {} }: Content,
  status: number,
) {
  let described = schema && withReferences(schema);
  // This status can also be an error.
  if (described && status >= 400) described = { anyOf: [described, withReferences(ErrorBody)] };
  return {
    description,
    ...headersOf(headers),
    ...(described === undefined
      ? {}
      : {
          content: {
            [type ?? 'application/json']: {
              schema: described,
              ...(example === undefined ? {} : { example }),
              ...(events === undefined
                ? {}
                : { 'x-events': mapped(events, (event) => withReferences(event)) }),
            },
            ...mapped(more, (other) => ({ schema: withReferences(other) })),
          },
        }),
  } satisfies DocumentResponse;
}

function headersOf(headers: Readonly<Record<string, string>> | undefined) {
  if (headers === undefined) return {};
  return {
    headers: mapped(headers, (description) => ({ description, schema: { type: 'string' } })),
  };
}

function mapped<V, T>(values: Readonly<Record<string | number, V>>, make: (v: V, k: number) => T) {
  const entries = Object.entries(values).map(([key, value]) => [key, make(value, Number(key))]);
  return Object.fromEntries(entries) as Record<string, T>;
}

/** A copy as plain JSON, with a reference in place of every named schema except `own`. */
function withReferences(schema: TSchema, own?: string): JsonSchema {
  return refer(JSON.parse(JSON.stringify(schema)) as JsonValue, own) as JsonSchema;
}

function refer(value: JsonValue, own?: string): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((entry) => refer(entry));
  const name = NAME_OF.get(JSON.stringify(value));
  if (name !== undefined && name !== own) return { $ref: `#/components/schemas/${name}` };
  const copy = Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, refer(entry)]));
  return portable(withoutFilledIn(copy));
}

/**
 * Fields with a default are optional: it is filled in before the body is validated. The description says the default, because
 * generators (openapi-typescript) take a field with `default` for one that is always there.
 */
function withoutFilledIn(schema: JsonSchema): JsonSchema {
  const { properties, required } = schema;
  if (!Array.isArray(required) || properties === null || typeof properties !== 'object')
    return schema;
  const fields = properties as Record<string, JsonSchema>;
  const needed = required.filter((name) => !('default' in (fields[String(name)] ?? {})));
  const { required: _, ...rest } = schema;
  const described = { ...rest, properties: mapped(fields, withDefaultInWords) };
  return needed.length === 0 ? described : { ...described, required: needed };
}

function withDefaultInWords(field: JsonSchema): JsonSchema {
  if (!('default' in field)) return field;
  const { default: filledIn, description = '', ...rest } = field;
  const text = `${description} Default \`${JSON.stringify(filledIn)}\`.`;
  return { ...rest, description: text.trimStart() };
}

/** JSON Schema does not promise Unicode classes in patterns: without the flag `u`, `\\p{C}` is one of the characters p, {, C and }. */
function portable(schema: JsonSchema): JsonSchema {
  const { pattern, ...rest } = schema;
  return typeof pattern === 'string' && pattern.includes('\\p{') ? rest : schema;
}
