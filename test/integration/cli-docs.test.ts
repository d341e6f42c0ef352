// What docs/CLI.md, docs/CLIENT.md and the example workflow tell an operator to type is run, as it stands there.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const ROOT = new URL('../../', import.meta.url).pathname;

let home: string;
let env: NodeJS.ProcessEnv;
let service: Service | undefined;

beforeEach(() => {
  home = makeDir();
  const bin = path.join(home, 'bin');
  mkdirSync(bin);
  script(path.join(bin, 'drover'), `exec '${process.execPath}' '${ROOT}dist/src/cli.js' "$@"`);
  // As npx runs what is installed in a project.
  script(path.join(bin, 'npx'), 'exec "$@"');
  env = { PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home };
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
  removeDir(home);
});

function script(file: string, text: string): void {
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** Code blocks of a page, in order. */
function blocks(file: string, language: string): string[] {
  return [...read(file).matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block]) => block ?? '',
  );
}

/** Runs lines in bash, which ends at the first that fails. */
async function bash(lines: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', lines], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: home,
    env: { ...env, ...more },
    // Its own group: what it leaves in the background ends with the test.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  });
  const [code] = await once(child, 'exit');
  expect(code, output).toBe(0);
  return output;
}

it('docs/CLI.md: the first commands, and those for CI', async () => {
  const [first = '', ci = ''] = blocks('docs/CLI.md', 'sh');
  const dataDir = path.join(home, '.local/share/drover');
  service = await startService({ demo: true, dataDir });
  const more = { DROVER_URL: service.url };
  expect(first).toContain('drover logs -f --bot demo-1\n');
  // It would not end by itself.
  const lines = first.replace(/^(drover logs -f .*)$/m, '{ $1 || true; } | head -n 1');
  const output = await bash(lines, more);
  expect(output).toContain('"said": "hello there"');
  expect(output).toMatch(/^demo-1 in_world after/m);
  script(path.join(home, 'my-test.sh'), 'drover invoke demo-1 say text=said; sleep 3');
  expect(await bash(ci, more)).toContain('5 of 5 hold');
  expect(readFileSync(path.join(home, 'report.xml'), 'utf8')).toContain('failures="0"');
});

it('docs/github-workflow.yml: its steps', async () => {
  const port = await freePort();
  const workflow = read('docs/github-workflow.yml')
    .replaceAll('127.0.0.1:8090', `127.0.0.1:${port}`)
    .replace('drover --host 127.0.0.1', `drover --host 127.0.0.1 --port ${port}`);
  const url = /DROVER_URL: (\S+)/.exec(workflow)?.[1];
  const steps = [...workflow.matchAll(/^ +(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/gm)].map(
    ([, many, one]) => (many ?? one ?? '').replace(/^ {10}/gm, ''),
  );
  expect(steps).toHaveLength(4);
  const [install, ...rest] = steps;
  expect(install).toBe('npm ci');
  mkdirSync(path.join(home, 'my-bots'));
  const more = { DROVER_URL: url, RUNNER_TEMP: home };
  script(path.join(home, 'test.sh'), 'drover wait demo-1 --status in_world --timeout 30s');
  // One shell for all: the service stays in the background as it does between steps.
  const said = await bash(rest.join('\n'), more);
  expect(said).toContain('3 of 3 hold');
  expect(readFileSync(path.join(home, 'report.xml'), 'utf8')).toContain('tests="3" failures="0"');
});

it('docs/CLIENT.md: the example', async () => {
  const [example = ''] = blocks('docs/CLIENT.md', 'ts');
  service = await startService({ demo: true });
  await bash('drover wait', { DROVER_URL: service.url });
  const file = path.join(home, 'example.mjs');
  mkdirSync(path.join(home, 'node_modules'));
  symlinkSync(ROOT, path.join(home, 'node_modules/drover'));
  // With the address and the PIN of this service, and an end.
  const mine = example
    .replace('http://localhost:8090', service.url)
    .replace("'132231'", `'${service.pin}'`)
    .replace('console.log(event.data.message);', '{ console.log(event.data.message); break; }');
  writeFileSync(file, `setTimeout(() => process.exit(1), 40_000).unref();\n${mine}`);
  await bash(`drover login --pin ${service.pin}; drover wait demo-1 --status in_world`, {
    DROVER_URL: service.url,
  });
  expect(await bash(`'${process.execPath}' example.mjs`)).not.toBe('');
});
