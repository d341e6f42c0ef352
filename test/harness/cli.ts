// Test harness. Owns runs of the command line as a process of its own, with a home of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished } from 'vitest';
import {
  makeDir,
  removeDir,
  type Service,
  type ServiceOptions,
  startService,
  stopClean,
} from './service.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
/** It only ends one that hangs. */
const LIMIT_MS = 45_000;

export interface CliOptions {
  env?: Record<string, string>;
  /** Written to its standard input, which then ends. */
  input?: string;
  cwd?: string;
}

export interface CliEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliRun {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<CliEnd>;
}

/** Starts a command. @param home is where its profiles are. */
export function startCli(home: string, args: string[], options: CliOptions = {}): CliRun {
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: home, XDG_CONFIG_HOME: `${home}/config`, ...options.env };
  const child = spawn(process.execPath, [CLI, ...args], { env, cwd: options.cwd ?? home });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // One that has ended reads no more.
  child.stdin.on('error', () => {}).end(options.input ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const ended = once(child, 'close').then(() => {
    clearTimeout(timer);
    return { code: child.exitCode, stdout, stderr };
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Runs a command to its end. */
export function runCli(home: string, args: string[], options?: CliOptions): Promise<CliEnd> {
  return startCli(home, args, options).ended;
}

/** Somebody with a service, a token of it, and a home. */
export interface Operator {
  service: Service;
  home: string;
  /** Of the service, and its token. */
  env: Record<string, string>;
  /** Runs a command to its end. */
  drover(args: string[], options?: CliOptions): Promise<CliEnd>;
  /** A run that went well; what it printed. */
  done(args: string[], options?: CliOptions): Promise<string>;
}

/** Starts a service for all tests of the file that calls this; it ends with them. */
export async function startOperator(options: ServiceOptions): Promise<Operator> {
  const home = makeDir();
  const service = await startService(options);
  afterAll(async () => {
    await stopClean(service);
    removeDir(home);
  });
  const env = { DROVER_URL: service.url, DROVER_TOKEN: await service.token() };
  const drover: Operator['drover'] = (args, { env: changes, ...rest } = {}) =>
    runCli(home, args, { ...rest, env: { ...env, ...changes } });
  const done: Operator['done'] = async (args, options) => {
    const { code, stdout, stderr } = await drover(args, options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  return { service, home, env, drover, done };
}

/** One line on standard error, nothing else, and the exit code. */
export function expectFailure(
  { code, stdout, stderr }: CliEnd,
  exitCode: number,
  names: RegExp,
): void {
  expect(stderr).toMatch(/^drover: [^\n]+\n$/);
  expect(stderr).toMatch(names);
  expect(stdout).toBe('');
  expect(code).toBe(exitCode);
}
