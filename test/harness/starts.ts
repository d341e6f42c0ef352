// Starts of the built service for one test, and starts that must fail.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runCliInProcess } from './cli-in-process.js';
import {
  type Ended,
  type Env,
  runToExit,
  type Service,
  type ServiceOptions,
  startService,
  stopClean,
} from './service.js';

type LoadConfig = typeof import('../../src/main/environment/load-config.js');

/** The build: the sources are at a different depth below the defaults that they read. */
const BUILD = new URL('../../dist/src/main/environment/load-config.js', import.meta.url).href;

/** Reads a configuration as a start does. */
export async function loadConfig(
  ...given: Parameters<LoadConfig['loadConfig']>
): Promise<ReturnType<LoadConfig['loadConfig']>> {
  return ((await import(BUILD)) as LoadConfig).loadConfig(...given);
}

/** Starts a service that ends with the test that started it. */
export async function startOwn(options: ServiceOptions): Promise<Service> {
  const service = await startService(options);
  onTestFinished(() => stopClean(service));
  return service;
}

/** Runs a start that must fail, with a file of this content as configuration. */
export type FailingStart = (args: string[], config?: string | object, env?: Env) => Promise<Ended>;

/** @param base holds its data directory and its configuration. */
export function failingIn(base: string): FailingStart {
  return (args, config, env) => runToExit(argumentsIn(base, args, config), env);
}

/** The same for starts that fail before the service loads: it runs in the test's process. */
export function refusedConfigIn(base: string): FailingStart {
  return (args, config, env = {}) => {
    const given = Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]);
    const surroundings = { env: Object.fromEntries(given), cwd: base };
    return runCliInProcess(argumentsIn(base, args, config), surroundings);
  };
}

function argumentsIn(base: string, args: string[], config?: string | object): string[] {
  const dataDir = path.join(base, 'data');
  const always = ['--host', '127.0.0.1', '--port', '0', '--data-dir', dataDir, '--no-demo'];
  if (config === undefined) return [...always, ...args];
  const file = path.join(base, 'config.json');
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  return [...always, '--config', file, ...args];
}

/** Expects one line on standard error that names the culprit, without a stack trace or a PIN line. */
export function expectRefusal(ended: Ended, names: string | RegExp, code = 1): void {
  expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
  expect(ended.stderr).toMatch(names);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
  expect(ended.stdout).not.toContain('PIN=');
  expect(ended.code).toBe(code);
}
