// Issue 5 "Two engines": which engine runs, and the line that gives the reason.

import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { canSharePort } from '../../src/front/engine/node/node.js';
import { call } from '../harness/api.js';
import {
  makeDir,
  removeDir,
  runToExit,
  type ServiceOptions,
  startService,
  stopClean,
} from '../harness/service.js';

const { platform, arch, versions } = process;
/** Where a binary certainly loads; elsewhere either engine is correct. */
const HAS_BINARY = platform === 'linux' && arch === 'x64' && versions.node.startsWith('20.');

let dir: string;
beforeAll(() => {
  dir = makeDir();
});
afterAll(() => removeDir(dir));

/** The line about the engine, which follows the PIN and the address. */
async function engineLine(options: ServiceOptions): Promise<string> {
  const service = await startService({ ...options, env: { DROVER_ENGINE: null, ...options.env } });
  onTestFinished(() => stopClean(service));
  expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
  await expect.poll(() => service.stdout().split('\n').length).toBeGreaterThan(3);
  return service.stdout().split('\n')[2] ?? '';
}

const failing = async (args: string[], code = 1) => {
  const ended = await runToExit(
    [...args, '--port', '0', '--no-demo', '--data-dir', path.join(dir, 'data')],
    { DROVER_ENGINE: null },
  );
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
  return ended.stderr;
};

it('node:http runs when set by flag, environment or configuration', async () => {
  const line = 'engine: node:http, as configured';
  expect(await engineLine({ args: ['--engine', 'node'] })).toBe(line);
  expect(await engineLine({ env: { DROVER_ENGINE: 'node' } })).toBe(line);
  expect(await engineLine({ config: { engine: 'node' } })).toBe(line);
});

it('auto selects uWebSockets.js where its binary loads, and otherwise reports why not', async () => {
  const line = await engineLine({});
  if (HAS_BINARY) expect(line).toBe('engine: uWebSockets.js, its binary loads here');
  expect(line).toMatch(
    /^engine: (uWebSockets\.js, its binary loads here|node:http, no binary of uWebSockets\.js loads on .+ with Node v.+ \(.+\))$/,
  );
});

it('uws runs where auto selects it, and is refused with the reason elsewhere', async () => {
  const auto = await engineLine({});
  if (auto.startsWith('engine: uWebSockets.js')) {
    expect(await engineLine({ args: ['--engine', 'uws'] })).toBe(
      'engine: uWebSockets.js, as configured',
    );
  } else {
    expect(await failing(['--engine', 'uws'])).toContain('start with --engine node');
  }
});

it('an unknown engine is refused', async () => {
  // 2: wrong usage (docs/CLI.md).
  expect(await failing(['--engine', 'nginx'], 2)).toContain('auto, uws, node');
});

it('several fronts on node:http share the port where Node can, and are refused elsewhere', async () => {
  const args = ['--engine', 'node', '--fronts', '2'];
  if (canSharePort(versions.node)) {
    expect(await engineLine({ args })).toBe('engine: node:http, as configured');
  } else {
    expect(await failing(args)).toContain('start with --fronts 1');
  }
});
