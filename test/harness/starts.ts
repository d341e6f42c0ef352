// Test harness. Owns starts of the built service that one test makes for itself, and those that must fail.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import {
  type Ended,
  type Env,
  runToExit,
  type Service,
  type ServiceOptions,
  startService,
  stopClean,
} from './service.js';

/** A service that ends with the test that started it. */
export async function startOwn(options: ServiceOptions): Promise<Service> {
  const service = await startService(options);
  onTestFinished(() => stopClean(service));
  return service;
}

/** Runs a start that must fail, with a file of this content as configuration. */
export type FailingStart = (args: string[], config?: string | object, env?: Env) => Promise<Ended>;

/** @param base is where its data directory and its configuration are. */
export function failingIn(base: string): FailingStart {
  const dataDir = path.join(base, 'data');
  const always = ['--host', '127.0.0.1', '--port', '0', '--data-dir', dataDir, '--no-demo'];
  return (args, config, env) => {
    if (config === undefined) return runToExit([...always, ...args], env);
    const file = path.join(base, 'config.json');
    writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
    return runToExit([...always, '--config', file, ...args], env);
  };
}

/** One line on standard error that names the culprit; no stack trace, no PIN line. */
export function expectRefusal(ended: Ended, names: string | RegExp, code = 1): void {
  expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
  expect(ended.stderr).toMatch(names);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
  expect(ended.stdout).not.toContain('PIN=');
  expect(ended.code).toBe(code);
}
