// interface-seed §1 and §5.6: what the process prints, where it listens, what it leaves in its data directory.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest';
import { raw, requestBytes } from '../harness/http.js';
import {
  collect,
  launch,
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';

const health = requestBytes('GET', '/health');

describe('a service on every address', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ host: '0.0.0.0' });
  });
  afterAll(() => stopClean(service));

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

  it('decision "PIN comparison": pin.txt is there in whole before the PIN line is printed', () => {
    expect(service.pinFileAtStart?.trimEnd()).toBe(service.pin);
  });

  it.skipIf(process.platform === 'win32')(
    'decision "PIN comparison": pin.txt has mode 0600',
    () => {
      expect((statSync(service.pinPath).mode & 0o777).toString(8)).toBe('600');
    },
  );

  it.skipIf(process.platform === 'win32')(
    'decision "PIN comparison": the data directory has mode 0700',
    () => {
      expect((statSync(service.dataDir).mode & 0o777).toString(8)).toBe('700');
    },
  );

  it('§1 bound to 0.0.0.0 it answers on any address of the host', async () => {
    const others = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const addresses = others.filter((a) => a.family === 'IPv4').map((a) => a.address);
    // All of 127/8 is this host on Linux, so there is a second address even without a network.
    if (process.platform === 'linux') addresses.push('127.0.0.2');
    for (const host of addresses) {
      expect((await raw(service.port, health, { host })).body).toBe('ok');
    }
  });
});

describe.runIf(process.platform === 'linux')('the default data directory', () => {
  let home: string;
  beforeEach(() => {
    home = makeDir();
  });
  afterEach(() => removeDir(home));

  it('§1 "the application\'s data directory" is below $XDG_DATA_HOME when that is set; on loopback nothing listens elsewhere or warns', async () => {
    const base = path.join(home, 'xdg');
    const service = await startService({ dataDir: null, env: { XDG_DATA_HOME: base, HOME: home } });
    onTestFinished(() => stopClean(service));
    expect((await raw(service.port, health)).body).toBe('ok');
    // --host narrows the binding to that address.
    await expect(raw(service.port, health, { host: '127.0.0.2' })).rejects.toThrow('ECONNREFUSED');
    expect(service.pinPath.startsWith(`${base}${path.sep}`)).toBe(true);
    expect((statSync(path.dirname(service.pinPath)).mode & 0o777).toString(8)).toBe('700');
    await stopClean(service);
    expect(service.stderr()).toBe('');
  });

  it('§1 without options it listens on TCP port 8090 of 0.0.0.0, and its data directory is below the home directory', async () => {
    const env = { XDG_DATA_HOME: null, XDG_STATE_HOME: null, HOME: home };
    const output = collect(launch(['--no-demo'], env));
    // Another program of this machine may have the port: then the start fails, and names it.
    const isTaken = /^drover: [^\n]* 0\.0\.0\.0:8090: the port is taken;/m;
    const listens = /^listening on http:\/\/0\.0\.0\.0:8090$/m;
    await expect
      .poll(() => output.stdout() + output.stderr())
      .toMatch(new RegExp(`${listens.source}|${isTaken.source}`, 'm'));
    const stores = readdirSync(home, { recursive: true, encoding: 'utf8' });
    expect(stores.filter((name) => name.endsWith('store.mdb'))).toHaveLength(1);
  });
});
