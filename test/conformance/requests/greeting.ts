// docs/INTERFACE.md §1 and §5.6: what the process prints, where it listens, and its PIN file.

import { readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function greetingTests(given: () => Service): void {
  let service: Service;
  beforeAll(() => {
    service = given();
  });

  it('§1 prints `PIN=<6 digits> at <path>` as the first line of standard output', () => {
    const [first = ''] = service.stdout().split('\n');
    expect(first).toMatch(/^PIN=\d{6} at \S.*$/);
    expect(first).toBe(`PIN=${service.pin} at ${service.pinPath}`);
  });

  it('§1 says on the second line where it listens', () => {
    expect(service.stdout().split('\n')[1]).toBe(`listening on http://0.0.0.0:${service.port}`);
  });

  it('warns with one line on standard error that it has no TLS beyond loopback', async () => {
    // It may come a little later than what is on standard output.
    await expect
      .poll(() => service.stderr())
      .toMatch(/^drover: warning: 0\.0\.0\.0 .* without TLS .*\n$/);
  });

  it('§1 keeps the PIN in a file named pin.txt in the data directory', () => {
    expect(path.basename(service.pinPath)).toBe('pin.txt');
    expect(path.dirname(path.resolve(service.pinPath))).toBe(path.resolve(service.dataDir));
    expect(readFileSync(service.pinPath, 'utf8').trimEnd()).toBe(service.pin);
  });

  it('pin.txt is there in whole before the PIN line is printed', () => {
    expect(service.pinFileAtStart?.trimEnd()).toBe(service.pin);
  });

  it.skipIf(process.platform === 'win32')('pin.txt has mode 0600', () => {
    expect((statSync(service.pinPath).mode & 0o777).toString(8)).toBe('600');
  });

  it.skipIf(process.platform === 'win32')('the data directory has mode 0700', () => {
    expect((statSync(service.dataDir).mode & 0o777).toString(8)).toBe('700');
  });

  it('§1 bound to 0.0.0.0 it answers on any address of the host', async () => {
    const others = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const addresses = others.filter((a) => a.family === 'IPv4').map((a) => a.address);
    // All of 127/8 is this host on Linux, so there is a second address even without a network.
    if (process.platform === 'linux') addresses.push('127.0.0.2');
    for (const host of addresses) {
      expect((await raw(service.port, requestBytes('GET', '/health'), { host })).body).toBe('ok');
    }
  });
}
