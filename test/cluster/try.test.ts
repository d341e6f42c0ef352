// `drover cluster try`: a cluster in one command, and nothing of it afterwards.

import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { type CliRun, expectFailure, runCli, startCli } from '../harness/cli.js';
import { NatsServer } from '../harness/nats.js';
import { makeDir, removeDir } from '../harness/service.js';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

/** Its temporary files are below the home of the test. */
function start(...flags: string[]): CliRun {
  const run = startCli(home, ['cluster', 'try', '--port', '0', ...flags], {
    env: { TMPDIR: home },
  });
  onTestFinished(() => void run.child.kill('SIGKILL'));
  return run;
}

const started = (run: CliRun) => expect.poll(run.stdout).toContain('Ctrl-C removes everything');
const addresses = (run: CliRun): string[] =>
  run.stdout().match(/http:\/\/127\.0\.0\.1:\d+(?= +\d{6} +\d+\n)/g) ?? [];
const leftOvers = (): string[] =>
  readdirSync(home).filter((name) => name.startsWith('drover-try-'));
const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );

it('starts a NATS server and nodes, says where they are, and removes everything on Ctrl-C', async () => {
  const run = start('--nodes', '2');
  await started(run);
  expect(run.stdout()).toMatch(
    /^NODE +DASHBOARD +PIN +PROCESS\nh1 +http:\S+ +\d{6} +\d+\nh2 +http:\S+ +\d{6} +\d+\nNATS: nats:\S+ \(process \d+\)/,
  );
  const urls = addresses(run);
  expect(await Promise.all(urls.map(isUp))).toEqual([true, true]);
  expect(leftOvers()).toHaveLength(1);
  await expect.poll(run.stdout).toMatch(/demo-1 is in_world/);
  // Its profile has both nodes: one that was killed is passed over.
  const [, profile = ''] = /DROVER_PROFILE=(\S+);/.exec(run.stdout()) ?? [];
  const [, pid] = /^h1 .* (\d+)$/m.exec(run.stdout()) ?? [];
  process.kill(Number(pid), 'SIGKILL');
  await expect.poll(run.stdout).toMatch(/h1 was ended by SIGKILL/);
  const nodes = await runCli(home, ['nodes', '--profile', profile]);
  expect(nodes.stderr).toBe('');
  expect(nodes.stdout).toMatch(/^h2 /m);
  run.child.kill('SIGINT');
  expect((await run.ended).code).toBe(EXIT.interrupted);
  expect(await Promise.all(urls.map(isUp))).toEqual([false, false]);
  expect((await runCli(home, ['nodes', '--profile', profile])).code).toBe(EXIT.usage);
  expect(leftOvers()).toEqual([]);
});

it('leaves nothing behind when it is killed', async () => {
  const run = start('--nodes', '1');
  await started(run);
  const [url = ''] = addresses(run);
  expect(await isUp(url)).toBe(true);
  const [, nats = ''] = /NATS: nats:\/\/(\S+)\./.exec(run.stdout()) ?? [];
  run.child.kill('SIGKILL');
  await run.ended;
  await expect.poll(() => isUp(url)).toBe(false);
  await expect.poll(leftOvers).toEqual([]);
  // A NATS server answers HTTP with an error, or with nothing; one that is gone refuses the connection.
  const error = await fetch(`http://${nats}/`).catch((thrown: Error) => thrown.cause);
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
});

it('uses servers that run, and deletes its streams there', async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const { streams } = await jetstreamManager(await server.connect());
  await streams.add({ name: 'other', subjects: ['other'] });
  const run = start('--nodes', '1', '--servers', server.url);
  await started(run);
  run.child.kill('SIGINT');
  expect((await run.ended).code).toBe(EXIT.interrupted);
  const names: string[] = [];
  for await (const name of streams.names()) names.push(name);
  expect(names).toEqual(['other']);
});

it('ends when the NATS server cannot be started, and says what to do', async () => {
  const run = start('--nats-server', '/nowhere/nats-server');
  const end = await run.ended;
  expectFailure(
    end,
    EXIT.failed,
    /^drover: \/nowhere\/nats-server was not found; install it .*--nats-server.*--servers/,
  );
  expect(leftOvers()).toEqual([]);
});

it('ends when a node does not start, and says why', async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  // The last flag counts.
  const run = start('--nodes', '1', '--port', String(server.port));
  const end = await run.ended;
  expect(end.code).toBe(EXIT.failed);
  expect(end.stderr).toMatch(/^drover: h1 did not start: cannot listen on .*: the port is taken/);
  expect(leftOvers()).toEqual([]);
});
