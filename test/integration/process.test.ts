// The process of the service from outside: signals that no supervisor sends, which end it in order or not at all and open nothing,
// and the address that it prints.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CLI, runCli, startCli } from '../harness/cli.js';
import { collect, exchange, launch, makeDir, removeDir } from '../harness/service.js';

const HAS_PYTHON = process.platform !== 'win32';

let dir: string;
beforeEach((context) => {
  const made = makeDir();
  dir = made;
  context.onTestFinished(() => removeDir(made));
});

const serviceArgs = (host: string) => [
  ...['--host', host, '--port', '0'],
  ...['--data-dir', path.join(dir, 'data')],
];

interface Started {
  child: ChildProcess;
  stderr(): string;
  url: string;
  pin: string;
  /** Resolves when standard error has this. */
  says(text: string): Promise<void>;
  /** Resolves when standard output has this. */
  prints(text: RegExp): Promise<void>;
}

async function start(host = '127.0.0.1'): Promise<Started> {
  const child = launch(serviceArgs(host));
  const { stdout, stderr } = collect(child);
  const until = (text: () => string, what: RegExp | string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (text().search(what) >= 0) resolve();
      };
      look();
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', look);
    });
  await until(stdout, /^engine: .*\n/m);
  const [, url = ''] = /listening on (\S+)/.exec(stdout()) ?? [];
  const [, pin = ''] = /PIN=(\d+)/.exec(stdout()) ?? [];
  return {
    child,
    stderr,
    url,
    pin,
    says: (text) => until(stderr, text),
    prints: (text) => until(stdout, text),
  };
}

it('prints an address that drover login takes, and listens on one in brackets', async () => {
  const { child, url, pin } = await start('[::1]');
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  const { code, stderr } = await runCli(dir, ['login', '--url', url, '--pin', pin]);
  expect(code, stderr).toBe(0);
  child.kill('SIGTERM');
  expect(await end(child)).toEqual({ code: 0, signal: null });
});

async function end(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return { code: child.exitCode, signal: child.signalCode };
}

describe('the service', () => {
  it('keeps running after signals that mean nothing to it, says so, and opens no inspector', async () => {
    const { child, stderr, url, says, prints } = await start();
    const words = {
      SIGUSR1: 'SIGUSR1 has no meaning here and is ignored',
      SIGUSR2: 'SIGUSR2 has no meaning here and is ignored',
      SIGALRM: 'SIGALRM has no meaning here and is ignored',
    } as const;
    for (const [signal, line] of Object.entries(words)) {
      child.kill(signal as NodeJS.Signals);
      await says(`drover: warning: ${line}\n`);
    }
    child.kill('SIGHUP');
    await prints(/^reloaded: no key of the configuration has changed$/m);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await end(child)).toEqual({ code: 0, signal: null });
    expect(stderr()).toBe(
      Object.values(words)
        .map((line) => `drover: warning: ${line}\n`)
        .join(''),
    );
  });

  it('ends in order on SIGQUIT', async () => {
    const { child, stderr } = await start();
    child.kill('SIGQUIT');
    expect(await end(child)).toEqual({ code: 0, signal: null });
    expect(stderr()).toBe('');
  });

  it.skipIf(!HAS_PYTHON)(
    'ends in order when its terminal closes, and not when it is signalled there',
    async () => {
      // The parent of a terminal: it signals the service, then closes the terminal and prints how the service ended.
      const script = `
import os, pty, re, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
def read_until(what):
    seen = b''
    while not re.search(what, seen):
        seen += os.read(terminal, 65536)
read_until(b'engine: ')
os.kill(pid, signal.SIGHUP)
read_until(b'reloaded')
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
      const args = ['-c', script, process.execPath, CLI, ...serviceArgs('127.0.0.1')];
      const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] });
      const { stdout, stderr } = collect(child);
      await end(child);
      // By its own SIGKILL, when all was done: at its end Node aborts without a terminal.
      expect([stdout(), stderr()]).toEqual(['-9\n', '']);
      expect(readFileSync(path.join(dir, 'data/run.json'), 'utf8')).toContain('"is_clean":true');
    },
  );
});

it.each(['SIGHUP', 'SIGQUIT'] as const)(
  'drover record writes the end of the recording on %s',
  async (signal) => {
    const { child, url, pin } = await start();
    const token = await exchange(url, pin);
    const file = path.join(dir, 'run.ndjson');
    const env = { DROVER_URL: url, DROVER_TOKEN: token };
    const recording = startCli(dir, ['record', file], { env });
    await expect
      .poll(() => existsSync(file) && readFileSync(file, 'utf8').includes('"session"'))
      .toBe(true);
    recording.child.kill(signal);
    expect((await recording.ended).code).toBe(0);
    expect(readFileSync(file, 'utf8').trim().split('\n').at(-1)).toContain('"event":"end"');
    child.kill('SIGTERM');
    expect(await end(child)).toEqual({ code: 0, signal: null });
  },
);
