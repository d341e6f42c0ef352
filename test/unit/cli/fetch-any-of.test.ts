// Commands of a profile that names several nodes.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { fetchAnyOf } from '../../../src/cli/connection/connection.js';
import { DroverClient } from '../../../src/client/index.js';
import { freePort } from '../../harness/ports.js';

async function serve(status: number): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status);
    response.end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientOf = (...urls: string[]): DroverClient =>
  new DroverClient({ url: urls[0] ?? '', fetch: fetchAnyOf(urls) });
/** Where nothing listens. */
const nobody = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;

it('tries the next address when nothing answers at one, and says so when none does', async () => {
  await clientOf(await nobody(), await serve(200)).health();
  const none = clientOf(await nobody(), await nobody());
  await expect(none.health()).rejects.toThrow(/no answer from .*ECONNREFUSED/);
});

it('takes the answer of the first that has one, also an error', async () => {
  const client = clientOf(await serve(503), await serve(200));
  await expect(client.health()).rejects.toMatchObject({ status: 503 });
});
