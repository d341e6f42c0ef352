// The description of the API: it is valid, says of every route what the service does, and is served as text and as a page.
// That all answers of the other tests are described is for test/harness/described.ts to see.

import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../../src/front/reference/document.js';
import { ROUTES } from '../../src/shared/routes.js';
import { call } from '../harness/api.js';
import { expectDescribed, expectDescribedEvent } from '../harness/described.js';
import { type InjectedService, inject } from '../harness/inject.js';

/** Files of a page, and a download of what has an example as JSON. */
const NO_EXAMPLE = /^(text\/(html|javascript|css)|image\/|application\/x-ndjson)/;

const ACCESS = Object.fromEntries(
  Object.entries(ROUTES).map(([name, { access }]) => [name, access]),
);

let service: InjectedService;
let document: OpenApiDocument;
beforeAll(async () => {
  service = await inject();
  document = (await call(service, 'GET', '/openapi.json', { token: null })).json as OpenApiDocument;
});
afterAll(() => service.close());

/** Every value of the document with its place, deepest last. */
function* walk(value: unknown, at: string[] = []): Generator<{ at: string[]; value: object }> {
  if (typeof value !== 'object' || value === null) return;
  yield { at, value };
  for (const [key, entry] of Object.entries(value)) yield* walk(entry, [...at, key]);
}

describe('GET /openapi.json', () => {
  it('is OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...document });
    expect(errors ?? []).toEqual([]);
    expect([valid, validator.version]).toEqual([true, '3.1']);
  });

  it('has the routes that there are, and what each needs', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-needs': needs }]) => [
        `${method.toUpperCase()} ${path}`,
        needs,
      ]),
    );
    expect(Object.fromEntries(described)).toEqual(ACCESS);
  });

  it('asks for a token with the scope where one is needed', () => {
    for (const [name, needs] of Object.entries(ACCESS)) {
      const [method = '', path = ''] = name.split(' ');
      const { security } = document.paths[path]?.[method.toLowerCase()] ?? {};
      if (needs === 'nothing') expect(security).toEqual([]);
      else expect(security).toContainEqual({ bearer: needs === 'any token' ? [] : [needs] });
    }
  });

  it('offers the token in the URL only where it is needed', () => {
    const routes = Object.entries(document.paths).filter(([, methods]) =>
      Object.values(methods).some(({ security }) => security.some((way) => 'token' in way)),
    );
    expect(routes.map(([path]) => path)).toEqual(['/events']);
  });

  it('gives every path parameter an example', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters = [] } of Object.values(methods)) {
        const missing = parameters.filter((one) => one.in === 'path' && !one.example);
        expect([path, missing]).toEqual([path, []]);
      }
    }
  });

  it('has patterns that need no flag, also for the id of a new bot', () => {
    const patterns = [...walk(document)].flatMap(({ value }) => {
      const { pattern, patternProperties = {} } = value as Record<string, string | object>;
      return [...(typeof pattern === 'string' ? [pattern] : []), ...Object.keys(patternProperties)];
    });
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\[pP]\{/);
    const { properties } = document.components.schemas['CreateBot'] as {
      properties: Record<string, { pattern?: string }>;
    };
    expect(properties['id']?.pattern).toBe('^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$');
  });

  it('says defaults of fields in words: generators make fields with a default required', () => {
    const fields = [...walk(document)].filter(({ at }) => at.at(-2) === 'properties');
    expect(fields.filter(({ value }) => 'default' in value).map(({ at }) => at)).toEqual([]);
    const { properties } = document.components.schemas['CreateBot'] as {
      properties: Record<string, { description: string }>;
    };
    expect(properties['desired']?.description).toMatch(/ Default `"running"`\.$/);
  });

  it('names each operation once', () => {
    const ids = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([true, false])(
    'has examples that are what their schemas say, with the flag u: %s',
    (unicodeRegExp) => {
      const ajv = new Ajv2020({ strict: false, unicodeRegExp });
      ajv.addSchema(document, 'openapi');
      let examples = 0;
      for (const { at, value } of walk(document)) {
        const { schema, example, examples: list } = value as Record<string, unknown>;
        const isNamed = at[0] === 'components' && at[1] === 'schemas' && at.length === 3;
        const given =
          isNamed && Array.isArray(list) ? list : example === undefined ? [] : [example];
        if (given.length === 0 || (!isNamed && typeof schema !== 'object')) continue;
        const place = (isNamed ? at : [...at, 'schema'])
          .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
          .join('/');
        const validate = ajv.compile({ $ref: `openapi#/${place}` });
        for (const one of given) {
          expect([place, validate(one), validate.errors]).toEqual([place, true, null]);
          examples += 1;
        }
      }
      expect(examples).toBeGreaterThan(30);
    },
  );

  it('gives every answer with a body an example or a named schema', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses, requestBody }] of Object.entries(methods)) {
        const bodies = [requestBody?.content, responses['200']?.content, responses['201']?.content]
          .flatMap((content) => Object.entries(content ?? {}))
          .filter(([type]) => !NO_EXAMPLE.test(type) && path !== '/openapi.json');
        for (const [type, { example }] of bodies) {
          expect([method, path, type, example !== undefined]).toEqual([method, path, type, true]);
        }
      }
    }
  });

  it('refers to nothing that is not there', () => {
    for (const { value } of walk(document)) {
      const { $ref } = value as { $ref?: unknown };
      if (typeof $ref !== 'string') continue;
      const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec($ref) ?? [];
      expect(Object.keys(document.components.schemas)).toContain(name);
    }
  });
});

describe.each(['/openapi.json', '/docs'])('%s', (path) => {
  it('is open, and not sent again to a client that has it', async () => {
    const first = await call(service, 'GET', path, { token: null });
    const etag = first.headers.get('etag') ?? '';
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect(etag).toMatch(/^"[\w-]+"$/);
    const having = (tags: string) =>
      call(service, 'GET', path, { token: null, headers: { 'if-none-match': tags } });
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await having(tags);
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await having('"x"')).status).toBe(200);
  });
});

describe('GET /docs', () => {
  it('names every route and schema, and runs nothing', async () => {
    const { text, headers } = await call(service, 'GET', '/docs', { token: null });
    for (const methods of Object.values(document.paths)) {
      for (const { operationId } of Object.values(methods)) {
        expect(text).toContain(`id="${operationId}"`);
      }
    }
    for (const name of Object.keys(document.components.schemas)) {
      expect(text).toContain(`id="${name}"`);
    }
    expect(text).not.toMatch(/<script|<iframe| on\w+=|style="|https?:\/\//i);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; style-src 'sha256-");
    expect(policy).not.toContain('unsafe');
  });

  it('says of parameters what they may be', async () => {
    const { text } = await call(service, 'GET', '/docs', { token: null });
    expect(text).toContain('query, integer, from 1 to 1,000, default <code>100</code>');
    expect(text).toContain('query, <code>newest</code> or <code>oldest</code>');
  });

  it('links to nothing that is not on it', async () => {
    const { text } = await call(service, 'GET', '/docs', { token: null });
    const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(40);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
  });
});

describe('the comparison with the document', () => {
  const json = { contentType: 'application/json' };
  const cases: [string, string, string, Parameters<typeof expectDescribed>[2]][] = [
    ['a route', 'GET', '/api/nothing', { ...json, status: 200, body: '{}' }],
    ['a method', 'PUT', '/api/bots', { ...json, status: 200, body: '{}' }],
    ['a status', 'GET', '/api/bots', { ...json, status: 418, body: '{"error":"tea"}' }],
    ['a body', 'GET', '/api/bots', { ...json, status: 200, body: '{"bots":[{"id":"a"}]}' }],
    ['a field', 'GET', '/api-info', { ...json, status: 200, body: '{"port":1,"token":"","x":1}' }],
    ['an error', 'GET', '/api/bots', { ...json, status: 404, body: '{"error":1}' }],
    ['a type', 'GET', '/health', { ...json, status: 200, body: '"ok"' }],
    ['no body', 'DELETE', '/api/bots/a', { ...json, status: 204, body: '{}' }],
  ];
  it.each(cases)('finds %s that is not described', (_, method, target, answered) => {
    expect(() => expectDescribed(method, target, answered)).toThrow(/OpenAPI|described/);
  });

  it('finds events that are not described', () => {
    expect(() => expectDescribedEvent('news', {})).toThrow('no such event');
    expect(() => expectDescribedEvent(undefined, {})).toThrow('no such event');
    expect(() => expectDescribedEvent('gap', { from: 'a-1', to: 'a-2' })).toThrow('dropped');
  });
});
