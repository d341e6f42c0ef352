// Test harness. Owns a built service as a process, with its data directory and its output.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished, TestRunner } from 'vitest';
import { canSharePort } from '../../src/front/engine/node/node.js';
import { maxOpenFiles } from '../../src/shared/open-files.js';
import type { ServiceApi } from './api.js';
import { splitConfig } from './fixed.js';
import { get } from './sse.js';

const FIXED_SERVICE = fileURLToPath(new URL('fixed-service.mjs', import.meta.url));
const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/**
 * How long a start may take before the harness gives up. It is generous and only ends a hang: kinds that hang at import
 * can take 15 s alone, on an idle machine.
 */
const START_LIMIT_MS = 60_000;
/** How long a stop may take before the child is killed. It only ends a hang: test/stress checks the limit of 10 s. */
const STOP_LIMIT_MS = 60_000;

/** The engine of services in tests. The projects of vitest.config.ts set it; other suites run the default. */
export const TEST_ENGINE = process.env['TEST_ENGINE'] ?? 'auto';

/** A NATS server: services in tests are then nodes of clusters on it (test/cluster/vitest.config.ts). */
export const TEST_NATS = process.env['TEST_NATS'];

/** A cluster for each data directory, so that a restarted service is again the same node. */
function clusterEnvironment(dataDir: string): Env {
  if (TEST_NATS === undefined) return {};
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return {
    DROVER_CLUSTER_SERVERS: JSON.stringify([TEST_NATS]),
    DROVER_CLUSTER_NAME: name,
    DROVER_CLUSTER_NODE: 'h1',
  };
}

/** Resolves when the service serves the stream of its cluster: streams that were opened before that end then. */
async function joined(url: string, hasTls: boolean): Promise<void> {
  const until = Date.now() + START_LIMIT_MS;
  // No connection stays: tests count them.
  const headers = { connection: 'close' };
  const target = hasTls ? url.replace('http:', 'https:') : url;
  for (;;) {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = hasTls ? https.get : http.get;
      request(`${target}/ready`, { headers, rejectUnauthorized: false }, resolve).on(
        'error',
        reject,
      );
    });
    const text = (await answer.toArray()).join('');
    if (answer.statusCode === 200) return;
    if (Date.now() > until) throw new Error(`the service did not join its cluster: ${text}`);
    await delay(20);
  }
}

/** Flags for that many fronts, or for one where the engine may not share a port: node:http before Node 22.12. */
export function frontFlags(fronts: number): string[] {
  const alone = TEST_ENGINE !== 'uws' && !canSharePort(process.versions.node);
  return ['--fronts', String(alone ? 1 : fronts)];
}

/** Environment of the child. Null removes a variable. */
export type Env = Record<string, string | null>;

export interface ServiceOptions {
  /** Run with the demo world and its three bots. Default false (`--no-demo`). */
  demo?: boolean;
  /** `--host`. Null omits the flag. Default 127.0.0.1. */
  host?: string | null;
  /** `--port`. Null omits the flag. Default 0. */
  port?: number | null;
  /** `--data-dir`, kept afterwards. Null omits the flag. Default: a new one, removed at the end. */
  dataDir?: string | null;
  /** Written to a file that is passed as `--config`. */
  config?: object;
  /** More arguments. */
  args?: string[];
  env?: Env;
  /** The child's working directory. Default: that of the tests. */
  cwd?: string;
  /** How many files it may have open. Default: as many as the tests. */
  openFiles?: number;
  /** A command in front of it, which ends in the service: `nsenter …` (namespaces.ts). */
  within?: readonly string[];
  /** Where clients reach it. Default 127.0.0.1. */
  address?: string;
  /** Its command. Default: that of the build; of another release: release.ts. */
  cli?: string;
  /** A descriptor for its standard error. Default: a pipe, for {@link Service.stderr}. */
  stderr?: number;
}

export interface Service extends ServiceApi {
  /** Base URL without a trailing slash, on a host that a client can reach. */
  url: string;
  port: number;
  /** The engine that it reports. */
  engine: 'uWebSockets.js' | 'node:http';
  pinPath: string;
  /** Content of the PIN file when the PIN line arrived. Undefined without a file. */
  pinFileAtStart: string | undefined;
  dataDir: string;
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Sends the signal and waits. Resolves with the exit code, or null when the child had to be killed. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Kills the process (SIGKILL), and removes its files except a given data directory. */
  kill(): Promise<void>;
}

const MAX_CONNECTIONS = Math.min(25_000, Math.floor((maxOpenFiles() ?? 50_000) / 2));

const KEEP_EXIT = fileURLToPath(new URL('keep-exit.cjs', import.meta.url));

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A new directory. The caller removes it with {@link removeDir}. */
export function makeDir(): string {
  return mkdtempSync(path.join(tmpdir(), 'drover-test-'));
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** With NODE_EXTRA_CA_CERTS, Node reads all its certificates at the start, which is a twelfth of a start's CPU time. */
const NOT_INHERITED: readonly string[] = ['NODE_OPTIONS', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS'];

function environment(changes: Env = {}): NodeJS.ProcessEnv {
  // A developer's own settings must not reach the tests.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('DROVER_') && !NOT_INHERITED.includes(name),
  );
  const env: NodeJS.ProcessEnv = Object.fromEntries(inherited);
  env['NODE_OPTIONS'] = `--require=${KEEP_EXIT}`;
  env['DROVER_ENGINE'] = TEST_ENGINE;
  // The default does not fit every machine, which is a warning.
  env['DROVER_HTTP_MAX_CONNECTIONS'] = String(MAX_CONNECTIONS);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete env[name];
    else env[name] = value;
  }
  return env;
}

/**
 * Starts the built service without waiting. It ends with the test that started it at the latest, because a test that
 * times out does not reach its own cleanup.
 */
export function launch(
  args: string[],
  env?: Env,
  cwd?: string,
  stderr: number | 'pipe' = 'pipe',
  openFiles?: number,
  within: readonly string[] = [],
  cli = CLI,
): ChildProcess {
  const limited =
    openFiles === undefined ? [] : ['sh', '-c', 'ulimit -n "$0" && exec "$@"', `${openFiles}`];
  const [command = '', ...more] = [...within, ...limited, process.execPath, cli, ...args];
  const child = spawn(command, more, {
    env: environment(env),
    cwd,
    stdio: ['ignore', 'pipe', stderr],
  });
  running.add(child);
  const closed = once(child, 'close');
  child.once('exit', () => running.delete(child));
  // A hook, or the end of the process, stops what a hook starts for several tests.
  if (TestRunner.getCurrentTest()) {
    onTestFinished(async () => {
      if (running.has(child)) child.kill('SIGKILL');
      await closed;
    });
  }
  return child;
}

/** The child's output. */
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

/** A busy machine soon triggers the CPU limit, so only tests of pressure enable it. */
const NO_PRESSURE: Env = { DROVER_PRESSURE_MAX_CPU: '1' };

const hasPressure = (config: object = {}): boolean => 'pressure' in config;

/** These clients do not know its certificate. */
const hasTls = (config: object = {}): boolean => 'tls' in config;

const hasConnections = (config: { http?: object } = {}): boolean =>
  'max_connections' in (config.http ?? {});

/** Starts the built service and waits until it reports that it listens. */
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
  const [keys, fixed] = splitConfig(options.config ?? {});
  if (options.config) {
    const file = path.join(home, 'config.json');
    writeFileSync(file, JSON.stringify(keys));
    args.push('--config', file);
  }
  const env = {
    ...(hasPressure(options.config) ? {} : NO_PRESSURE),
    ...(hasConnections(options.config) ? { DROVER_HTTP_MAX_CONNECTIONS: null } : {}),
    ...clusterEnvironment(dataDir),
    ...options.env,
  };
  const { cwd, stderr, openFiles, within, address = '127.0.0.1' } = options;
  const isFixed = Object.keys(fixed).length === 0;
  const cli = isFixed ? options.cli : FIXED_SERVICE;
  const all = [...(isFixed ? [] : [JSON.stringify(fixed)]), ...args, ...(options.args ?? [])];
  const child = launch(all, env, cwd, stderr, openFiles, within, cli);
  const output = collect(child);
  const closed = once(child, 'close');
  let ending = false;
  child.once('close', (code, signal) => {
    // After this, tests see only refused connections. The reason is only in this output.
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
  const url = `http://${address}:${greeting.port}`;
  let token: Promise<string> | undefined;
  if (TEST_NATS !== undefined) await joined(url, hasTls(options.config));
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
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ pin }),
  });
  const body = (await response.json()) as { token?: unknown };
  if (typeof body.token !== 'string') {
    throw new Error(`no token: ${response.status} ${JSON.stringify(body)}`);
  }
  return body.token;
}

export interface Ended {
  /** Null when it had to be killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a start that must fail, to its end. */
export async function runToExit(args: string[], env?: Env): Promise<Ended> {
  const child = launch(args, env);
  const output = collect(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS / 2);
  await once(child, 'close');
  clearTimeout(timer);
  return { code: child.exitCode, stdout: output.stdout(), stderr: output.stderr() };
}
