// Issue 2 "Bad input" and "Configuration": where a service listens, and starts that fail at that.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectionGate } from '../../src/front/engine/engine.js';
import { loadEngine } from '../../src/front/engine/load.js';
import { Listener } from '../../src/front/requests/listener.js';
import type { Config } from '../../src/shared/contract/config.js';
import { partial } from '../harness/partial.js';
import { collect, launch, makeDir, removeDir, TEST_ENGINE } from '../harness/service.js';
import { expectRefusal, type FailingStart, failingIn } from '../harness/starts.js';

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
      new RegExp(`\\b127\\.0\\.0\\.1:${port}: the port is taken;`),
    );
    expect(readdirSync(dataDir)).toContain('store.mdb');
    expect(readdirSync(dataDir)).not.toContain('pin.txt');
  });

  // Only the front's part: the rest of the start is the same as with a port that is taken.
  it.each([
    ['an address that is not of this machine', '192.0.2.1', 'the address is not of this machine'],
    [
      'a host name that cannot be resolved',
      'no-such-host.invalid',
      'the host name cannot be resolved',
    ],
  ])('Bad input: %s', async (_, host, reason) => {
    const { kind } = await loadEngine(TEST_ENGINE as Config['engine'], 1);
    const connections = { entered: () => undefined, left: () => {}, hasCrowd: false };
    const engine = kind.create(() => {}, new Map(), {
      responded: () => {},
      tls: null,
      ciphers: [],
      connections: partial<ConnectionGate>(connections),
      maxUrlBytes: 1000,
      maxHeaderBytes: 8192,
      headerTimeoutMs: 1000,
      bodyTimeoutMs: 1000,
      idleTimeoutMs: 1000,
    });
    const listener = new Listener(engine, host);
    onTestFinished(() => listener.close());
    await expect(listener.listen({ port: 0, shared: false, probe: true })).rejects.toThrow(reason);
  });
});

it.runIf(process.platform === 'linux')(
  '§1 without options it listens on TCP port 8090 of 0.0.0.0, and its data directory is below the home directory',
  async () => {
    const env = { XDG_DATA_HOME: null, XDG_STATE_HOME: null, HOME: base };
    const output = collect(launch(['--no-demo'], env));
    // Another program of this machine may have the port: then the start fails, and names it.
    const isTaken = /^drover: [^\n]* 0\.0\.0\.0:8090: the port is taken;/m;
    const listens = /^listening on http:\/\/0\.0\.0\.0:8090$/m;
    await expect
      .poll(() => output.stdout() + output.stderr())
      .toMatch(new RegExp(`${listens.source}|${isTaken.source}`, 'm'));
    const stores = readdirSync(base, { recursive: true, encoding: 'utf8' });
    expect(stores.filter((name) => name.endsWith('store.mdb'))).toHaveLength(1);
  },
);
