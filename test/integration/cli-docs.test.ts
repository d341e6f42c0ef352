// Runs the commands of docs/CLI.md, docs/CLIENT.md and the example workflow exactly as the documents have them.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { docBlock, Reader, ROOT } from '../harness/docs.js';
import { freePort } from '../harness/ports.js';
import { type Service, startService, stopClean } from '../harness/service.js';

let reader: Reader;
let service: Service | undefined;

beforeEach(async () => {
  reader = new Reader(await freePort());
  // Runs the installed program, as npx does in a project.
  reader.command('npx', 'exec "$@"');
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

it('docs/CLI.md: the first commands and the CI commands', async () => {
  const first = docBlock('docs/CLI.md', 'drover bots list');
  const ci = docBlock('docs/CLI.md', 'drover record run.ndjson');
  const dataDir = path.join(reader.home, '.local/share/drover');
  service = await startService({ demo: true, dataDir });
  const more = { DROVER_URL: service.url };
  expect(first).toContain('drover logs -f --bot demo-1\n');
  // logs -f does not end by itself.
  const lines = first.replace(/^(drover logs -f .*)$/m, '{ $1 || true; } | head -n 1');
  const output = await reader.run(lines, more);
  expect(output).toContain('"said": "hello there"');
  expect(output).toMatch(/^demo-1 in_world after/m);
  const script = 'drover invoke demo-1 say text=said; sleep 3';
  writeFileSync(path.join(reader.dir, 'my-test.sh'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  expect(await reader.run(ci, more)).toContain('5 of 5 expectations met');
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
  expect(said).toContain('5 of 5 expectations met');
  expect(readFileSync(path.join(reader.dir, 'report.xml'), 'utf8')).toContain(
    'tests="5" failures="0"',
  );
});

it('docs/CLIENT.md: the example', async () => {
  const example = docBlock('docs/CLIENT.md', 'stranger.exchangePin');
  service = await startService({ demo: true });
  await reader.run('drover wait', { DROVER_URL: service.url });
  const file = path.join(reader.dir, 'example.mjs');
  reader.linkPackage();
  // With the address and PIN of this service, and an end.
  const mine = example
    .replace('http://localhost:8090', service.url)
    .replace("'132231'", `'${service.pin}'`)
    .replace('console.log(event.data.message);', '{ console.log(event.data.message); break; }');
  writeFileSync(file, `setTimeout(() => process.exit(1), 40_000).unref();\n${mine}`);
  await reader.run(`drover login --pin ${service.pin}; drover wait demo-1 --status in_world`, {
    DROVER_URL: service.url,
  });
  expect(await reader.run(`'${process.execPath}' example.mjs`)).not.toBe('');
  // The client of the example, and what its bot has logged so far.
  const client = `{ url: '${service.url}', token: '${await service.token()}' }`;
  const past = docBlock('docs/CLIENT.md', 'client.download(');
  writeFileSync(
    path.join(reader.dir, 'past.mjs'),
    `import { DroverClient } from 'drover/client';\nconst client = new DroverClient(${client});\n${past}`,
  );
  await expect.poll(() => reader.run(`'${process.execPath}' past.mjs`)).not.toBe('');
});
