// Runs in the command line. Owns the processes of `drover cluster try` and their directory.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { messageOf } from '../../shared/errors.js';
import { PROGRAMS } from '../../shared/package-paths.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { stopSignal } from '../stop-signals.js';
import { complain } from '../terminal/action.js';
import type { KeeperMessage, KeeperOptions, TryNodeOptions } from './try-options.js';

/** Nodes get this long to stop, in ms; then they are killed. The command itself has 9.5 s. */
const STOP_MS = 6000;
/** Shorter than the default, so that there is something to see soon after a node was killed. */
const LEASE_MS = 5000;

/** Of a node that does not start, the last lines are kept. */
const MAX_EARLY_LINES = 20;

export interface TryNode {
  name: string;
  url: string;
  pin: string;
  pid: number;
}

/** The NATS servers that the nodes use. */
export interface TryNats {
  servers: string[];
  /** Of the server that was started; null for servers that run already. */
  pid: number | null;
}

interface Part {
  name: string;
  child: ChildProcess;
  isEnded: boolean;
}

/** The processes are in groups other than the terminal's: a Ctrl-C is for the command, which stops them in order. */
export class TryCluster {
  readonly #dir: string;
  readonly #name: string;
  readonly #nodes: Part[] = [];
  readonly #failed = new AbortController();
  readonly #ended = AbortSignal.any([this.#failed.signal, stopSignal]);
  readonly #onNodeEnd: (name: string, how: string) => void;
  #keeper: ChildProcess | undefined;
  #isStopping = false;

  /** @param onNodeEnd is called for nodes that were killed, after they ran. @throws CliError */
  constructor(onNodeEnd: (name: string, how: string) => void) {
    this.#onNodeEnd = onNodeEnd;
    try {
      this.#dir = mkdtempSync(join(tmpdir(), 'drover-try-'));
    } catch (thrown) {
      const why = messageOf(thrown);
      throw new CliError(EXIT.failed, `cannot create a temporary directory: ${why}`);
    }
    // Other clusters may be on the same NATS servers. Names have no underscore.
    this.#name = basename(this.#dir).replace('drover-', '').replaceAll('_', '-').replace(/-$/, '');
  }

  get dir(): string {
    return this.#dir;
  }

  /** Aborted by a stop signal, and with a CliError when the cluster cannot continue. */
  get ended(): AbortSignal {
    return this.#ended;
  }

  /** Starts the NATS server, or uses those that run. */
  async startNats(program: string | null, servers: string[]): Promise<TryNats> {
    const dir = this.#newDir('nats');
    const options: KeeperOptions = { name: this.#name, program, servers, dir };
    const keeper = this.#spawn(PROGRAMS.natsKeeper, options, {});
    createInterface(keeper.stderr as NodeJS.ReadableStream).on('line', (line) => complain(line));
    this.#keeper = keeper;
    const messages = once(keeper, 'message', { signal: this.#ended });
    keeper.on('message', (message: KeeperMessage) => {
      if ('error' in message) this.#fail(message.error);
    });
    keeper.once('exit', () => this.#fail('the process that keeps the NATS server has ended'));
    const [message] = (await messages.catch(this.#rethrow)) as [KeeperMessage];
    if ('error' in message) throw new CliError(EXIT.failed, message.error);
    return message;
  }

  /** @returns where it listens, once it does. */
  async startNode(name: string, port: number, servers: string[]): Promise<TryNode> {
    const options: TryNodeOptions = { name, port, dir: this.#newDir(name) };
    const child = this.#spawn(PROGRAMS.tryNode, options, {
      DROVER_CLUSTER_SERVERS: JSON.stringify(servers),
      DROVER_CLUSTER_NAME: this.#name,
      DROVER_CLUSTER_NODE: name,
      DROVER_CLUSTER_LEASE_MS: String(LEASE_MS),
    });
    const part: Part = { name, child, isEnded: false };
    this.#nodes.push(part);
    /** What it says before it is up: warnings, or why it does not start. */
    const early: string[] = [];
    let isUp = false;
    createInterface(child.stderr as NodeJS.ReadableStream).on('line', (line) => {
      const text = line.replace(/^drover: /, '');
      if (isUp) complain(`${name}: ${text}`);
      else if (early.push(text) > MAX_EARLY_LINES) early.shift();
    });
    child.once('exit', (code, signal) => {
      part.isEnded = true;
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      // Killing nodes is what this command is for. A node that ends by itself is broken.
      if (isUp && signal !== null && this.#nodes.some(({ isEnded }) => !isEnded)) {
        if (!this.#isStopping) this.#onNodeEnd(name, how);
      } else this.#fail(isUp ? `${name} ${how}` : `${name} did not start: ${early.at(-1) ?? how}`);
    });
    const node = await this.#listening(name, child);
    isUp = true;
    for (const line of early) complain(`${name}: ${line}`);
    return node;
  }

  async #listening(name: string, child: ChildProcess): Promise<TryNode> {
    let pin: string | undefined;
    const lines = createInterface(child.stdout as NodeJS.ReadableStream);
    return await new Promise<TryNode>((resolve, reject) => {
      this.#ended.addEventListener('abort', () => reject(this.#ended.reason), { once: true });
      lines.on('line', (line) => {
        pin ??= /^PIN=(\d+)/.exec(line)?.[1];
        const url = /^listening on (\S+)$/.exec(line)?.[1];
        if (url === undefined) return;
        resolve({ name, url, pin: pin ?? '', pid: child.pid ?? 0 });
      });
    });
  }

  /** Stops everything and removes the directory. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const running = this.#nodes.filter(({ isEnded }) => !isEnded).map(({ child }) => child);
    await Promise.all(running.map((child) => end(child, () => child.disconnect())));
    const keeper = this.#keeper;
    if (keeper?.exitCode === null) await end(keeper, () => keeper.send('end'));
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #newDir(name: string): string {
    const dir = join(this.#dir, name);
    mkdirSync(dir, { mode: 0o700 });
    return dir;
  }

  #spawn(program: string, options: object, env: Record<string, string>): ChildProcess {
    const plain = Object.entries(process.env).filter(([name]) => !name.startsWith('DROVER_'));
    return spawn(process.execPath, [program, JSON.stringify(options)], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...Object.fromEntries(plain), ...env },
    });
  }

  #fail(message: string): void {
    if (!this.#isStopping) this.#failed.abort(new CliError(EXIT.failed, message));
  }

  readonly #rethrow = (thrown: unknown): never => {
    throw this.#ended.aborted ? this.#ended.reason : thrown;
  };
}

/** Asks a process to end, and kills it when it does not. */
async function end(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) ask();
  const hard = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(hard);
}
