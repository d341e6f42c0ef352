// The image, as far as it can be seen without a container runtime: its health check is run, and the Dockerfile names what
// there is.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freePort } from '../harness/ports.js';
import { startService } from '../harness/service.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHECK = path.join(ROOT, 'docker/healthcheck.mjs');

const check = async (port: number): Promise<number> => {
  const env = { ...process.env, DROVER_HTTP_PORT: String(port) };
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
