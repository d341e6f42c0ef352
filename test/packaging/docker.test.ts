// The image, as far as it can be seen without a container runtime: its health check is run, and the Dockerfile names what
// there is.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { makeCertificate } from '../harness/certificate.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, startService } from '../harness/service.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHECK = path.join(ROOT, 'docker/healthcheck.mjs');

const check = async (port: number, more: NodeJS.ProcessEnv = {}): Promise<number> => {
  const env = { ...process.env, DROVER_HTTP_PORT: String(port), ...more };
  const result = await run(process.execPath, [CHECK], { env }).catch((error) => error);
  return result.code ?? 0;
};

it('the health check sees whether the service lives', async () => {
  const service = await startService();
  expect(await check(service.port)).toBe(0);
  expect(await service.stop()).toBe(0);
  expect(await check(service.port)).toBe(1);
  expect(await check(await freePort())).toBe(1);
});

it('the health check asks at the address and in the way of the environment', async () => {
  const elsewhere = await startService({ host: '127.0.0.2' });
  expect(await check(elsewhere.port)).toBe(1);
  expect(await check(elsewhere.port, { DROVER_HTTP_HOST: '127.0.0.2' })).toBe(0);
  expect(await elsewhere.stop()).toBe(0);
  const onAll = await startService({ host: '0.0.0.0' });
  expect(await check(onAll.port, { DROVER_HTTP_HOST: '0.0.0.0' })).toBe(0);
  expect(await onAll.stop()).toBe(0);
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const { certPath: cert, keyPath: key } = makeCertificate(dir, 'tls', 1);
  const withTls = await startService({ env: { DROVER_TLS_CERT: cert, DROVER_TLS_KEY: key } });
  expect(await check(withTls.port)).toBe(1);
  expect(await check(withTls.port, { DROVER_TLS_CERT: cert })).toBe(0);
  expect(await withTls.stop()).toBe(0);
});

it('the Dockerfile copies what there is, and runs as a user that is not root', () => {
  const text = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8');
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  const own = lines.filter((line) => /^COPY (?!--from)/.test(line));
  for (const line of own) {
    for (const name of line.split(/\s+/).slice(1, -1)) {
      expect(existsSync(path.join(ROOT, name)), name).toBe(true);
    }
  }
  expect(own.length).toBeGreaterThan(1);
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')));
  const user = last.indexOf('USER node');
  expect(user).toBeGreaterThan(0);
  expect(last.findIndex((line) => line.startsWith('ENTRYPOINT'))).toBeGreaterThan(user);
  expect(last.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true);
  expect(last.slice(user).some((line) => line.startsWith('RUN'))).toBe(false);
});
