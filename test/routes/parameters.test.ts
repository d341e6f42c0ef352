// Parameters of the query: a route takes those that the description of the API has, and no other.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DocumentOperation,
  type OpenApiDocument,
  openApiDocument,
} from '../../src/front/reference/document.js';
import type { DocumentParameter } from '../../src/front/reference/parameters.js';
import type { RouteName } from '../../src/shared/contract/routes/table.js';
import { ROUTES } from '../../src/shared/routes.js';
import { call, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeTicket, makeToken } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject();
});
afterAll(() => service.close());

const document: OpenApiDocument = openApiDocument('1');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/g, 'x'),
    parameters: queryParameters(operation),
  })),
);
const strict = operations.filter(({ name }) => !ROUTES[name as RouteName].takesAnyQuery);

function queryParameters({ parameters = [] }: DocumentOperation): DocumentParameter[] {
  return parameters.filter((parameter) => parameter.in === 'query');
}

/** One for each route: more refusals of a token than a minute has room for are answered with 429. */
let token: string;

async function refusal(method: string, target: string): Promise<string> {
  return expectError(await call(service, method, target, { token }), 400);
}

describe.each(strict)('$name', ({ name: route, method, path, parameters }) => {
  beforeAll(async () => {
    ({ token } = await makeToken(service, { name: route.slice(0, 60), scopes: ['admin'] }));
  });

  it('refuses an unknown parameter, and names those that there are', async () => {
    for (const query of ['stauts=failed', 'stauts', '__proto__=x', '=x', '%73tauts=x&']) {
      const error = await refusal(method, `${path}?${query}`);
      const given = decodeURIComponent(query.split(/[=&]/)[0] as string);
      expect(error).toContain(`unknown parameter ${JSON.stringify(given)}`);
      if (parameters.length === 0) expect(error).toContain('takes none');
      for (const { name } of parameters) expect(error).toContain(name);
    }
  });

  it('refuses a parameter in brackets', async () => {
    for (const name of ['colour', ...parameters.map((parameter) => parameter.name)]) {
      for (const brackets of ['[]', '[0]', '[a]', '%5B%5D']) {
        const error = await refusal(method, `${path}?${name}${brackets}=x`);
        expect(error).toContain(`unknown parameter "${name}${decodeURIComponent(brackets)}"`);
        if (name !== 'colour') expect(error).toContain(`${name} has no brackets`);
      }
    }
  });

  it('refuses a repeated parameter that is no list', async () => {
    const single = parameters.filter(({ schema }) => schema['type'] !== 'array');
    for (const { name } of single) {
      for (const value of ['1', '']) {
        const error = await refusal(method, `${path}?${name}=${value}&${name}=${value}`);
        expect(error).toBe(`${name} is given twice`);
      }
    }
    const given = encodeURIComponent(token);
    const error = await refusal(method, `${path}?token=${given}&token=${given}`);
    expect(error).toBe('token is given twice');
  });
});

it('takes a token in the query of every route that needs one', async () => {
  const given = encodeURIComponent(await service.token());
  const { status } = await call(service, 'GET', `/api/bots?token=${given}`, { token: null });
  expect(status).toBe(200);
});

it('a ticket is not used up by a stream that is refused for its parameters', async () => {
  const ticket = await makeTicket(service);
  const refused = await call(service, 'GET', `/events?ticket=${ticket}&kind[]=log`, {
    token: null,
  });
  expectError(refused, 400, /kind\[\]/);
  const stream = await service.open(`/events?ticket=${ticket}`, {});
  expect(stream.statusCode).toBe(200);
  stream.destroy();
});

it('is not asked before the token is: who has none learns nothing else', async () => {
  const answer = await call(service, 'GET', '/api/bots?stauts=x', { token: null });
  expectError(answer, 401, 'missing token');
});

it.each([
  ['/events?snapshot=false', 'snapshot must be one of: 0, 1'],
  ['/api/bots/x?node=h2', 'node must be self'],
])('%s is refused: its value would be ignored', async (target, message) => {
  expectError(await call(service, 'GET', target), 400, message);
});

it.each(['/', '/assets/x', '/health', '/ready', '/openapi.json', '/docs', '/api-info', '/metrics'])(
  '%s takes any parameter: monitors, scrapers and browsers add their own',
  async (path) => {
    const plain = await call(service, 'GET', path);
    expect((await call(service, 'GET', `${path}?at=1&at=2`)).status).toBe(plain.status);
  },
);

it('all other routes but POST /auth/pin are strict', () => {
  const open = operations.filter(({ name }) => ROUTES[name as RouteName].takesAnyQuery);
  expect(open).toHaveLength(9);
});
