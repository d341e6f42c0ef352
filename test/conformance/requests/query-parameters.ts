// The query parameters that the description of the API names are those that the service reads.

import { beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../../../src/front/reference/document.js';
import { call } from '../../harness/api.js';
import { create } from '../../harness/bots.js';
import type { Service } from '../../harness/service.js';
import { openStream } from '../../harness/sse.js';

export function queryParameterTests(given: () => Service): void {
  let service: Service;
  let document: OpenApiDocument;
  /** One that has ended. */
  let operation: string;
  beforeAll(async () => {
    service = given();
    const body = { action: 'stop', ids: ['no-such-bot'] };
    const { json } = await call(service, 'POST', '/api/bots/actions', { body });
    ({ id: operation } = (json as { operation: { id: string } }).operation);
    document = (await call(service, 'GET', '/openapi.json', { token: null }))
      .json as OpenApiDocument;
  });

  describe('query parameters', () => {
    /** A query with each that is described, which changes the answer of its route, and what the answer is then. */
    const EFFECTS: Record<string, Record<string, [query: string, answer: number | RegExp]>> = {
      '/events': {
        // What they let through is seen in test/routes/filters.test.ts; here, that each is known.
        event: ['event=', 200],
        level: ['level=warn,error', 200],
        session: ['session=a&session=b', 200],
        scope: ['scope=x', 200],
        node: ['node=self', 200],
        kind: ['kind=demo', 200],
        status: ['status=failed', 200],
        label: ['label=team=a,zone', 200],
        q: ['q=two+words', 200],
        actor: ['actor=Ada', 200],
        activity: ['activity=bot.restart', 200],
        snapshot: ['snapshot=0', 200],
        last_event_id: ['last_event_id=x', 200],
        lastEventId: ['lastEventId=x', 200],
        query: ['query=level:error', 200],
      },
      '/api/bots': {
        status: ['status=nothing', /"bots":\[\]/],
        kind: ['kind=nothing', /"bots":\[\]/],
        label: ['label=nothing', /"bots":\[\]/],
        node: ['node=nothing', /"bots":\[\]/],
        limit: ['limit=0', 400],
        cursor: ['cursor=x', 400],
        query: ['query=id:nothing', /"bots":\[\]/],
        sort: ['sort=gold', 400],
      },
      '/api/fleet': {
        status: ['status=nothing', /"bots":\[\]/],
        kind: ['kind=nothing', /"bots":\[\]/],
        label: ['label=nothing', /"bots":\[\]/],
        node: ['node=nothing', /"bots":\[\]/],
        query: ['query=id:nothing', /"bots":\[\]/],
      },
      '/api/bots/{id}': { node: ['node=self', /"id":"a"/] },
      '/api/bots/{id}/history': {
        field: ['field=gold', 400],
        after: ['field=status&after=x', 400],
        before: ['field=status&before=x', 400],
        points: ['field=status&points=501', 400],
        node: ['field=status&node=x', 400],
      },
      '/api/incidents': {
        cause: ['cause=0000000000000000', /"incidents":\[\]/],
        limit: ['limit=1001', 400],
      },
      '/api/bots/{id}/incidents': { cause: ['cause=x', 400], limit: ['limit=0', 400] },
      '/api/operations': { limit: ['limit=0', 400] },
      '/api/operations/{id}': { wait: ['wait=x', 400] },
      '/api/operations/{id}/bots': {
        result: ['result=nothing', /"bots":\[\]/],
        limit: ['limit=1001', 400],
        cursor: ['cursor=x', 400],
      },
      '/api/incidents/groups': {
        cause: ['cause=0000000000000000', /"groups":\[\]/],
        after: ['after=x', 400],
        before: ['before=x', 400],
        limit: ['limit=0', 400],
      },
      '/api/events': {
        event: ['event=nothing', /"events":\[\]/],
        level: ['level=nothing', /"events":\[\]/],
        session: ['session=nobody', /"events":\[\]/],
        scope: ['scope=nothing', /"events":\[\]/],
        node: ['node=nothing', /"events":\[\]/],
        kind: ['kind=nothing', /"events":\[\]/],
        status: ['status=nothing', /"events":\[\]/],
        label: ['label=nothing', /"events":\[\]/],
        actor: ['actor=nobody', /"events":\[\]/],
        activity: ['activity=nothing', /"events":\[\]/],
        order: ['order=x', 400],
        after: ['after=x', 400],
        before: ['before=x', 400],
        q: [`q=${'x'.repeat(1001)}`, 400],
        query: ['query=colour:red', 400],
        limit: ['limit=1001', 400],
        cursor: ['cursor=x', 400],
        format: ['format=x', 400],
      },
      '/api/activity': {
        actor: ['actor=nobody', /"events":\[\]/],
        activity: ['activity=nothing', /"events":\[\]/],
        session: ['session=nobody', /"events":\[\]/],
        status: ['status=nothing', /"events":\[\]/],
        kind: ['kind=nothing', /"events":\[\]/],
        label: ['label=nothing', /"events":\[\]/],
        node: ['node=nothing', /"events":\[\]/],
        query: ['query=colour:red', 400],
        order: ['order=x', 400],
        after: ['after=x', 400],
        before: ['before=x', 400],
        limit: ['limit=1001', 400],
        cursor: ['cursor=x', 400],
        format: ['format=x', 400],
      },
      '/api/stats': {
        after: ['after=x', 400],
        before: ['before=x', 400],
        step: ['step=11', 400],
        query: ['query=colour:red', 400],
        node: ['node=x', 400],
      },
      '/api/runs/{name}': { from: ['from=x', 400] },
      '/api/states': { at: ['at=x', 400], node: ['node=x', 400] },
    };
    const named = (path: string): string =>
      path.replace(/\{\w+\}/, path.startsWith('/api/operations/') ? operation : 'a');
    const described = (path: string): string[] =>
      (document.paths[path]?.['get']?.parameters ?? [])
        .filter((parameter) => parameter.in === 'query')
        .map(({ name }) => name);

    it('are those that the table of this test has, route by route', () => {
      const routes = Object.keys(document.paths).filter((path) => described(path).length > 0);
      expect(Object.fromEntries(routes.map((path) => [path, described(path).sort()]))).toEqual(
        Object.fromEntries(
          Object.entries(EFFECTS).map(([path, all]) => [path, Object.keys(all).sort()]),
        ),
      );
    });

    it('are all read by the service', async () => {
      await create(service, { id: 'a', kind: 'synthetic', desired: 'stopped' });
      const token = await service.token();
      for (const [path, parameters] of Object.entries(EFFECTS)) {
        for (const [name, [query, wanted]] of Object.entries(parameters)) {
          const target = `${named(path)}?${query}`;
          if (path === '/events') {
            // Rejects when it is refused.
            (await openStream(service.url + target, { token })).close();
            continue;
          }
          const { status, text } = await call(service, 'GET', target);
          if (typeof wanted === 'number') expect([name, status]).toEqual([name, wanted]);
          else expect([name, status, text]).toEqual([name, 200, expect.stringMatching(wanted)]);
        }
      }
    });

    it.each(['/events', '/api/events', '/api/states', '/api/stats'])(
      '%s takes no other, and says which there are: those that are described',
      async (path) => {
        const { status, text } = await call(service, 'GET', `${path}?colour=red`);
        expect(status).toBe(400);
        const [, names = ''] = /there are: (.*)"\}$/.exec(text) ?? [];
        // A token or ticket in the query is a security scheme.
        const own = names.split(', ').filter((name) => name !== 'token' && name !== 'ticket');
        expect(own.sort()).toEqual(described(path).sort());
      },
    );

    /** Of a stream too, which has no end. */
    async function statusOf(target: string): Promise<number> {
      const leaving = new AbortController();
      const headers = { authorization: `Bearer ${await service.token()}` };
      const response = await fetch(service.url + target, { headers, signal: leaving.signal });
      leaving.abort();
      return response.status;
    }

    it('have the bounds and values that the service holds them to', async () => {
      for (const [path, methods] of Object.entries(document.paths)) {
        for (const { name, schema } of methods['get']?.parameters ?? []) {
          const { maximum, maxLength, enum: values } = schema;
          // It cannot be called without a field.
          const rest = path.endsWith('/history') ? 'field=status&' : '';
          const status = (value: string): Promise<number> =>
            statusOf(`${named(path)}?${rest}${name}=${value}`);
          if (typeof maximum === 'number') {
            expect([await status(`${maximum}`), await status(`${maximum + 1}`)]).toEqual([
              200, 400,
            ]);
          }
          if (typeof maxLength === 'number') {
            expect(await status('x'.repeat(maxLength))).toBe(200);
            expect(await status('x'.repeat(maxLength + 1))).toBe(400);
          }
          for (const value of (values ?? []) as string[]) expect(await status(value)).toBe(200);
        }
      }
    });
  });
}
