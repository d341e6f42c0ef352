// One service per data directory: a second is refused, and no lock outlives its process.

import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { tryPin } from '../harness/api.js';
import { skipWithout } from '../harness/needs.js';
import {
  collect,
  type Ended,
  launch,
  makeDir,
  removeDir,
  runToExit,
  type Service,
  startService,
} from '../harness/service.js';
import { mountSmallDisk } from '../harness/small-disk.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

let base: string;
let dataDir: string;
beforeEach((context) => {
  base = makeDir();
  const dir = base;
  dataDir = path.join(base, 'data');
  context.onTestFinished(() => removeDir(dir));
});

const argsFor = (dir: string): string[] => [
  ...['--host', '127.0.0.1', '--port', '0', '--no-demo', '--data-dir', dir],
];

function expectRefused(ended: Ended, dir: string, holder: Service): void {
  expect(ended).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `drover: the data directory ${dir} is in use by process ${holder.child.pid}; ` +
      'stop that one, or give another directory with --data-dir\n',
  });
}

it('a second service on the directory is refused with one line, and the first is not disturbed', async () => {
  const first = await startService({ dataDir });
  const link = path.join(base, 'link');
  symlinkSync(dataDir, link);
  // By either path to the directory.
  for (const dir of [dataDir, link]) {
    expectRefused(await runToExit(argsFor(dir)), dir, first);
    expect(readFileSync(first.pinPath, 'utf8').trimEnd()).toBe(first.pin);
  }
  expect((await tryPin(first, first.pin)).status).toBe(200);
  expect(await first.stop()).toBe(0);
  const next = await startService({ dataDir });
  expect(await next.stop()).toBe(0);
});

it('a second service in another network namespace, as in a second container, is refused too', async (context) => {
  const isAllowed = spawnSync('unshare', ['--net', 'true']).status === 0;
  skipWithout(context, isAllowed, 'the right to create a network namespace');
  const first = await startService({ dataDir });
  const started = promisify(execFile)(
    'unshare',
    ['--net', process.execPath, CLI, ...argsFor(dataDir)],
    // Only ends a service that should not have started.
    { timeout: 30_000 },
  );
  await expect(started).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`is in use by process ${first.child.pid};`),
  });
  expect(await first.stop()).toBe(0);
});

it('another user cannot open a connection to the service but on its port', async (context) => {
  skipWithout(context, process.getuid?.() === 0, 'the right to act as another user (root)');
  const first = await startService({ dataDir });
  const script = `
    const { connect } = require('node:net');
    const tries = JSON.parse(process.argv[1]).map((name) => new Promise((resolve) => {
      connect(name).on('connect', () => resolve(name)).on('error', () => resolve(null));
    }));
    Promise.all(tries).then((reached) => {
      console.log(JSON.stringify(reached.filter((name) => name !== null)));
      process.exit();
    });`;
  const sockets = JSON.stringify(unixSockets(first));
  expect(sockets).not.toBe('[]');
  const nobody = { uid: 65534, gid: 65534 };
  const reached = await promisify(execFile)(process.execPath, ['-e', script, sockets], nobody);
  expect(JSON.parse(reached.stdout)).toEqual([]);
  expect(await first.stop()).toBe(0);
});

/** The addresses of the Unix sockets on which a service listens. */
function unixSockets({ child, dataDir }: Service): string[] {
  const fds = `/proc/${child.pid}/fd`;
  const open = readdirSync(fds).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${fds}/${fd}`))?.[1] ?? [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1);
  const abstract = lines.flatMap((line) => {
    const [, , , , , , inode = '', address = ''] = line.split(/\s+/);
    return open.includes(inode) && address.startsWith('@') ? address.replaceAll('@', '\0') : [];
  });
  const files = readdirSync(dataDir).map((name) => path.join(dataDir, name));
  return [...abstract, ...files.filter((file) => statSync(file).isSocket())];
}

it('a service that is shutting down keeps the directory until it has exited', async () => {
  const first = await startService({ dataDir, demo: true });
  first.child.kill('SIGTERM');
  // The first may exit before the second looks; they must not have the directory together.
  const second = launch(argsFor(dataDir));
  const output = collect(second);
  const outcome = await Promise.race([
    once(second, 'close').then(() => 'refused'),
    once(second.stdout as NodeJS.ReadableStream, 'data').then(() => 'started'),
  ]);
  if (outcome === 'refused') expect(output.stderr()).toMatch(/is in use by process \d+;/);
  else await expect.poll(() => first.child.exitCode).toBe(0);
  expect(await first.stop()).toBe(0);
});

it('after kill -9 the directory is free at once, every time', async () => {
  let killed: Service | undefined;
  for (let n = 0; n < 4; n++) {
    // The one before may still be exiting.
    const service = await startService({ dataDir });
    await killed?.kill();
    expect(readFileSync(service.pinPath, 'utf8').trimEnd()).toBe(service.pin);
    expect((await tryPin(service, service.pin)).status).toBe(200);
    service.child.kill('SIGKILL');
    killed = service;
  }
  await killed?.kill();
});

it('when several start at once, exactly one gets the directory', async () => {
  const children = Array.from({ length: 4 }, () => launch(argsFor(dataDir)));
  const outputs = children.map(collect);
  const codes = new Map<number, number | null>();
  for (const [n, child] of children.entries()) {
    child.once('close', (code) => codes.set(n, code));
  }
  await expect
    .poll(() => codes.size === 3 && outputs.some((output) => output.stdout().includes('PIN=')), {
      timeout: 30_000,
    })
    .toBe(true);
  expect([...codes.values()]).toEqual([1, 1, 1]);
  const winner = children.findIndex((_, n) => !codes.has(n));
  const pin = /^PIN=(\d{6}) at/.exec(outputs[winner]?.stdout() ?? '')?.[1];
  expect(readFileSync(path.join(dataDir, 'pin.txt'), 'utf8').trimEnd()).toBe(pin);
  for (const n of codes.keys()) {
    expect(outputs[n]?.stderr()).toMatch(/^drover: the data directory .+ is in use by .+\n$/);
    expect(outputs[n]?.stdout()).toBe('');
  }
  children[winner]?.kill('SIGTERM');
  await expect.poll(() => codes.get(winner)).toBe(0);
});

it('a full disk is reported in one line, even when the store must create its lock file', async (context) => {
  const disk = mountSmallDisk(context, dataDir, 2);
  const config = { journal: { enabled: false } };
  const first = await startService({ dataDir, config });
  const token = await first.token();
  expect(await first.stop()).toBe(0);
  rmSync(path.join(dataDir, 'store.mdb-lock'));
  disk.fill();
  const refused = await runToExit(argsFor(dataDir));
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^drover: the store .*store\.mdb cannot be opened: ENOSPC.*\n$/);
  disk.empty();
  const next = await startService({ dataDir, config });
  const known = await fetch(`${next.url}/api/bots`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(known.status).toBe(200);
  expect(await next.stop()).toBe(0);
});
