// drover record and check on a run that they cannot observe to its end: the service exits, the recorder is killed,
// the recording is truncated.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { type CliRun, runCli, startCli } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let service: Service | undefined;
let home: string;
let file: string;
let env: Record<string, string>;

beforeEach(() => {
  home = makeDir();
  file = path.join(home, 'run.ndjson');
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
  removeDir(home);
});

async function start(options: Parameters<typeof startService>[0] = {}): Promise<Service> {
  const bots = [{ id: 'busy', kind: 'synthetic' }];
  service = await startService({ config: { bots }, ...options });
  env = { DROVER_URL: service.url, DROVER_TOKEN: await service.token() };
  return service;
}

/** Kills the service without a shutdown. */
async function killService(): Promise<void> {
  await service?.kill();
  service = undefined;
}

const run = (...args: string[]): CliRun => startCli(home, args, { env });
const until = (fits: () => boolean) => expect.poll(fits).toBe(true);

function recorded(): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
const hasLines = () => recorded().includes('"level":');

async function openStreams(): Promise<number> {
  const authorization = `Bearer ${env['DROVER_TOKEN']}`;
  const answer = await fetch(`${env['DROVER_URL']}/api/pressure`, { headers: { authorization } });
  return ((await answer.json()) as { streams: { open: number } }).streams.open;
}

interface End {
  event: string;
  data: { by: string; disconnects: number; gaps: number; missing: string | null };
}
const endOf = (): End => JSON.parse(recorded().trim().split('\n').at(-1) ?? '') as End;

/** What must not happen remains unknown; what has happened counts. */
async function expectUnknown(): Promise<void> {
  const met = await runCli(home, ['check', file, '--at-least', '1']);
  expect(met).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^drover: the run was not observed to its end: [^\n]+\n$/),
  });
  for (const one of ['no gaps', 'no errors', 'bot busy never failed', 'at most 99999999 events']) {
    const { code, stdout } = await runCli(home, ['check', file, '--expect', one]);
    expect(stdout).toMatch(/^FAIL {2}.*(not observed, but|observed;) /);
    expect(code).toBe(EXIT.not_as_expected);
  }
}

it('record exits with no_service when the service is gone, and the recording says so', async () => {
  await start();
  const recording = run('record', file, '--for', '6s');
  await until(hasLines);
  await killService();
  const { code, stderr } = await recording.ended;
  expect(stderr).toMatch(
    /\ndrover: the end of the run was not recorded: the stream was not open: /,
  );
  expect(code).toBe(EXIT.no_service);
  expect(endOf()).toMatchObject({
    event: 'end',
    data: { by: 'time', disconnects: 1, missing: expect.stringContaining('not open') },
  });
  await expectUnknown();
});

it('record exits with no_service even when its command succeeds', async () => {
  await start();
  const killed = path.join(home, 'killed');
  const script = `setInterval(() => require('node:fs').existsSync(${JSON.stringify(killed)}) && process.exit(0), 50)`;
  const recording = run('record', file, '--', process.execPath, '-e', script);
  await until(hasLines);
  await killService();
  writeFileSync(killed, '');
  expect((await recording.ended).code).toBe(EXIT.no_service);
  expect(endOf().data).toMatchObject({ by: 'command', missing: expect.any(String) });
});

it('a restart of the service during the run is not an error', async () => {
  const dataDir = path.join(home, 'data');
  const options = { dataDir, port: await freePort() };
  const { stop } = await start(options);
  const recording = run('record', file);
  await until(hasLines);
  expect(await stop()).toBe(0);
  await until(() => recording.stderr().includes('retrying in'));
  await start(options);
  await until(() => recording.stderr().includes('reconnected'));
  recording.child.kill('SIGINT');
  expect((await recording.ended).code).toBe(0);
  expect(endOf().data).toMatchObject({ by: 'signal', disconnects: 1, gaps: 0, missing: null });
  expect((await runCli(home, ['check', file, '--no-gaps'])).code).toBe(0);
});

it('a killed recorder leaves a recording without an end; one whose token is revoked writes the reason', async () => {
  await start();
  const killed = run('record', file);
  await until(hasLines);
  killed.child.kill('SIGKILL');
  await killed.ended;
  await expectUnknown();
  const made = await run('tokens', 'create', 'brief', '--scope', 'read').ended;
  const token = made.stdout.trim();
  rmSync(file);
  const revoked = run('record', file, '--token', token);
  await until(hasLines);
  await run('tokens', 'revoke', '--current', '--token', token).ended;
  expect((await revoked.ended).code).toBe(EXIT.not_allowed);
  expect(endOf().data).toMatchObject({ by: 'error', missing: 'invalid token' });
});

it('check --live exits with no_service when the service is gone, and still writes its report', async () => {
  await start();
  const expectations = ['--no-errors', '--expect', 'at least 1 events of busy'];
  const json = path.join(home, 'report.json');
  const checking = run('check', '--live', '--for', '6s', ...expectations, '--json', json);
  await expect.poll(openStreams).toBe(1);
  await killService();
  const { code, stdout } = await checking.ended;
  expect(code).toBe(EXIT.no_service);
  expect(stdout).toMatch(/^FAIL {2}no errors: not observed, but the stream/m);
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject({
    passed: false,
    missing: expect.stringContaining('not open'),
  });
});

it('a service that hangs at the end: the run was not observed to its end', async () => {
  const { child } = await start();
  const checking = run('check', '--live', '--for', '8s', '--no-errors');
  const recording = run('record', file, '--for', '8s');
  await expect.poll(openStreams).toBe(2);
  child.kill('SIGSTOP');
  try {
    expect((await checking.ended).code).toBe(EXIT.no_service);
    expect((await recording.ended).code).toBe(EXIT.no_service);
    const missing = 'the service did not answer: timed out';
    expect(endOf().data).toMatchObject({ by: 'time', missing });
  } finally {
    child.kill('SIGCONT');
  }
});

it('wait exits with no_service when the service is gone and does not come back', async () => {
  await start();
  const waiting = run('wait', 'busy', '--status', 'nowhere', '--timeout', '8s');
  await expect.poll(openStreams).toBe(1);
  await killService();
  const { code, stderr } = await waiting.ended;
  expect(stderr).toMatch(/; retrying in /);
  expect(stderr).toMatch(/busy was not nowhere within 8s; the stream was not open: /);
  expect(code).toBe(EXIT.no_service);
});

it('check exits with its result and writes its report even when its output pipe is closed', async () => {
  const junit = path.join(home, 'report.xml');
  const head = '{"drover_recording":1,"started_at_ms":0,"url":"http://x"}\n';
  writeFileSync(file, head);
  const checking = startCli(home, ['check', file, '--no-gaps', '--junit', junit]);
  checking.child.stdout?.destroy();
  expect((await checking.ended).code).toBe(EXIT.not_as_expected);
  expect(readFileSync(junit, 'utf8')).toContain('failures="1"');
});

it('check rejects an invalid recording with the reason, and accepts a truncated one', async () => {
  const head = '{"drover_recording":1,"started_at_ms":0,"url":"http://x"}\n';
  const event =
    '{"at_ms":5,"event":"gap","id":"a-1","data":{"from":"a-1","to":"a-1","dropped":1}}\n';
  const end = '{"at_ms":9,"event":"end","data":{"by":"signal","run_ms":9,"missing":null}}\n';
  const check = async (text: string, expectation = 'no gaps') => {
    writeFileSync(file, text);
    return runCli(home, ['check', file, '--expect', expectation]);
  };
  for (const [text, names] of [
    ['', /the file is empty; create a recording with drover record/],
    ['{}\n', /not a recording of this version/],
    ['hello\n', /not a recording of this version/],
    [`${head}nonsense\n${event}`, /line 2 is not an event/],
    [`${head}${event}[]\n${event}`, /line 3 is not an event/],
    [`${head}${end}${event}`, /line 3 follows the end of the recording/],
    [`${head}{"at_ms":9,"event":"end"}\n`, /line 2 is not a valid end of a recording/],
  ] as const) {
    const { code, stderr } = await check(text);
    expect(stderr).toMatch(names);
    expect(code).toBe(EXIT.usage);
  }
  expect((await check(head + end)).code).toBe(0);
  expect((await check(head)).code).toBe(EXIT.not_as_expected);
  expect(await check(`${head}${event}${end}`)).toMatchObject({
    code: EXIT.not_as_expected,
    stdout: expect.stringContaining('FAIL  no gaps: events were lost after 5ms'),
  });
  expect((await check(`${head}${event}{"at_ms":6,"ev`)).stdout).toContain(', 1 events');
});
