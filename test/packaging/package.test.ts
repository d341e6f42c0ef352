// The package that npm builds installs and runs in an empty directory, without the checkout.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { docBlock, NPM, Reader, ROOT } from '../harness/docs.js';
import { walkThroughPackage } from '../harness/first-bot.js';
import { freePort } from '../harness/ports.js';
import { collect, exchange } from '../harness/service.js';

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};

interface Packed {
  filename: string;
  files: { path: string; size: number }[];
}

let reader: Reader;
let dir: string;
let env: NodeJS.ProcessEnv;
let packed: Packed;
beforeAll(async () => {
  reader = new Reader(await freePort());
  ({ dir } = reader);
  // The variables that name a service must not reach commands that set it themselves.
  const given = Object.entries(reader.env).filter(([name]) => !name.startsWith('DROVER_'));
  env = Object.fromEntries(given);
  // The default does not fit every machine, which is a warning.
  env['DROVER_HTTP_MAX_CONNECTIONS'] = '1000';
  // Already built: the package contains the build that the other tests run.
  await run('npm', ['run', 'sbom'], { cwd: ROOT });
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', dir];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  [packed] = JSON.parse(stdout) as [Packed];
  await reader.run(
    docBlock('docs/GETTING-STARTED.md', 'npm install --ignore-scripts ./drover-'),
    NPM,
  );
});
afterAll(() => reader.remove());

it('docs/GETTING-STARTED.md, "Your first bot": written, started, watched, commanded and checked', async () => {
  expect([0, null]).toContain(await walkThroughPackage(reader));
});

it('docs/OPERATIONS.md: the package in its own directory', async () => {
  const own = path.join(reader.home, 'opt');
  const data = path.join(reader.home, 'var');
  const block = docBlock('docs/OPERATIONS.md', 'npm install --ignore-scripts ./drover-')
    .replaceAll('/opt/drover', own)
    .replaceAll('/var/lib/drover', data);
  mkdirSync(own);
  copyFileSync(path.join(dir, packed.filename), path.join(own, packed.filename));
  const [, install = '', start = ''] = /^(.*)^(npx drover start .*)$/ms.exec(block) ?? [];
  await reader.run(install, NPM);
  const service = reader.type(`cd ${own}; ${start}`);
  await service.until(/^listening on /m);
  expect(service.shown()).toContain(` at ${data}/pin.txt\n`);
  await service.interrupt();
}, 300_000);

it('contains everything that it needs to run, and nothing else', () => {
  const paths = packed.files.map((file) => file.path);
  for (const needed of [
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'config/schema.json',
    'dist/src/chunks/service.js',
    'dist/src/cli/main.js',
    'dist/workers/front.js',
    'docs/API.md',
    'docs/systemd/drover.service',
    'docs/grafana/drover.json',
    'sdk/new/bot.py',
    'sdk/python/drover_bot.py',
  ]) {
    expect(paths).toContain(needed);
  }
  const known =
    /^(LICENSE|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|package\.json|(config|dist|docs|sdk)\/.+)$/;
  expect(paths.filter((file) => !known.test(file))).toEqual([]);
  // From dist: the code that runs, and the types of importable modules. What threads load is in bundles.
  const unwanted =
    /\.map$|\.tsbuildinfo$|^dist\/(bench|test|config|src\/(main|front|journal|broadcaster))\//;
  expect(paths.filter((file) => unwanted.test(file))).toEqual([]);
  expect(packed.files.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(8.9e6);
});

it('has every module that its modules and types import, and every file that they start', async () => {
  const home = path.join(dir, 'node_modules/drover');
  const isIn = new Set(packed.files.map((file) => path.join(home, file.path)));
  const missing: string[] = [];
  let imports = 0;
  for (const file of isIn) {
    if (!/[/]dist[/].*[.](js|d[.]ts)$/.test(file)) continue;
    const text = readFileSync(file, 'utf8');
    for (const [, to = ''] of text.matchAll(
      /(?:\bfrom|\bimport\(?)\s*["']([.]{1,2}[/][^"']+)["']/g,
    )) {
      imports += 1;
      const target = path.resolve(path.dirname(file), to);
      const wanted = file.endsWith('.d.ts') ? target.replace(/[.]js$/, '.d.ts') : target;
      if (!isIn.has(wanted)) missing.push(`${path.relative(home, file)} imports ${to}`);
    }
  }
  expect(missing).toEqual([]);
  expect(imports).toBeGreaterThan(500);
  // Bundles have one copy of it, the bot hosts the other.
  const started = ['chunks', 'shared'].map((folder) => `dist/src/${folder}/package-paths.js`);
  for (const module of started) {
    const paths = Object.values(await import(path.join(home, module))).flatMap(pathsIn);
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.filter((file) => !existsSync(file))).toEqual([]);
  }
});

/** Files and folders among what src/shared/package-paths.ts exports. */
function pathsIn(value: unknown): string[] {
  if (value instanceof URL) return [fileURLToPath(value)];
  if (typeof value === 'string') return [value];
  // The places where package.json may be.
  if (Array.isArray(value)) return value.flatMap(pathsIn).filter((file) => existsSync(file));
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(pathsIn) : [];
}

it('has every file that its README links to', () => {
  const links = readFileSync(path.join(ROOT, 'README.md'), 'utf8').matchAll(
    /\]\((?!https?:)([^)#]+)/g,
  );
  const paths = new Set(packed.files.map((file) => file.path));
  expect([...links].map(([, to = '']) => to).filter((to) => !paths.has(to))).toEqual([]);
});

it('lists what it installs and contains, as CycloneDX', () => {
  const file = path.join(dir, 'node_modules/drover/dist/sbom.cdx.json');
  const { bomFormat, components } = JSON.parse(readFileSync(file, 'utf8')) as {
    bomFormat: string;
    components: { group?: string; name: string; hashes?: object[] }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const names = components.map(({ group, name }) => (group ? `${group}/${name}` : name));
  // What is installed, what the build contains, and what these need.
  for (const name of [
    ...['piscina', 'lmdb', 'ordered-binary', '@preact/signals', 'core-js'],
    ...['@nats-io/jetstream', '@nats-io/nats-core', 'tweetnacl'],
  ]) {
    expect(names).toContain(name);
  }
  expect(names.filter((name) => /^(vitest|typescript|rolldown|vite)$/.test(name))).toEqual([]);
  expect(components.filter(({ hashes }) => !hashes?.length)).toEqual([]);
});

it('npx drover prints its version', async () => {
  const { stdout } = await run('npx', ['--no-install', 'drover', '--version'], { cwd: dir, env });
  expect(stdout).toBe(`${version}\n`);
});

/** Starts a service of the package, and takes a token. It is gone after the test. @param data its data directory, in that of the test. */
async function startPackaged(data: string, ...more: string[]) {
  const flags = ['--port', '0', '--host', '127.0.0.1', '--data-dir', path.join(dir, data)];
  const cli = path.join(dir, 'node_modules/.bin/drover');
  const child = spawn(cli, ['start', ...flags, ...more], { cwd: dir, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = collect(child);
  const closed = once(child, 'close');
  await expect
    .poll(output.stdout, { timeout: 60_000, message: output.stderr() })
    .toMatch(/^listening on /m);
  const [, pin = ''] = /^PIN=(\d{6}) /.exec(output.stdout()) ?? [];
  const [, url = ''] = /^listening on (\S+)$/m.exec(output.stdout()) ?? [];
  const token = await exchange(url, pin);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return { child, closed, output, url, headers };
}

it('runs a service with a bot of a local kind, and shuts down cleanly', async () => {
  mkdirSync(path.join(dir, 'kinds'));
  writeFileSync(
    path.join(dir, 'kinds/greeter.mjs'),
    `import { defineBot, Type } from 'drover/bot-sdk';
export default defineBot({
  kind: 'greeter',
  description: 'Greets.',
  config: Type.Object({ whom: Type.String() }, { additionalProperties: false }),
  state: () => ({}),
  commands: {
    greet: {
      description: 'Greets.',
      args: Type.Object({}),
      run: (ctx) => ({ said: 'hello ' + ctx.config.whom }),
    },
  },
  async run(ctx) {
    ctx.setStatus('waiting');
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  },
});
`,
  );
  const { child, closed, output, url, headers } = await startPackaged(
    'data',
    '--no-demo',
    '--kinds',
    'kinds',
  );
  const ask = async (route: string, body?: object): Promise<unknown> => {
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(url + route, init);
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return JSON.parse(text);
  };
  expect(await ask('/openapi.json')).toMatchObject({ info: { version } });
  await ask('/api/bots', { id: 'g', kind: 'greeter', config: { whom: 'you' } });
  const command = { session_id: 'g', command: 'greet' };
  expect(await ask('/invoke', command)).toEqual({ result: { said: 'hello you' } });
  expect((await fetch(`${url}/docs`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`, { headers })).status).toBe(200);
  child.kill('SIGTERM');
  await closed;
  expect([child.exitCode, output.stderr()]).toEqual([0, '']);
});

it('starts again after kill -9: its store and its journal are checked by programs of the package', async () => {
  const said: string[] = [];
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const { child, closed, output, url, headers } = await startPackaged('killed');
    await expect
      .poll(async () => (await fetch(`${url}/api/pressure`, { headers })).json())
      .toMatchObject({ journal: { state: 'on' } });
    child.kill(signal);
    await closed;
    said.push(...output.stderr().split('\n').slice(0, -1));
  }
  expect(said).toEqual([
    expect.stringMatching(
      /^drover: warning: the last run of the service, since .* did not end cleanly/,
    ),
  ]);
});

it('drover cluster try starts a cluster from the package', async () => {
  const cli = path.join(dir, 'node_modules/.bin/drover');
  const args = ['cluster', 'try', '--nodes', '2', '--port', '0'];
  const child = spawn(cli, args, { cwd: dir, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = collect(child);
  const closed = once(child, 'close');
  await expect
    .poll(() => `${output.stdout()}${output.stderr()}`)
    .toMatch(/Ctrl-C removes everything.*demo-1 is in_world/s);
  child.kill('SIGINT');
  await closed;
  expect(child.exitCode).toBe(EXIT.interrupted);
  // Of a machine that allows few open files.
  expect(output.stderr().replace(/^drover: h\d: warning: .*\n/gm, '')).toBe('');
});

it('exports its SDK and its client', async () => {
  const program = `
    const { defineBot } = await import('drover/bot-sdk');
    const { testContext } = await import('drover/bot-sdk/testing');
    const { DroverClient } = await import('drover/client');
    const bot = await testContext({ config: { a: 1 } });
    console.log(typeof defineBot, bot.context.config.a, typeof DroverClient);
    await bot.stop();
    await import('drover/dist/src/main/service/service.js').catch(({ code }) => console.log(code));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    cwd: dir,
    env,
  });
  expect(stdout).toBe('function 1 function\nERR_PACKAGE_PATH_NOT_EXPORTED\n');
});
