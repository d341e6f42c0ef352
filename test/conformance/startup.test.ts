// Issue 2 "Bad input" and "Configuration": where a service listens, and starts that fail at that.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { call, tryPin } from '../harness/api.js';
import { frontFlags, makeDir, removeDir } from '../harness/service.js';
import { expectRefusal, type FailingStart, failingIn, startOwn } from '../harness/starts.js';

let base: string;
let failing: FailingStart;
beforeEach((context) => {
  const dir = makeDir();
  base = dir;
  failing = failingIn(dir);
  context.onTestFinished(() => removeDir(dir));
});

describe('a start that cannot work', () => {
  it('Bad input: a port that another program has taken; no pin.txt is left, not even that of an earlier process', async () => {
    const dataDir = path.join(base, 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(path.join(dataDir, 'pin.txt'), '000000\n');
    const other = net.createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    expectRefusal(
      await failing(['--port', String(port)]),
      new RegExp(`\\b${port}: the port is taken;`),
    );
    expect(readdirSync(dataDir)).toContain('store.mdb');
    expect(readdirSync(dataDir)).not.toContain('pin.txt');
  });

  it('Bad input: a port that another Drover has taken, with one front and with two; it has it from its configuration', async () => {
    const first = await startOwn({
      host: null,
      port: null,
      config: { http: { host: '127.0.0.1', port: 0 } },
      args: frontFlags(2),
    });
    // Configuration: http.host and http.port of the file are used.
    expect(first.port).not.toBe(8090);
    expect(first.stdout()).toContain(`listening on http://127.0.0.1:${first.port}\n`);
    expect((await call(first, 'GET', '/api-info')).json).toMatchObject({ port: first.port });
    for (const fronts of [1, 2]) {
      const ended = await failing(['--port', String(first.port), ...frontFlags(fronts)]);
      expectRefusal(ended, new RegExp(`\\b${first.port}\\b`));
      expect((await tryPin(first, first.pin)).status).toBe(200);
    }
  });

  it('Bad input: an address that is not of this machine', async () => {
    expectRefusal(
      await failing(['--host', '192.0.2.1']),
      /192\.0\.2\.1:0: the address is not of this machine;/,
    );
  });

  it('Bad input: a host name that cannot be resolved', async () => {
    expectRefusal(
      await failing(['--host', 'no-such-host.invalid']),
      /no-such-host\.invalid:0: the host name cannot be resolved;/,
    );
  });
});
