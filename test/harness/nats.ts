// Test harness. Owns NATS servers as processes: one, or several that form a NATS cluster, each on its ports with its files in a
// temporary directory.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connect,
  jetstream,
  jetstreamManager,
  type NatsConnection,
  type StreamInfo,
} from '../../src/cluster/wire/nats.js';
import { PATIENCE_MS } from './patience.js';
import { freePort } from './ports.js';

type ClusterInfo = NonNullable<StreamInfo['cluster']>;

const READY = /Server is ready/;

// Debian installs it outside the users' path.
const ENV = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };

/** Of the server that is installed, as `2.9.10`. */
export function natsVersion(): string {
  const said = execFileSync('nats-server', ['--version'], { env: ENV, encoding: 'utf8' });
  return /v(\d\S*)/.exec(said)?.[1] ?? '';
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface NatsOptions {
  /** Default true. */
  jetstream?: boolean;
  /** Bytes that JetStream may use on the disk. Default: as much as there is. */
  maxFileStore?: number;
  /** Clients need this password, or token. Default: none. */
  login?: { user: string; password: string } | { token: string };
  /** Instead of a configuration with the login alone, which has to be one of its users. */
  authorization?: string;
  /** Files. Clients connect with TLS, and with a certificate of the CA when there is one. */
  tls?: { certPath: string; keyPath: string; caPath?: string };
  /** A command in front of it: `nsenter …` (namespaces.ts). */
  within?: readonly string[];
  /** Where it listens. Default 127.0.0.1. */
  host?: string;
  /** Where its files lie. Not removed at the end. Default: a temporary directory. */
  dir?: string;
}

/** What members of a NATS cluster know of each other. */
interface Peer {
  name: string;
  route: number;
  /** Of the others, with their ports. */
  peers: string[];
}

export class NatsServer {
  readonly port: number;
  readonly dir: string;
  /** Applied by the next {@link run}. */
  options: NatsOptions;
  readonly #peer: Peer | null;
  #child: ChildProcess | undefined;
  #output = '';
  #connections: NatsConnection[] = [];

  constructor(port: number, options: NatsOptions, peer: Peer | null = null) {
    this.port = port;
    this.options = options;
    this.dir = options.dir ?? mkdtempSync(path.join(tmpdir(), 'drover-nats-'));
    this.#peer = peer;
  }

  /** One server that accepts connections. */
  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), options);
    await server.run();
    return server;
  }

  /** Its address for `cluster.servers`, with the login. */
  get url(): string {
    const { login } = this.options;
    const who = login
      ? `${'token' in login ? login.token : `${login.user}:${login.password}`}@`
      : '';
    return `${this.options.tls ? 'tls' : 'nats'}://${who}${this.host}:${this.port}`;
  }

  get host(): string {
    return this.options.host ?? '127.0.0.1';
  }

  /** Its name among the servers of a NATS cluster; null for one that is alone. */
  get name(): string | null {
    return this.#peer?.name ?? null;
  }

  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return !!child && child.exitCode === null && child.signalCode === null;
  }

  /** Everything that it has printed. */
  output(): string {
    return this.#output;
  }

  /** Starts it, or starts it again on the same port with what it has stored. Resolves when it accepts connections. */
  async run(): Promise<void> {
    if (this.isRunning) return;
    const file = path.join(this.dir, 'nats.conf');
    writeFileSync(file, this.#configuration());
    const [command = '', ...args] = [...(this.options.within ?? []), 'nats-server'];
    const child = spawn(command, [...args, '-c', file], {
      env: ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    await this.#ready(child);
  }

  /** A connection of the test, which ends with the server. */
  async connect(): Promise<NatsConnection> {
    const { login } = this.options;
    const connection = await connect({
      servers: `${this.host}:${this.port}`,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      noAsyncTraces: true,
      ...(login && 'token' in login ? login : {}),
      ...(login && 'user' in login ? { user: login.user, pass: login.password } : {}),
    });
    this.#connections.push(connection);
    return connection;
  }

  /** Ends the process; {@link run} starts it again. Its files stay. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || !this.isRunning) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    if (signal !== 'SIGKILL') child.kill('SIGCONT');
    await gone;
  }

  /** SIGSTOP: connections stay open, and nothing comes back. */
  suspend(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends it, and removes its files. */
  async stop(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    this.#connections = [];
    await this.kill();
    if (!this.options.dir) rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  #configuration(): string {
    const { jetstream = true, maxFileStore, login, authorization, tls } = this.options;
    const lines = [`listen: ${this.host}:${this.port}`];
    if (jetstream) {
      const limit = maxFileStore === undefined ? '' : `, max_file_store: ${maxFileStore}`;
      lines.push(`jetstream { store_dir: ${JSON.stringify(this.dir)}${limit} }`);
    }
    if (authorization) lines.push(authorization);
    else if (login) lines.push(`authorization ${JSON.stringify(login)}`);
    if (tls) {
      const ca = tls.caPath ? `, ca_file: ${JSON.stringify(tls.caPath)}, verify: true` : '';
      const { certPath, keyPath } = tls;
      lines.push(
        `tls { cert_file: ${JSON.stringify(certPath)}, key_file: ${JSON.stringify(keyPath)}${ca} }`,
      );
    }
    if (this.#peer) {
      const { name, route, peers } = this.#peer;
      lines.push(
        `server_name: ${name}`,
        `cluster { name: test, listen: ${this.host}:${route}, no_advertise: true, routes: ${JSON.stringify(
          peers.map((peer) => `nats://${peer}`),
        )} }`,
      );
    }
    return `${lines.join('\n')}\n`;
  }

  #ready(child: ChildProcess): Promise<void> {
    const before = this.#output.length;
    return new Promise((resolve, reject) => {
      const settle = (why: string | null): void => {
        clearTimeout(timer);
        if (why === null) resolve();
        else reject(new Error(`${why}\n${this.#output.slice(before)}`));
      };
      const timer = setTimeout(() => settle('nats-server did not start in time'), PATIENCE_MS);
      child.once('error', (error: NodeJS.ErrnoException) =>
        settle(
          error.code === 'ENOENT'
            ? 'nats-server is not installed; on Debian: apt-get install nats-server'
            : error.message,
        ),
      );
      child.once('exit', (code, signal) => settle(`nats-server has ended (${code ?? signal})`));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        if (READY.test(this.#output.slice(before))) settle(null);
      });
    });
  }
}

/** Several servers that replicate to each other. */
export class NatsCluster {
  readonly servers: readonly NatsServer[];

  private constructor(servers: NatsServer[]) {
    this.servers = servers;
  }

  /** Resolves when JetStream has a leader. @param where options of each server. */
  static async start(
    count = 3,
    options: NatsOptions = {},
    where: readonly NatsOptions[] = [],
  ): Promise<NatsCluster> {
    const routes: number[] = [];
    while (routes.length < count) routes.push(await freePort());
    const servers: NatsServer[] = [];
    for (const [index, route] of routes.entries()) {
      const peers = routes.map((port, n) => `${where[n]?.host ?? '127.0.0.1'}:${port}`);
      const peer = { name: `n${index}`, route, peers: peers.filter((_, n) => n !== index) };
      const own = { ...options, ...where[index] };
      servers.push(new NatsServer(await freePort(), own, peer));
    }
    const cluster = new NatsCluster(servers);
    await Promise.all(servers.map((server) => server.run()));
    await cluster.ready();
    return cluster;
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /** Resolves when JetStream answers to each server that runs: most of them have chosen a leader. */
  async ready(): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    for (const server of this.servers.filter(({ isRunning }) => isRunning)) {
      const connection = await server.connect();
      while (!(await hasJetStream(connection))) {
        if (Date.now() > until) throw new Error(`no leader of JetStream\n${server.output()}`);
        // Servers tell nobody that they have a leader.
        await delay(100);
      }
      await connection.close();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/** Resolves when one of these servers that runs leads the stream: to that one. @param stream of a bucket: `KV_<bucket>`. */
export async function leaderOf(
  servers: readonly NatsServer[],
  stream: string,
): Promise<NatsServer> {
  const { leader } = await clusterOf(servers, stream, () => true);
  return leader;
}

/** Resolves when all servers have all of the stream, so that any of them may be killed. */
export async function replicated(servers: readonly NatsServer[], stream: string): Promise<void> {
  await clusterOf(servers, stream, ({ replicas = [] }) =>
    replicas.every(({ current, offline, lag = 0 }) => current && !offline && lag === 0),
  );
}

async function clusterOf(
  servers: readonly NatsServer[],
  stream: string,
  fits: (info: ClusterInfo) => boolean,
): Promise<{ leader: NatsServer }> {
  const until = Date.now() + 3 * PATIENCE_MS;
  for (;;) {
    for (const server of servers.filter(({ isRunning }) => isRunning)) {
      const connection = await server.connect();
      const info = await clusterAt(connection, stream);
      await connection.close();
      const leader = servers.find(({ name }) => name === info?.leader);
      if (info && leader?.isRunning && fits(info)) return { leader };
    }
    if (Date.now() > until) throw new Error(`no server leads ${stream} as it has to`);
    await delay(100);
  }
}

async function clusterAt(
  connection: NatsConnection,
  stream: string,
): Promise<ClusterInfo | undefined> {
  try {
    const manager = await jetstreamManager(connection, { timeout: 1000 });
    return (await manager.streams.info(stream)).cluster;
  } catch {
    return undefined;
  }
}

/** How long nothing can be written, as a client of all servers sees it: it writes all the time. */
export class SilenceMeter {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  #lastAt = performance.now();
  #longestMs = 0;
  #isClosed = false;
  #run: Promise<void>;

  private constructor(connection: NatsConnection, subject: string) {
    this.#connection = connection;
    this.#subject = subject;
    this.#run = this.#write();
  }

  /** @param subject of a stream. */
  static async start(servers: readonly NatsServer[], subject: string): Promise<SilenceMeter> {
    const connection = await connect({
      servers: servers.map(({ host, port }) => `${host}:${port}`),
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      noAsyncTraces: true,
    });
    return new SilenceMeter(connection, subject);
  }

  /** The longest time between two writes that were acknowledged, since the last call of this; up to now if none was since. */
  take(): number {
    const longestMs = Math.max(this.#longestMs, performance.now() - this.#lastAt);
    this.#longestMs = 0;
    return Math.round(longestMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#run;
    await this.#connection.close();
  }

  async #write(): Promise<void> {
    const client = jetstream(this.#connection, { timeout: 250 });
    while (!this.#isClosed) {
      try {
        await client.publish(this.#subject, 'x');
        const now = performance.now();
        this.#longestMs = Math.max(this.#longestMs, now - this.#lastAt);
        this.#lastAt = now;
      } catch {
        // That is what is measured.
      }
      await delay(50);
    }
  }
}

async function hasJetStream(connection: NatsConnection): Promise<boolean> {
  try {
    await (await jetstreamManager(connection, { timeout: 1000 })).getAccountInfo();
    return true;
  } catch {
    return false;
  }
}
