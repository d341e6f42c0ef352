// What child processes get from the service: no descriptors but those that they were given, and no secrets of its environment.

import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  act,
  create,
  eventually,
  invoke,
  lineFrom,
  remove,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { startCli } from '../harness/cli.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const KINDS = fileURLToPath(new URL('../fixtures/children', import.meta.url));
const SECRET = 'correct-horse-battery-staple';
const PASSWORD = 'password-of-the-cluster';
const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const CLOEXEC = 0o2000000;
/** Of a shell that waits for it. */
const LIST = 'ls -l /proc/$$/fd; :';

/** What another user's program does with a descriptor of the store that it was given. */
const attack = (what: string): string[] => [
  ...NOBODY,
  process.execPath,
  '-e',
  `const fs = require('node:fs');
   const isStore = (fd) => { try { return /\\.mdb$/.test(fs.readlinkSync('/proc/self/fd/' + fd)); } catch { return false; } };
   const stores = fs.readdirSync('/proc/self/fd').filter(isStore).map(Number);
   ${what}
   setInterval(() => {}, 1000);`,
];
const READS = `const bytes = Buffer.alloc(1 << 20);
  const hasSecret = stores.some((fd) => bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0)).includes('${SECRET}'));
  console.log(JSON.stringify({ uid: process.getuid(), stores: stores.length, hasSecret }));`;
const WRITES = `for (const fd of stores) fs.writeSync(fd, Buffer.alloc(1 << 20, 0xa5), 0, 1 << 20, 0);
  console.log(JSON.stringify({ uid: process.getuid(), stores: stores.length }));`;

/** The fakes of helper commands write down what they were given, and run the real ones. */
const home = makeDir();
const helpers = path.join(home, 'bin');
const seenBy = (name: string): string => path.join(home, `${name}.seen`);
function fakeHelper(name: string): void {
  const script = `#!/bin/sh
(ls -l /proc/$$/fd >> '${seenBy(name)}')
PATH=\${PATH#*:}
command -v ${name} > /dev/null && ${name} "$@"
exit 0
`;
  writeFileSync(path.join(helpers, name), script, { mode: 0o755 });
}

let service: Service;
let stream: SseStream;

beforeAll(async () => {
  mkdirSync(helpers);
  for (const name of ['systemd-notify', 'prlimit']) fakeHelper(name);
  service = await startService({
    config: {
      kinds: [KINDS],
      programs: {
        lists: { command: ['sh', '-c', `${LIST}; env; echo up; read line`], protocol: 'raw' },
        reader: { command: attack(READS), protocol: 'raw', cwd: '/' },
        writer: { command: attack(WRITES), protocol: 'raw', cwd: '/' },
      },
      hosts: { count: 1, env: ['TOKEN_OF_BOTS', 'GAME_*', 'N*'] },
      restart: { policy: 'never' },
    },
    env: {
      PATH: `${helpers}:${process.env['PATH']}`,
      NOTIFY_SOCKET: path.join(home, 'notify'),
      TOKEN_OF_BOTS: 'for-bots',
      GAME_ID: '7',
      NPM_TOKEN: 'matches',
      NODE_OPTIONS: '--no-deprecation',
      OTHER_TOKEN: PASSWORD,
      LC_TIME: 'C',
      DROVER_AUTH_SIGN_IN_DAYS: '29',
      HTTPS_PROXY: 'http://proxy.example:3128',
    },
  });
  stream = await watch(service);
  await created({ id: 'secret', kind: 'keeps-secret', config: { password: SECRET } });
  await statusFrom(stream, 0, 'secret', 'online');
  for (const isolation of ['thread', 'process']) {
    await created({ id: isolation, kind: 'parent', isolation });
    await statusFrom(stream, 0, isolation, 'online');
  }
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
  removeDir(home);
});

async function created(bot: object): Promise<void> {
  const { status, text } = await create(service, bot);
  expect(status, text).toBe(201);
}

/** By number, what `ls -l` of a directory of descriptors has shown. */
function listed(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/ (\d+) -> (.+)$/gm), ([, fd, target]) => [fd, target]),
  );
}

function variables(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/^([A-Za-z_]\w*)=(.*)$/gm), ([, name, value]) => [name, value]),
  );
}

/** By number, what a process has open now. */
function openIn(pid: number): Map<number, string> {
  const dir = `/proc/${pid}/fd`;
  const open = readdirSync(dir).flatMap((fd): [number, string][] => {
    try {
      return [[Number(fd), readlinkSync(`${dir}/${fd}`)]];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
  return new Map(open);
}

function expectBotEnvironment(env: Record<string, string>): void {
  expect(env).toMatchObject({
    PATH: expect.stringContaining(helpers),
    LC_TIME: 'C',
    HTTPS_PROXY: 'http://proxy.example:3128',
    TOKEN_OF_BOTS: 'for-bots',
    GAME_ID: '7',
    NPM_TOKEN: 'matches',
  });
  const kept = Object.keys(env).filter((name) =>
    /^(DROVER_(?!BOT_ID|KIND|START)|NOTIFY|NODE_OPTIONS|OTHER)/.test(name),
  );
  expect(kept).toEqual([]);
  expect(JSON.stringify(env)).not.toContain(PASSWORD);
}

async function onLinux(context: Parameters<typeof skipWithout>[0]): Promise<void> {
  skipWithout(context, process.platform === 'linux', 'Linux with /proc');
}

describe.each(['thread', 'process'])('a bot in a %s', (isolation) => {
  it.each([
    ['spawn', ['0', '1', '2']],
    ['exec', ['0', '1', '2']],
    ['execFile', ['0', '1', '2']],
    ['fork', ['0', '1', '2', '3']],
    ['spawnSync', ['0', '1', '2']],
    ['execSync', ['0', '1', '2']],
    ['execFileSync', ['0', '1', '2']],
    ['worker', ['0', '1', '2']],
  ])('gives a child of %s its own descriptors and variables', async (way, expected) => {
    const { json, text } = await invoke(service, isolation, 'start', { way });
    const { result } = json as { result: string };
    expect(Object.keys(listed(result)), text).toEqual(expected);
    expectBotEnvironment(variables(result));
  });

  it('has the variables of bots itself', async () => {
    const { json } = await invoke(service, isolation, 'env');
    expectBotEnvironment((json as { result: Record<string, string> }).result);
  });

  it('gives a program its standard streams and the variables of bots', async () => {
    const id = `program-${isolation}`;
    const from = stream.frames.length;
    await created({ id, kind: 'lists', isolation });
    const lines: string[] = [];
    await lineFrom(stream, from, ({ session_id, message }) => {
      if (session_id === id) lines.push(message);
      return session_id === id && message === 'up';
    });
    const text = lines.join('\n');
    expect(Object.keys(listed(text)), text).toEqual(['0', '1', '2']);
    expectBotEnvironment(variables(text));
    await remove(service, id);
  });
});

it('a bot host process has its pipes, its note, what it has opened, and nothing of the service', async () => {
  const { json } = await invoke(service, 'process', 'pids');
  const { pid } = (json as { result: { pid: number } }).result;
  const own = openIn(pid);
  const given = [...own].filter(([fd]) => fd <= 6);
  expect(given.map(([fd]) => fd)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const services = new Set(openIn(service.child.pid as number).values());
  const shared = [...own].filter(([fd, target]) => {
    // Neither says which one it is.
    if (/^(anon_inode:|\/dev\/null$)/.test(target)) return false;
    return fd > 6 && services.has(target);
  });
  expect(shared).toEqual([]);
  const env = readFileSync(`/proc/${pid}/environ`, 'latin1');
  expect(env).not.toMatch(/DROVER_|NOTIFY_SOCKET|OTHER_TOKEN/);
  expect(env).toContain('TOKEN_OF_BOTS=for-bots');
});

it('everything that the service and a bot host process have open closes when a child starts', async () => {
  const { json } = await invoke(service, 'process', 'pids');
  const { pid } = (json as { result: { pid: number } }).result;
  for (const one of [service.child.pid as number, pid]) {
    const stays = [...openIn(one)].filter(([fd]) => {
      if (fd <= 2) return false;
      try {
        const info = readFileSync(`/proc/${one}/fdinfo/${fd}`, 'latin1');
        return (Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0', 8) & CLOEXEC) === 0;
      } catch {
        return false;
      }
    });
    expect(stays).toEqual([]);
  }
});

it('helpers of the service and of bot hosts have their standard streams', async () => {
  for (const name of ['systemd-notify', 'prlimit']) {
    const own = path.join(helpers, name);
    await eventually(() => {
      try {
        return readFileSync(seenBy(name), 'utf8').endsWith('\n');
      } catch {
        return false;
      }
    }, `${name} was not started`);
    const seen = Object.entries(listed(readFileSync(seenBy(name), 'utf8')));
    // The shell that reads the script has it open.
    const given = seen.filter(([, target]) => target !== own).map(([fd]) => fd);
    expect([...new Set(given)]).toEqual(['0', '1', '2']);
  }
});

it('the keeper of programs has its standard streams', async () => {
  const pid = service.child.pid as number;
  const tasks = readdirSync(`/proc/${pid}/task`);
  const own = tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean),
  );
  const keepers = own.filter((child) =>
    readFileSync(`/proc/${child}/cmdline`, 'latin1').includes("trap '' HUP"),
  );
  expect(keepers.length).toBe(1);
  expect([...openIn(Number(keepers[0])).keys()]).toEqual([0, 1, 2]);
});

it('the command of drover record has its standard streams', async () => {
  const env = { DROVER_URL: service.url, DROVER_TOKEN: await service.token() };
  const file = path.join(home, 'run.ndjson');
  const run = startCli(home, ['record', file, '--', 'sh', '-c', LIST], { env });
  const { code, stdout, stderr } = await run.ended;
  expect(code, stderr).toBe(0);
  // Descriptors of who has started it are its user's, as for any command.
  const users = new Set(openIn(process.pid).values());
  const given = Object.entries(listed(stdout)).filter(
    ([fd, target]) => Number(fd) <= 2 || !users.has(target),
  );
  expect(given.map(([fd]) => fd)).toEqual(['0', '1', '2']);
});

describe('a program of another user', () => {
  const started = async (kind: string): Promise<Record<string, unknown>> => {
    const from = stream.frames.length;
    await created({ id: kind, kind, isolation: 'thread' });
    const { message } = await lineFrom(
      stream,
      from,
      ({ session_id, message }) => session_id === kind && /^\{|ended|exited|cannot/.test(message),
    );
    return JSON.parse(message) as Record<string, unknown>;
  };

  it('cannot read the secret of another bot', async (context) => {
    await onLinux(context);
    skipWithout(context, process.getuid?.() === 0, 'root, to become another user');
    requireTool('setpriv', 'util-linux');
    expect(await started('reader')).toEqual({ uid: 65_534, stores: 0, hasSecret: false });
  });

  it('cannot end the service, nor take a bot that was acknowledged', async (context) => {
    await onLinux(context);
    skipWithout(context, process.getuid?.() === 0, 'root, to become another user');
    expect(await started('writer')).toEqual({ uid: 65_534, stores: 0 });
    await created({ id: 'late', kind: 'parent' });
    await statusFrom(stream, 0, 'late', 'online');
    await act(service, 'late', 'stop');
    expect((await snapshot(service, 'late')).status).toBe('stopped');
    expect(service.child.exitCode).toBeNull();
  });
});
