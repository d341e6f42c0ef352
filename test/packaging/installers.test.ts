// The package with each of the programs that install packages: it installs without scripts and warnings, is small, and runs.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadEngine } from '../../src/front/engine/load.js';
import { NPM, NPM_INSTALL, ROOT } from '../harness/docs.js';
import { collect } from '../harness/service.js';

const run = promisify(execFile);
const MAX_MB = 120;

let dir: string;
let tarball: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-installers-'));
  const given = Object.entries(process.env).filter(([name]) => !name.startsWith('DROVER_'));
  const npm = { ...Object.fromEntries(given), ...NPM };
  // Already built: the package contains the build that the other tests run.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', dir];
  const { stdout } = await run('npm', pack, { cwd: ROOT, env: npm });
  tarball = path.join(dir, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
  const tools = path.join(dir, 'tools');
  cpSync(path.join(ROOT, 'test/packaging/installers'), tools, { recursive: true });
  await run('npm', NPM_INSTALL, { cwd: tools, env: npm });
  const registry = (await run('npm', ['config', 'get', 'registry'], { env: npm })).stdout.trim();
  // Nothing from another installation, and nothing left behind.
  env = {
    ...npm,
    npm_config_registry: registry,
    YARN_NPM_REGISTRY_SERVER: registry.replace(/\/$/, ''),
    YARN_CACHE_FOLDER: path.join(dir, 'yarn-cache'),
    YARN_GLOBAL_FOLDER: path.join(dir, 'yarn-global'),
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_SCRIPTS: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
  };
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Size of a folder's files in MB; a file with two names counts once. */
function megabytes(folder: string): number {
  const seen = new Map<number, number>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const { ino, size } = lstatSync(path.join(folder, name));
    seen.set(ino, size);
  }
  return [...seen.values()].reduce((sum, size) => sum + size, 0) / 1e6;
}

const tool = (file: string): string[] => [
  process.execPath,
  path.join(dir, 'tools/node_modules', file),
];
const YARN_4 = '@yarnpkg/cli-dist/bin/yarn.js';

it.each([
  ['npm', () => ['npm'], ['install', '--ignore-scripts'], ['exec', '--no', '--', 'drover']],
  [
    'pnpm',
    () => tool('pnpm/bin/pnpm.cjs'),
    ['add', '--ignore-scripts', '--store-dir', '../pnpm-store'],
    ['exec', 'drover'],
  ],
  [
    'yarn 1',
    () => tool('yarn/bin/yarn.js'),
    ['add', '--ignore-scripts', '--non-interactive'],
    ['--silent', 'drover'],
  ],
  ['yarn 4', () => tool(YARN_4), ['add'], ['drover'], 'node-modules'],
  ["yarn 4 with Plug'n'Play", () => tool(YARN_4), ['add'], ['drover'], 'pnp'],
] as [string, () => string[], string[], string[], string?][])(
  '%s installs it without a script, and runs it',
  async (name, program, install, call, linker) => {
    // That of one is enough: it is 60 MB to load.
    const adds = name === 'npm';
    const own = path.join(dir, name.replaceAll(/\W/g, '-'));
    mkdirSync(own);
    writeFileSync(path.join(own, 'package.json'), '{"name":"mine","private":true}');
    // Its presence ends the search for a project in the folders above.
    if (linker) writeFileSync(path.join(own, 'yarn.lock'), '');
    const mine = linker ? { ...env, YARN_NODE_LINKER: linker } : env;
    const [command = '', ...args] = program();
    const drover = async (...words: string[]): Promise<string> => {
      const { stdout } = await run(command, [...args, ...call, ...words], { cwd: own, env: mine });
      return stdout;
    };
    const add = (what: string) =>
      run(command, [...args, ...install, what], { cwd: own, env: mine }).catch(
        ({ stdout, stderr }) => expect.fail(`${stdout}${stderr}`),
      );
    const { stdout: said, stderr: warned } = await add(tarball);
    expect(`${said}${warned}`).not.toMatch(/EBADENGINE|incompatible|unmet|deprecated/i);
    expect(await drover('prune')).toContain('uWebSockets.js is not installed');
    if (linker !== 'pnp') expect(megabytes(path.join(own, 'node_modules'))).toBeLessThan(MAX_MB);

    const flags = ['--port', '0', '--host', '127.0.0.1', '--data-dir', path.join(own, 'data')];
    const child = spawn(command, [...args, ...call, 'start', ...flags], {
      cwd: own,
      env: mine,
      detached: true,
    });
    const output = collect(child);
    const closed = once(child, 'close');
    try {
      await expect.poll(output.stdout, { message: output.stderr() }).toMatch(/^listening on /m);
      await expect
        .poll(output.stdout)
        .toContain('engine: node:http, uWebSockets.js is not installed');
      const [, url = ''] = /^listening on (\S+)$/m.exec(output.stdout()) ?? [];
      const [, pin = ''] = /^PIN=(\d{6}) /.exec(output.stdout()) ?? [];
      // A token is stored in LMDB; demo bots pass through msgpackr.
      const body = JSON.stringify({ pin });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/auth/pin`, { method: 'POST', headers, body });
      const { token } = (await answer.json()) as { token: string };
      const authorization = `Bearer ${token}`;
      const get = async (route: string): Promise<string> =>
        (await fetch(url + route, { headers: { authorization } })).text();
      await expect.poll(() => get('/api/bots')).toContain('"in_world"');
      // The journal compresses its blocks with lmdb.
      await expect.poll(() => get('/api/events?event=session')).toContain('"in_world"');
    } finally {
      // The whole group: the program that runs drover may not forward signals.
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
      await closed;
    }
    // Who adds uWebSockets.js has it.
    if (!adds) return;
    await add('uWebSockets.js@npm:uwebsockets@3.0.6');
    expect(await drover('prune')).toMatch(
      /^removed [1-9]\d* binaries of uWebSockets\.js \(2\d\d MB\)$/m,
    );
    expect(await drover('prune')).toContain('removed 0 binaries');
    const findings = JSON.parse(await drover('doctor', '--json', '--port', '0')) as {
      check: string;
      message: string;
    }[];
    // The binary for this Node is still there, if there was one.
    const { line } = await loadEngine('auto', 1);
    expect(findings.find(({ check }) => check === 'engine')?.message).toBe(
      line.replace(/^engine: /, ''),
    );
  },
  240_000,
);
