// The service under systemd: readiness reaches a real datagram socket, and systemd accepts the unit.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collect, makeDir, removeDir, startService } from '../harness/service.js';

const run = promisify(execFile);
const UNIT = fileURLToPath(new URL('../../docs/systemd/drover.service', import.meta.url));

/** Prints what a datagram socket receives, one line per variable. Node has no such sockets. Debian always has perl. */
const LISTENER = `
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
$| = 1;
print "bound\\n";
my $message;
print "$message\\n" while defined $socket->recv($message, 4096);
`;

let dir: string;
beforeEach(() => {
  dir = makeDir();
});
afterEach(() => removeDir(dir));

describe('Type=notify', () => {
  it('notifies systemd when the service is ready and when it stops', async () => {
    const socket = path.join(dir, 'notify');
    const listener = spawn('perl', ['-e', LISTENER, socket]);
    const heard = collect(listener);
    const closed = once(listener, 'close');
    try {
      await expect.poll(heard.stdout, { message: heard.stderr() }).toContain('bound\n');
      const service = await startService({ env: { NOTIFY_SOCKET: socket } });
      await expect.poll(heard.stdout).toContain('READY=1\n');
      expect(heard.stdout()).toContain(`STATUS=listening on port ${service.port}\n`);
      expect(heard.stdout()).not.toContain('STOPPING');
      expect((await fetch(`${service.url}/health`)).status).toBe(200);
      expect(await service.stop()).toBe(0);
      await expect.poll(heard.stdout).toContain('STOPPING=1\n');
      expect(service.stderr()).toBe('');
    } finally {
      listener.kill();
      await closed;
    }
  });

  it('sends nothing without NOTIFY_SOCKET, and logs one line for a missing socket', async () => {
    const quiet = await startService({ env: { NOTIFY_SOCKET: null } });
    expect(await quiet.stop()).toBe(0);
    expect(quiet.stderr()).toBe('');
    const service = await startService({ env: { NOTIFY_SOCKET: path.join(dir, 'nobody') } });
    await expect
      .poll(service.stderr)
      .toMatch(/^drover: warning: systemd is not told that it is ready: [^\n]+\n$/);
    expect((await fetch(`${service.url}/health`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('logs one line on a machine without systemd-notify', async () => {
    const env = { NOTIFY_SOCKET: path.join(dir, 'nobody'), PATH: dir };
    const service = await startService({ env });
    await expect.poll(service.stderr).toMatch(/ready: [^\n]*ENOENT\n$/);
    expect(await service.stop()).toBe(0);
  });
});

describe('docs/systemd/drover.service', () => {
  it('is valid for systemd, every line of it', async () => {
    // Node is in another place here, and systemd checks that the program exists.
    const text = readFileSync(UNIT, 'utf8');
    expect(text).toContain('\nExecStart=/usr/bin/node ');
    const unit = path.join(dir, 'drover.service');
    writeFileSync(unit, text.replace('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', unit]);
    const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('drover'));
    expect(about).toEqual([]);
  });

  it('restricts the service: systemd rates its exposure as OK', async () => {
    const { stdout } = await run('systemd-analyze', [
      'security',
      '--offline=true',
      '--no-pager',
      '--threshold=20',
      UNIT,
    ]);
    const [, exposure = '10'] =
      /Overall exposure level for drover\.service: ([\d.]+)/.exec(stdout) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(2);
  });
});
