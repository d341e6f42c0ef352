// docs/INTERFACE.md §4 and §7: 404, 405 with Allow, HEAD and OPTIONS on every path.

import { beforeAll, describe, expect, it } from 'vitest';
import { ROUTES as RULES } from '../../../src/shared/routes.js';
import { call, expectError } from '../../harness/api.js';
import { RawConnection, raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function methodTests(given: () => Service): void {
  /** The paths of the table of routes, and the methods of each. */
  const NAMES = Object.keys(RULES).map((name) => name.replace('{id}', 'only').split(' '));
  const ROUTES = [...new Set(NAMES.map(([, path = '']) => path))].map((path) => ({
    path,
    methods: NAMES.filter((name) => name[1] === path).map(([method = '']) => method),
  }));
  const ASKED = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  /** Headers that tell of this answer and this connection, not of the resource. */
  const PASSING = ['date', 'connection', 'keep-alive', 'transfer-encoding'];
  /** What they tell is another at each moment, and so may its length be. */
  const PASSING_LENGTH = [
    '/api/activity',
    '/api/hosts',
    '/api/pressure',
    '/api/states',
    '/api/stats',
    '/api/tokens',
    '/api/tokens/current',
    '/metrics',
  ];

  let service: Service;
  let authorized: Record<string, string>;
  beforeAll(async () => {
    service = given();
    authorized = { Authorization: `Bearer ${await service.token()}` };
  });

  const allowed = (header: string | null | undefined): string[] =>
    (header ?? '').split(/,\s*/).sort();

  /** What Allow names for a route: its methods, HEAD where there is GET, and OPTIONS. */
  function allowOf(methods: string[]): string[] {
    return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort();
  }

  const READABLE = ROUTES.filter(({ methods }) => methods.includes('GET'));

  describe.each(ROUTES)('$path', ({ path, methods }) => {
    it('a method that it has not is 405 with Allow', async () => {
      for (const method of ASKED.filter((asked) => !methods.includes(asked))) {
        const answer = await call(service, method, path);
        expectError(answer, 405, 'method not allowed');
        expect(allowed(answer.headers.get('allow'))).toEqual(allowOf(methods));
      }
    });

    it('OPTIONS is 204 with Allow, without a token', async () => {
      const answer = await raw(service.port, requestBytes('OPTIONS', path));
      expect(answer.status).toBe(204);
      expect(allowed(answer.headers.allow)).toEqual(allowOf(methods));
      expect(answer.headers['content-length'] ?? '0').toBe('0');
    });
  });

  describe.each(READABLE)('$path', ({ path }) => {
    it('HEAD has the status and headers of GET, and no body', async () => {
      const got = await RawConnection.open(service.port);
      const connection = await RawConnection.open(service.port);
      try {
        // Of a stream only the head is compared, so read it before the body ends: it never does.
        await got.send(requestBytes('GET', path, authorized));
        const get = await got.response({ head: true });
        await connection.send(requestBytes('HEAD', path, authorized));
        const head = await connection.response({ head: true });
        expect(head.status).toBe(get.status);
        for (const name of PASSING_LENGTH.includes(path)
          ? [...PASSING, 'content-length']
          : PASSING) {
          delete head.headers[name];
          delete get.headers[name];
        }
        expect(head.headers).toEqual(get.headers);
        // The next answer on the connection begins right after the head: there was no body between.
        await connection.send(requestBytes('GET', '/health'));
        expect((await connection.response()).body).toBe('ok');
      } finally {
        got.close();
        connection.close();
      }
    });
  });

  const OPEN = new Set(
    Object.entries(RULES)
      .filter(([, { access }]) => access === 'nothing')
      .map(([name]) => name),
  );
  describe.each(READABLE.filter(({ path }) => !OPEN.has(`GET ${path}`)))('$path', ({ path }) => {
    it('HEAD needs the token as GET does', async () => {
      const answer = await raw(service.port, requestBytes('HEAD', path), { head: true });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    });
  });

  describe.each(ROUTES.filter((route) => !READABLE.includes(route)))(
    '$path',
    ({ path, methods }) => {
      it('HEAD is 405 with Allow where there is no GET', async () => {
        const answer = await raw(service.port, requestBytes('HEAD', path, authorized), {
          head: true,
        });
        expect(answer.status).toBe(405);
        expect(allowed(answer.headers.allow)).toEqual(allowOf(methods));
      });
    },
  );

  it('an unknown path is 404 for every method', async () => {
    const paths = [
      '/nope',
      '/health/x',
      '/auth',
      '/api',
      '/api/nope',
      '/api/bots/only/x/y',
      '/Health',
      '//health',
    ];
    for (const path of paths) {
      const answer = await raw(service.port, requestBytes('GET', path, authorized));
      expectError(answer, 404, 'not found');
    }
    for (const method of ASKED) expectError(await call(service, method, '/nope'), 404, 'not found');
    const head = await raw(service.port, requestBytes('HEAD', '/nope', authorized), { head: true });
    expect(head.status).toBe(404);
  });

  it('names of object properties are unknown paths like others', async () => {
    for (const path of ['/__proto__', '/constructor', '/api/constructor', '/toString']) {
      expectError(await raw(service.port, requestBytes('GET', path, authorized)), 404);
    }
  });

  it('§4 a query that a route does not know changes nothing on it', async () => {
    const answer = await raw(service.port, requestBytes('GET', '/health?a=1&b=%zz&&=&c'));
    expect([answer.status, answer.body]).toEqual([200, 'ok']);
  });
}
