// Run by vitest. A token that is revoked while the journal searches for it gets nothing of what is found. The journal is a
// model: that a revocation falls into its search is not to be had on purpose.

import { expect, it } from 'vitest';
import { Authenticator } from '../../../src/front/access/auth.js';
import { TokenStreams } from '../../../src/front/access/token-streams.js';
import type { Exchange, Response } from '../../../src/front/engine/engine.js';
import { historyRoutes } from '../../../src/front/routes/history-routes.js';
import { StreamLeases } from '../../../src/front/stream/stream-lease.js';
import { queryReader } from '../../../src/front/table/query-reader.js';
import type { View } from '../../../src/front/views/view.js';
import type { Page } from '../../../src/shared/contract/journal-messages.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { createQuota, Quota } from '../../../src/shared/memory/quota.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { tokenDigest } from '../../../src/shared/token-digest.js';
import { partial } from '../../harness/partial.js';

it.each(['', 'format=ndjson'])('%j is refused', async (query) => {
  const token = 'a token';
  const record = {
    id: 'a',
    digest: tokenDigest(token),
    name: 'test',
    scopes: ['read' as const],
    reach: null,
    by_pin: false,
    created_at_ms: 0,
    created_by: null,
    expires_at_ms: null,
  };
  const auth = new Authenticator([record]);
  const quota = new Quota<'perToken' | 'perAddress'>(
    createQuota({ total: 1, perToken: 1, perAddress: 1 }, 1),
    0,
  );
  const asked = new Deferred();
  const found = new Deferred();
  const page = { body: Buffer.from('{"secret":1}'), cursor: null, count: 1, end: 1 };
  const journal = {
    stats: () => expect.unreachable('nobody asks for statistics'),
    page: (): Promise<Page> => {
      asked.resolve();
      return found.promise.then(() => page);
    },
  };
  const names = new NameHasher('00'.repeat(16));
  const mirror = { labels: new LabelHistory() };
  const view = { journal, mirror, names, nodes: undefined, epoch: 'e' } as unknown as View;
  const routes = historyRoutes({
    auth,
    leases: new StreamLeases(quota, names, new TokenStreams()),
    views: { of: () => view, whenCurrent: () => expect.unreachable('nobody asks for a bot') },
    maxWriteBytes: 1000,
  });
  const responses: Response[] = [];
  const exchange = partial<Exchange>({
    method: 'GET',
    query,
    address: '127.0.0.1',
    gone: () => new AbortController().signal,
    respond: (response: Response) => responses.push(response),
    stream: () => expect.unreachable('it has begun'),
  });
  const answered = routes['GET /api/events'](
    exchange,
    { token, record },
    {
      path: [],
      activity: null,
      lines: null,
      query: queryReader('GET /api/events')(query),
      body: () => expect.unreachable('it has none'),
    },
  );
  await asked.promise;
  auth.remove('a');
  found.resolve();
  await expect(answered).rejects.toMatchObject({ code: 'invalid_token' });
  expect(responses).toEqual([]);
  expect(quota.total()).toBe(0);
});
