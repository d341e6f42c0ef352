// Decision "log": the access log when its reader is too slow. test/routes/access-log.test.ts covers the rules.

import type { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { accessTargets } from '../harness/access-lines.js';
import { call } from '../harness/api.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';

async function start(access: string): Promise<Service> {
  const service = await startService({ config: { log: { access } }, args: frontFlags(2) });
  onTestFinished(() => stopClean(service));
  return service;
}

it('lines beyond the buffer limit are dropped while nobody reads, and counted once reading resumes', async () => {
  const service = await start('all');
  const output = service.child.stdout as Readable;
  output.pause();
  const path = `/${'a.'.repeat(240)}`;
  const request = requestBytes('GET', path).toString();
  const connection = await RawConnection.open(service.port);
  const BATCH = 20;
  for (let sent = 0; sent < 15_000; sent += BATCH) {
    await connection.send(Buffer.from(request.repeat(BATCH)));
    for (let n = 0; n < BATCH; n++) await connection.response();
  }
  connection.close();
  output.resume();
  await expect.poll(() => service.stdout()).toMatch(/Z [1-9]\d* lines dropped: nobody read/);
  // With node:http the buffer never gets that full.
  await raw(service.port, requestBytes('LONGERTHANSIXTEENLETTERS', '/method'));
  await call(service, 'GET', '/last');
  await expect.poll(() => accessTargets(service).join('\n')).toContain('GET /last');
  expect(service.stdout()).not.toContain('LONGERTHANSIXTEENL');
});

it('the service continues when its output is closed', async () => {
  const service = await start('all');
  await call(service, 'GET', '/api/bots');
  await expect.poll(() => accessTargets(service)).toContain('GET /api/bots 200');
  service.child.stdout?.destroy();
  for (let n = 0; n < 20; n++) {
    expect((await call(service, 'GET', `/nowhere/${n}`)).status).toBe(404);
    // One request per write, so that the broken pipe occurs more than once. Nothing reports when a line was written.
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect((await call(service, 'GET', '/api/bots')).status).toBe(200);
});
