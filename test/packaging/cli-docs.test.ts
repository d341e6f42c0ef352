// Runs the commands of docs/CLI.md, docs/CLIENT.md and the example workflow exactly as the documents have them.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DroverClient } from '../../src/client/index.js';
import { runCli } from '../harness/cli.js';
import { docBlock, Reader, ROOT } from '../harness/docs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let service: Service;
let dataDir: string;
let reader: Reader;

beforeAll(async () => {
  dataDir = makeDir();
  service = await startService({ demo: true, dataDir });
});
afterAll(async () => {
  await stopClean(service);
  removeDir(dataDir);
});
beforeEach(async () => {
  reader = new Reader(await freePort());
  // Runs the installed program, as npx does in a project.
  reader.command('npx', 'exec "$@"');
});

it('docs/CLI.md: the first commands and the CI commands', async () => {
  const first = docBlock('docs/CLI.md', 'drover bots list');
  const ci = docBlock('docs/CLI.md', 'drover record run.ndjson');
  mkdirSync(path.join(reader.home, '.local/share'), { recursive: true });
  symlinkSync(dataDir, path.join(reader.home, '.local/share/drover'));
  const more = { DROVER_URL: service.url };
  expect(first).toContain('drover logs -f --bot demo-1\n');
  // logs -f does not end by itself.
  const lines = first.replace(/^(drover logs -f .*)$/m, '{ $1 || true; } | head -n 1');
  const output = await reader.run(lines, more);
  expect(output).toContain('"said": "hello there"');
  expect(output).toMatch(/^demo-1 in_world after/m);
  const selecting = docBlock('docs/CLI.md', 'drover bots restart --kind demo');
  const some = selecting.replace(/^(drover logs -f .*)$/m, '{ $1 || true; } | head -n 1');
  expect(await reader.run(some, more)).toMatch(/^demo-1 \w+$/m);
  const slowly = docBlock('docs/CLI.md', 'drover bots restart --label demo=true');
  expect(await reader.run(slowly, more)).toMatch(/done +3\/3 +0 +restart 3 bots$/m);
  await reader.run(
    'for n in 1 2; do drover bots create "team-$n" --kind synthetic --label team=a; done',
    more,
  );
  const inSteps = docBlock('docs/OPERATIONS.md', 'drover bots restart --label team=a');
  expect((await reader.run(inSteps, more)).split('\n')).toHaveLength(3);
  const script =
    'drover wait demo-1 --status in_world; drover invoke demo-1 say text=said; sleep 3';
  writeFileSync(path.join(reader.dir, 'my-test.sh'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  expect(await reader.run(ci, more)).toContain('6 of 6 expectations met');
  expect(readFileSync(path.join(reader.dir, 'report.xml'), 'utf8')).toContain('failures="0"');
});

it('docs/github-workflow.yml: the steps', async () => {
  const workflow = readFileSync(path.join(ROOT, 'docs/github-workflow.yml'), 'utf8');
  expect(workflow).toContain('DROVER_URL: http://127.0.0.1:8090\n');
  const steps = [...workflow.matchAll(/^ +(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/gm)].map(
    ([, many, one]) => (many ?? one ?? '').replace(/^ {10}/gm, ''),
  );
  expect(steps).toHaveLength(4);
  const [install, ...rest] = steps;
  expect(install).toBe('npm ci');
  reader.linkPackage();
  reader.write(docBlock('docs/GETTING-STARTED.md', 'my-bots/countdown.mjs'));
  reader.write(docBlock('docs/GETTING-STARTED.md', '# test.sh'));
  // One shell for all steps: the service stays in the background, as it does between steps.
  const said = await reader.run(rest.join('\n'), { RUNNER_TEMP: reader.home });
  expect(said).toContain('6 of 6 expectations met');
  expect(readFileSync(path.join(reader.dir, 'report.xml'), 'utf8')).toContain(
    'tests="6" failures="0"',
  );
});

it('docs/CLIENT.md: the example', async () => {
  const example = docBlock('docs/CLIENT.md', 'stranger.exchangePin');
  const file = path.join(reader.dir, 'example.mjs');
  reader.linkPackage();
  // With the address and PIN of this service, and an end.
  const mine = example
    .replace('http://localhost:8090', service.url)
    .replace("'132231'", `'${service.pin}'`)
    .replace('console.log(event.data.message);', '{ console.log(event.data.message); break; }');
  writeFileSync(file, `setTimeout(() => process.exit(1), 40_000).unref();\n${mine}`);
  const token = await service.token();
  const env = { DROVER_URL: service.url, DROVER_TOKEN: token };
  const waited = await runCli(reader.home, ['wait', 'demo-1', '--status', 'in_world'], { env });
  expect(waited).toMatchObject({ code: 0, stderr: '' });
  expect(await reader.run(`'${process.execPath}' example.mjs`)).not.toBe('');
  // The client of the example, and what its bot has logged so far.
  const options = { url: service.url, token };
  const written = async () =>
    (await new DroverClient(options).events({ session: ['load-1'], event: ['log'] })).events;
  await expect.poll(written).not.toEqual([]);
  const past = docBlock('docs/CLIENT.md', 'client.download(');
  writeFileSync(
    path.join(reader.dir, 'past.mjs'),
    `import { DroverClient } from 'drover/client';\nconst client = new DroverClient(${JSON.stringify(options)});\n${past}`,
  );
  expect(await reader.run(`'${process.execPath}' past.mjs`)).not.toBe('');
});
