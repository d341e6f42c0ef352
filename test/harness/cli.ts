// The command line with a home directory for the test, in a separate process or in the test's own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished } from 'vitest';
import {
  type CliEnd,
  type CliSurroundings,
  type InProcessRun,
  runCliInProcess,
  startCliInProcess,
} from './cli-in-process.js';
import {
  makeDir,
  removeDir,
  type Service,
  type ServiceOptions,
  startService,
  stopClean,
} from './service.js';

export const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
/** Only ends a command that hangs. */
const LIMIT_MS = 45_000;

export interface CliOptions {
  env?: Record<string, string>;
  /** Written to its standard input, which then ends. */
  input?: string;
  cwd?: string;
  /** The width of the terminal that it believes to have. Only in this process. */
  terminal?: number;
}

export interface CliRun {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<CliEnd>;
}

/** Starts a command as a process. @param home holds its profiles. */
export function startCli(home: string, args: string[], options: CliOptions = {}): CliRun {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: environment(home, options.env),
    cwd: options.cwd ?? home,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A process that has ended no longer reads.
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

/** Runs a command to its end, in this process where possible (cli-in-process.ts), one at a time. */
export function runCli(home: string, args: string[], options: CliOptions = {}): Promise<CliEnd> {
  // Node reads this variable only at its start.
  if ('NODE_EXTRA_CA_CERTS' in (options.env ?? {})) return startCli(home, args, options).ended;
  return runCliInProcess(args, surroundings(home, options));
}

/** Starts a command in this process. It ends with the test at the latest. */
export function startCliHere(home: string, args: string[], options: CliOptions = {}): InProcessRun {
  const run = startCliInProcess(args, surroundings(home, options));
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  run.ended.then(over, over);
  onTestFinished(async () => {
    if (!isOver) await run.interrupt();
  });
  return run;
}

function surroundings(home: string, options: CliOptions): CliSurroundings {
  const { env, cwd = home, input, terminal } = options;
  return { env: environment(home, env), cwd, input, terminal };
}

function environment(home: string, env: Record<string, string> = {}): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, HOME: home, XDG_CONFIG_HOME: `${home}/config`, ...env };
}

/** A user with a service, a token for it, and a home directory. */
export interface Operator {
  service: Service;
  home: string;
  /** The environment that names the service and its token. */
  env: Record<string, string>;
  /** Runs a command to its end. */
  drover(args: string[], options?: CliOptions): Promise<CliEnd>;
  /** Runs a command that must succeed, and returns its output. */
  done(args: string[], options?: CliOptions): Promise<string>;
}

/** Starts a service for all tests of the calling file, and stops it after them. */
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

/** Expects one line on standard error, no other output, and the exit code. */
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
