// Decision "log": the access log on standard output, without a secret in it.

import { expect, it } from 'vitest';
import { accessLines, accessTargets } from '../../harness/access-lines.js';
import { call } from '../../harness/api.js';
import { raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function accessLogTests(given: () => Service): void {
  it('a line for each request, which no client can forge', async () => {
    const service = given();
    const token = encodeURIComponent(await service.token());
    // Raw: fetch would encode it.
    await raw(service.port, requestBytes('GET', '/a%0AGET\x1b[31m\x07/b')).catch(() => undefined);
    // A proxy may add its header behind that of the client.
    const forwarded = {
      'X-Forwarded-For': '10.9.9.9',
      'x-forwarded-for': '203.0.113.7, 127.0.0.1',
    };
    await raw(service.port, requestBytes('GET', '/from-afar', forwarded));
    const info = await call(service, 'GET', `/api-info?token=${token}`, { token: null });
    expect(info.status).toBe(200);
    await call(service, 'GET', '/last');
    const targets = (): string[] => accessTargets(service);
    await expect.poll(targets).toContain('GET /last 404');
    // Each front writes its lines by itself.
    await expect.poll(targets).toContain('GET /api-info?token=*** 200');
    expect(accessLines(service).find((line) => line.includes('/from-afar'))).toContain(
      ' 203.0.113.7 - GET ',
    );
    expect(service.stdout().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(service.stdout()).not.toContain(token);
  });
}
