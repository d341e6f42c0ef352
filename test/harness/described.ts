// Validates every response and every event that the harness reads against the service's OpenAPI document.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { DocumentResponse } from '../../src/front/reference/document.js';
import { openApiDocument } from '../../src/front/reference/document.js';
import type { JsonValue } from '../../src/shared/contract/routes/route.js';
import { VERSION } from '../../src/shared/version.js';

const document = openApiDocument(VERSION);
const ajv = new Ajv2020({ strict: false, allErrors: false });
// As strict as the current service: clients must tolerate new fields, but these tests must detect them.
ajv.addSchema(closed(structuredClone(document) as unknown as JsonValue) as object, 'openapi');
const validators = new Map<string, ValidateFunction>();

/** A response to validate. */
export interface Answered {
  status: number;
  contentType: string;
  /** Text of the body. */
  body: string;
}

const PATHS = Object.entries(document.paths).map(([path, methods]) => ({
  path,
  methods,
  // Literal paths come before paths with parameters.
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));
PATHS.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));

/** @throws Error when the document does not describe the response. */
export function expectDescribed(method: string, target: string, answered: Answered): void {
  const path = target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] ?? '';
  const found = PATHS.find(({ pattern }) => pattern.test(path));
  const what = `${method} ${path} answered ${answered.status}`;
  const { status } = answered;
  if (method === 'OPTIONS' && status === 204) return;
  const operation = found?.methods[(method === 'HEAD' ? 'get' : method).toLowerCase()];
  if (!operation) {
    // The document's own description covers all of these.
    if (status < 400) throw new Error(`${what}: the OpenAPI document has no such route`);
    validate('/components/schemas/Error', parsed(answered, method), what);
    return;
  }
  const answer = operation.responses[status];
  if (!answer) throw new Error(`${what}: the OpenAPI document has no such status there`);
  const where = ['paths', found?.path ?? '', method === 'HEAD' ? 'get' : method.toLowerCase()];
  expectContent(answer, ['', ...where, 'responses', String(status)], answered, method, what);
}

function expectContent(
  { content }: DocumentResponse,
  where: string[],
  answered: Answered,
  method: string,
  what: string,
): void {
  if (!content) {
    if (answered.body !== '') throw new Error(`${what} with a body that is not described`);
    return;
  }
  const type = answered.contentType.toLowerCase();
  if (!(type in content)) throw new Error(`${what} as ${JSON.stringify(type)}, not described`);
  if (method === 'HEAD' || type === 'text/event-stream') return;
  validate(pointer([...where, 'content', type, 'schema']), parsed(answered, method), what);
}

/** @throws Error when the document has no such event or its data does not match. */
export function expectDescribedEvent(event: string | undefined, data: unknown): void {
  const events =
    document.paths['/events']?.['get']?.responses['200']?.content?.['text/event-stream'];
  const name = event ?? 'message';
  if (!events?.['x-events'] || !Object.hasOwn(events['x-events'], name)) {
    throw new Error(`event ${name}: the OpenAPI document has no such event`);
  }
  const where = ['', 'paths', '/events', 'get', 'responses', '200', 'content', 'text/event-stream'];
  validate(pointer([...where, 'x-events', name]), data, `event ${name}`);
}

function parsed({ contentType, body }: Answered, method: string): unknown {
  if (method === 'HEAD') return { error: 'the body that HEAD leaves out' };
  return contentType.startsWith('application/json') ? JSON.parse(body) : body;
}

function validate(at: string, value: unknown, what: string): void {
  let check = validators.get(at);
  if (!check) {
    check = ajv.compile({ $ref: `openapi#${at}` });
    validators.set(at, check);
  }
  if (check(value)) return;
  const [error] = check.errors ?? [];
  throw new Error(
    `${what} with another body than the OpenAPI document says: ${error?.instancePath} ${error?.message} ` +
      `${JSON.stringify(error?.params)} in ${JSON.stringify(value)?.slice(0, 500)}`,
  );
}

function pointer(parts: readonly string[]): string {
  return parts
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
}

/** Forbids further fields in schemas that name their fields. */
function closed(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(closed);
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, closed(entry)]),
  );
  const isOpen = !('additionalProperties' in copy) && copy['type'] === 'object';
  if (isOpen && typeof copy['properties'] === 'object') copy['additionalProperties'] = false;
  return copy;
}
