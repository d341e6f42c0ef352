// drover record, check, wait and logs on a run that they cannot observe to its end: the service is gone, the recorder is
// killed, the recording is truncated. The commands' clock is the test's.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { DroverClient, type StreamEvent } from '../../src/client/index.js';
import { runCli, startCli, startCliHere } from '../harness/cli.js';
import type { CliEnd, InProcessRun } from '../harness/cli-in-process.js';
import { freePort } from '../harness/ports.js';
import { Relay } from '../harness/relay.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const BUSY = { id: 'busy', kind: 'synthetic', config: { events_per_second: 20 } };

/** Keeps its data directory and its port when it starts again. */
let service: Service;
let dataDir: string;
/** Between the commands and the service. */
let relay: Relay;
let client: DroverClient;
let home: string;
let file: string;
let env: Record<string, string>;

beforeAll(async () => {
  dataDir = makeDir();
  await startAgain(await freePort());
});
afterAll(async () => {
  await stopClean(service);
  removeDir(dataDir);
});
beforeEach(async () => {
  home = makeDir();
  file = path.join(home, 'run.ndjson');
  relay = await Relay.before(service.port);
  const token = await service.token();
  client = new DroverClient({ url: service.url, token });
  env = { DROVER_URL: relay.url, DROVER_TOKEN: token };
});
afterEach(() => {
  vi.useRealTimers();
  removeDir(home);
});

async function startAgain(port = service.port): Promise<void> {
  service = await startService({ config: { bots: [BUSY] }, dataDir, port });
}

/** From now on the commands' time passes only by {@link passTime}. */
const holdTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
const passTime = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

/** Lets the time pass until the command has ended. */
async function pastTheEnd({ ended }: InProcessRun): Promise<CliEnd> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  ended.then(over, over);
  const isPast = async (): Promise<boolean> => {
    await passTime(5);
    return isOver;
  };
  await expect.poll(isPast).toBe(true);
  return ended;
}

const here = (...args: string[]): InProcessRun => startCliHere(home, args, { env });
const until = (fits: () => boolean) => expect.poll(fits).toBe(true);
const isRetrying = (run: { stderr(): string }) => until(() => run.stderr().includes('retrying in'));

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
  const answer = await fetch(`${service.url}/api/pressure`, { headers: { authorization } });
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
  holdTime();
  const recording = here('record', file, '--for', '6s');
  await until(hasLines);
  relay.cut();
  await isRetrying(recording);
  const { code, stderr } = await pastTheEnd(recording);
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
  holdTime();
  const gone = path.join(home, 'gone');
  const script = `until [ -e '${gone}' ]; do sleep 0.05; done`;
  const recording = here('record', file, '--', 'sh', '-c', script);
  await until(hasLines);
  relay.cut();
  await isRetrying(recording);
  writeFileSync(gone, '');
  expect((await pastTheEnd(recording)).code).toBe(EXIT.no_service);
  expect(endOf().data).toMatchObject({ by: 'command', missing: expect.any(String) });
});

it('a killed recorder leaves a recording without an end; one whose token is revoked writes the reason', async () => {
  const killed = startCli(home, ['record', file], { env });
  await until(hasLines);
  killed.child.kill('SIGKILL');
  await killed.ended;
  await expectUnknown();
  rmSync(file);
  const { token } = await client.tokens.create({ name: 'brief', scopes: ['read'] });
  const revoked = here('record', file, '--token', token);
  await until(hasLines);
  await client.withToken(token).tokens.revokeCurrent();
  expect((await revoked.ended).code).toBe(EXIT.not_allowed);
  expect(endOf().data).toMatchObject({ by: 'error', missing: 'invalid token' });
});

it('check --live exits with no_service when the service is gone, and still writes its report', async () => {
  holdTime();
  const expectations = ['--no-errors', '--expect', 'at least 1 events of busy'];
  const json = path.join(home, 'report.json');
  const checking = here('check', '--live', '--for', '6s', ...expectations, '--json', json);
  await expect.poll(openStreams).toBe(1);
  relay.cut();
  await isRetrying(checking);
  const { code, stdout } = await pastTheEnd(checking);
  expect(code).toBe(EXIT.no_service);
  expect(stdout).toMatch(/^FAIL {2}no errors: not observed, but the stream/m);
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject({
    passed: false,
    missing: expect.stringContaining('not open'),
  });
});

it('a service that hangs at the end: the run was not observed to its end', async () => {
  holdTime();
  const checking = here('check', '--live', '--for', '8s', '--no-errors');
  await expect.poll(openStreams).toBe(1);
  relay.hang();
  expect((await pastTheEnd(checking)).code).toBe(EXIT.no_service);
  relay = await Relay.before(service.port);
  env['DROVER_URL'] = relay.url;
  const recording = here('record', file, '--for', '8s');
  await until(hasLines);
  relay.hang();
  expect((await pastTheEnd(recording)).code).toBe(EXIT.no_service);
  const missing = 'the service did not answer: timed out';
  expect(endOf().data).toMatchObject({ by: 'time', missing });
});

it('wait exits with no_service when the service is gone and does not come back', async () => {
  holdTime();
  const waiting = here('wait', 'busy', '--status', 'nowhere', '--timeout', '8s');
  await expect.poll(openStreams).toBe(1);
  relay.cut();
  await isRetrying(waiting);
  const { code, stderr } = await pastTheEnd(waiting);
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

// The last test, because the harness ends a service with the test that started it.
it('record and logs -f continue after a restart of the service: no gap, and no event twice', async () => {
  env['DROVER_URL'] = service.url;
  const recording = startCli(home, ['record', file], { env });
  const logs = startCli(home, ['logs', '-f', '--json', '--event', 'log,session'], { env });
  const lines = (): string[] => logs.stdout().split('\n').slice(0, -1);
  await until(hasLines);
  await until(() => lines().length >= 5);
  expect(await service.stop()).toBe(0);
  await isRetrying(recording);
  await isRetrying(logs);
  await startAgain();
  const before = lines().length;
  await until(() => recording.stderr().includes('reconnected'));
  await until(() => lines().length > before + 10);
  for (const { child } of [recording, logs]) child.kill('SIGINT');
  expect((await recording.ended).code).toBe(0);
  expect(endOf().data).toMatchObject({ by: 'signal', disconnects: 1, gaps: 0, missing: null });
  expect((await runCli(home, ['check', file, '--no-gaps'])).code).toBe(0);
  expect((await logs.ended).code).toBe(0);
  expect(logs.stderr()).toMatch(
    /^drover: [^\n]+; retrying in [^\n]+\n(drover: [^\n]+; retrying in [^\n]+\n)*drover: reconnected\n$/,
  );
  const events = lines().map((line) => JSON.parse(line) as StreamEvent);
  const ids = events.map(({ id }) => id).filter((id) => id !== null);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await service.stop()).toBe(0);
});
