// The files of the dashboard over sockets: compressed bodies, and 304 without one. test/routes has the details.

import { brotliDecompressSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { RawConnection, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';
import { get } from '../../harness/sse.js';

export function dashboardFileTests(given: () => Service): void {
  let service: Service;
  beforeAll(() => {
    service = given();
  });

  it('a file comes compressed and whole, and nothing stands between a 304 and the next answer', async () => {
    const page = await get(`${service.url}/`, {});
    const html = Buffer.concat(await page.toArray()).toString();
    const [, script = ''] = /src="\.([^"]+\.js)"/.exec(html) ?? [];
    const plain = Buffer.concat(await (await get(service.url + script, {})).toArray());
    const compressed = await get(service.url + script, { 'accept-encoding': 'br' });
    expect(compressed.headers['content-encoding']).toBe('br');
    const bytes = Buffer.concat(await compressed.toArray());
    expect(bytes).toHaveLength(Number(compressed.headers['content-length']));
    expect(brotliDecompressSync(bytes).equals(plain)).toBe(true);

    const { etag = '' } = page.headers;
    const connection = await RawConnection.open(service.port);
    await connection.send(requestBytes('GET', '/', { 'If-None-Match': etag }));
    const same = await connection.response({ head: true });
    expect([same.status, same.headers['etag']]).toEqual([304, etag]);
    await connection.send(requestBytes('GET', '/health'));
    expect((await connection.response()).body).toBe('ok');
    connection.close();
  });
}
