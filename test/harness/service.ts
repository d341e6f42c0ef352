// One built service as a real process: its data directory, its output, its end.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, TestRunner } from 'vitest';
import { canSharePort } from '../../src/front/engine/node/node.js';
import type { ServiceApi } from './api.js';
import { get } from './sse.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/**
 * How long a start may take before the harness gives up; generous, it only bounds a hang. Kinds that hang at import alone
 * may take a service 15 s, on a machine that does nothing else.
 */
const START_LIMIT_MS = 60_000;
/** How long a stop may take before the child is killed; it only bounds a hang. Tests in test/stress hold the service to its 10 s. */
const STOP_LIMIT_MS = 60_000;

/** The engine that services are started with unless a test says else; the run over node:http sets it (vitest.config.ts). */
export const TEST_ENGINE = process.env['TEST_ENGINE'] ?? 'auto';

/** Flags for so many fronts, or for one where the engine cannot share a port: node:http before Node 22.12. */
export function frontFlags(fronts: number): string[] {
  const alone = TEST_ENGINE === 'node' && !canSharePort(process.versions.node);
  return ['--fronts', String(alone ? 1 : fronts)];
}

/** Environment of the child: null takes a variable away. */
export type Env = Record<string, string | null>;

export interface ServiceOptions {
  /** Run with the demo world and its three bots. Default false (`--no-demo`). */
  demo?: boolean;
  /** `--host`; null leaves the flag out. Default 127.0.0.1. */
  host?: string | null;
  /** `--port`; null leaves the flag out. Default 0. */
  port?: number | null;
  /** `--data-dir`, kept afterwards; null leaves the flag out. Default: a fresh one, removed at the end. */
  dataDir?: string | null;
  /** Written to a file that is passed as `--config`. */
  config?: object;
  /** More arguments. */
  args?: string[];
  env?: Env;
  /** Where the child runs. Default: where the tests do. */
  cwd?: string;
}

export interface Service extends ServiceApi {
  /** Base URL without a slash at its end, on a host that a client can reach. */
  url: string;
  port: number;
  /** What it says that it runs on. */
  engine: 'uWebSockets.js' | 'node:http';
  pinPath: string;
  /** What the PIN file held at the moment when the PIN line arrived; undefined when there was none. */
  pinFileAtStart: string | undefined;
  dataDir: string;
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Sends the signal and waits. Resolves with the exit code, null when the child had to be killed. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Ends the process without a goodbye (SIGKILL), keeps nothing but a given data directory. */
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A fresh directory; the caller removes it with {@link removeDir}. */
export function makeDir(): string {
  return mkdtempSync(path.join(tmpdir(), 'drover-test-'));
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

function environment(changes: Env = {}): NodeJS.ProcessEnv {
  // A developer's own settings must not reach the tests.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('DROVER_') && name !== 'NODE_OPTIONS' && name !== 'NODE_ENV',
  );
  const env: NodeJS.ProcessEnv = Object.fromEntries(inherited);
  env['DROVER_ENGINE'] = TEST_ENGINE;
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete env[name];
    else env[name] = value;
  }
  return env;
}

/**
 * Starts the built service and nothing more. It ends with the test that started it at the latest: a test that times out
 * does not come to its own clean-up.
 */
export function launch(args: string[], env?: Env, cwd?: string): ChildProcess {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: environment(env),
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const closed = once(child, 'close');
  child.once('exit', () => running.delete(child));
  // What a hook starts for many tests is the hooks' to end, and the process's.
  if (TestRunner.getCurrentTest()) {
    onTestFinished(async () => {
      if (running.has(child)) child.kill('SIGKILL');
      await closed;
    });
  }
  return child;
}

/** What the child prints. */
export function collect(child: ChildProcess): { stdout(): string; stderr(): string } {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return { stdout: () => stdout, stderr: () => stderr };
}

interface Greeting {
  pin: string;
  pinPath: string;
  pinFileAtStart: string | undefined;
  port: number;
  engine: Service['engine'];
}

function awaitGreeting(child: ChildProcess, output: ReturnType<typeof collect>): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    let pinFileAtStart: string | undefined;
    const fail = (why: string): void =>
      reject(new Error(`${why}\nstdout: ${output.stdout()}\nstderr: ${output.stderr()}`));
    const timer = setTimeout(() => fail('the service did not start in time'), START_LIMIT_MS);
    child.once('close', (code) => {
      clearTimeout(timer);
      fail(`the service ended at start with code ${code}`);
    });
    child.stdout?.on('data', () => {
      const text = output.stdout();
      const pinLine = /^PIN=(\d{6}) at (.+)\n/.exec(text);
      if (!pinLine?.[1] || !pinLine[2]) return;
      const [, pin, pinPath] = pinLine;
      if (pinFileAtStart === undefined && existsSync(pinPath)) {
        pinFileAtStart = readFileSync(pinPath, 'utf8');
      }
      const listening = /\nlistening on https?:\/\/\S*:(\d+)\n/.exec(text);
      const engine = /\nengine: (uWebSockets\.js|node:http), .*\n/.exec(text);
      if (!listening || !engine) return;
      clearTimeout(timer);
      resolve({
        pin,
        pinPath,
        pinFileAtStart,
        port: Number(listening[1]),
        engine: engine[1] as Service['engine'],
      });
    });
  });
}

/** On a busy machine a service is soon short of CPU time: only tests of that set `pressure`, and meet its refusals. */
const NO_PRESSURE: Env = { DROVER_PRESSURE_MAX_CPU: '1', DROVER_PRESSURE_MAX_QUEUE: '1' };

const hasPressure = (config: object = {}): boolean => 'pressure' in config;

/** Starts the built service and waits until it says that it listens. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const home = makeDir();
  const dataDir = options.dataDir ?? path.join(home, 'data');
  const host = options.host === undefined ? '127.0.0.1' : options.host;
  const port = options.port === undefined ? 0 : options.port;
  const args: string[] = [];
  if (host !== null) args.push('--host', host);
  if (port !== null) args.push('--port', String(port));
  if (options.dataDir !== null) args.push('--data-dir', dataDir);
  if (!options.demo) args.push('--no-demo');
  if (options.config) {
    const file = path.join(home, 'config.json');
    writeFileSync(file, JSON.stringify(options.config));
    args.push('--config', file);
  }
  const env = { ...(hasPressure(options.config) ? {} : NO_PRESSURE), ...options.env };
  const child = launch([...args, ...(options.args ?? [])], env, options.cwd);
  const output = collect(child);
  const closed = once(child, 'close');
  let ending = false;
  child.once('close', (code, signal) => {
    // Tests see refused connections after this; why is only here.
    if (!ending)
      console.error(`the service ended by itself (${code ?? signal}): ${output.stderr()}`);
  });

  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    ending = true;
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await closed;
    clearTimeout(timer);
    removeDir(home);
    return child.exitCode;
  };

  const greeting = await awaitGreeting(child, output).catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  const url = `http://127.0.0.1:${greeting.port}`;
  let token: Promise<string> | undefined;
  return {
    url,
    ...greeting,
    dataDir,
    child,
    ...output,
    request: async ({ method, target, ...init }) => {
      const response = await fetch(`${url}${target}`, { method, redirect: 'error', ...init });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    open: (target, headers) => get(`${url}${target}`, headers),
    token: () => {
      token ??= exchange(url, greeting.pin);
      return token;
    },
    stop: (signal = 'SIGTERM') => end(signal),
    kill: async () => {
      await end('SIGKILL');
    },
  };
}

/** Stops a service at the end of a test. It must exit with 0 from any state that the test left it in. */
export async function stopClean(service: Service | undefined): Promise<void> {
  const code = await service?.stop();
  if (code !== undefined && code !== 0) {
    const how = code ?? service?.child.signalCode;
    throw new Error(`the service did not stop well (${how}): ${service?.stderr()}`);
  }
}

/** Exchanges a PIN for a fresh token. */
export async function exchange(url: string, pin: string): Promise<string> {
  const response = await fetch(`${url}/auth/pin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pin }),
  });
  const body = (await response.json()) as { token?: unknown };
  if (typeof body.token !== 'string') {
    throw new Error(`no token: ${response.status} ${JSON.stringify(body)}`);
  }
  return body.token;
}

export interface Ended {
  /** Null when it did not end by itself and was killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the service to its end, for starts that must fail. */
export async function runToExit(args: string[], env?: Env): Promise<Ended> {
  const child = launch(args, env);
  const output = collect(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS / 2);
  await once(child, 'close');
  clearTimeout(timer);
  return { code: child.exitCode, stdout: output.stdout(), stderr: output.stderr() };
}
