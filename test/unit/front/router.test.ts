// Run by vitest. Which handler answers a method and a path.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Router } from '../../../src/front/requests/router.js';
import { DroverError } from '../../../src/shared/errors.js';

const router = new Router<string>()
  .add('/health', { GET: 'health' })
  .add('/auth/pin', { POST: 'pin' })
  .add('/api/bots', { GET: 'list', POST: 'create' })
  .add('/api/bots/{id}', { GET: 'one', DELETE: 'delete' })
  .add('/api/bots/{id}/lines/{line}', { GET: 'line' });

describe('the router', () => {
  it('finds handlers by method, and GET for HEAD', () => {
    const handler = (method: string, path: string) => router.match(method, path);
    expect(handler('GET', '/health')).toEqual({
      found: 'handler',
      handler: 'health',
      parameters: [],
    });
    expect(handler('HEAD', '/health')).toEqual(handler('GET', '/health'));
    expect(handler('HEAD', '/api/bots/x')).toEqual(handler('GET', '/api/bots/x'));
    expect(handler('POST', '/api/bots')).toMatchObject({ handler: 'create' });
    expect(handler('DELETE', '/api/bots/a')).toMatchObject({
      handler: 'delete',
      parameters: ['a'],
    });
  });

  it('hands the decoded parts of the path over, one for each parameter', () => {
    const part = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(part, part, (id, line) => {
        const path = `/api/bots/${encodeURIComponent(id)}/lines/${encodeURIComponent(line)}`;
        expect(router.match('GET', path)).toEqual({
          found: 'handler',
          handler: 'line',
          parameters: [id, line],
        });
      }),
    );
  });

  it('refuses a path that is not valid percent-encoding', () => {
    for (const id of ['%', '%zz', '%ff', 'a%e4%b8']) {
      expect(() => router.match('GET', `/api/bots/${id}`)).toThrow(DroverError);
    }
  });

  it('says which methods there are when the method is another', () => {
    const wrong = (method: string, path: string) => router.match(method, path);
    expect(wrong('POST', '/health')).toEqual({
      found: 'method_not_allowed',
      allow: 'GET, HEAD, OPTIONS',
    });
    expect(wrong('HEAD', '/auth/pin')).toEqual({
      found: 'method_not_allowed',
      allow: 'POST, OPTIONS',
    });
    expect(wrong('GET', '/auth/pin')).toEqual({
      found: 'method_not_allowed',
      allow: 'POST, OPTIONS',
    });
    for (const method of [
      'get',
      'TRACE',
      '',
      'constructor',
      '__proto__',
      'toString',
      'hasOwnProperty',
    ]) {
      expect(wrong(method, '/api/bots/x')).toEqual({
        found: 'method_not_allowed',
        allow: 'GET, DELETE, HEAD, OPTIONS',
      });
    }
  });

  it('answers OPTIONS for every path that there is', () => {
    expect(router.match('OPTIONS', '/api/bots')).toEqual({
      found: 'options',
      allow: 'GET, POST, HEAD, OPTIONS',
    });
    expect(router.match('OPTIONS', '/nothing')).toEqual({ found: 'nothing' });
  });

  it('finds nothing for any other path, with any method', () => {
    const paths = [
      '',
      '/',
      '/health/',
      '//health',
      '/Health',
      '/api/bots/a/b',
      '/api/bots/a/lines',
      '/%68ealth',
      '/api',
    ];
    for (const path of paths) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'BREW']) {
        expect(router.match(method, path)).toEqual({ found: 'nothing' });
      }
    }
    fc.assert(
      fc.property(fc.constantFrom('GET', 'POST', 'X'), fc.string(), (method, path) => {
        expect(router.match(method, `/other/${path}`)).toEqual({ found: 'nothing' });
      }),
    );
  });
});
