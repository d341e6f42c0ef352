// The code blocks of documents, and a home directory with a shell to run them in.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, TestRunner, vi } from 'vitest';
import { makeDir, removeDir } from './service.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command line of the checkout, for a shell. */
export const CLI = `'${process.execPath}' '${ROOT}dist/src/cli/main.js'`;
/** npm's environment: this machine's registry and its cache. */
export const NPM: NodeJS.ProcessEnv = {
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? path.join(homedir(), '.npmrc'),
  npm_config_cache: process.env['npm_config_cache'] ?? path.join(homedir(), '.npm'),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
};
/** Installs the packages of a fixture as they were on that day: no lock file is needed. */
export const NPM_INSTALL = [
  'install',
  '--ignore-scripts',
  '--no-package-lock',
  '--before=2026-11-26',
];
/** Only ends a command that hangs. */
const WITHIN_MS = 240_000;
/** How long expected output may take. */
const SHOWN_WITHIN_MS = 60_000;

export interface Block {
  language: string;
  text: string;
}

/** The code blocks of a document (a path in the repository), in order. */
export function blocksOf(file: string): Block[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }));
}

/** All blocks of a document in this language. test/unit/project/docs-blocks.test.ts finds the calls: pass literals. */
export function everyBlock(file: string, language: string): string[] {
  return blocksOf(file)
    .filter((block) => block.language === language)
    .map(({ text }) => text);
}

export interface Command {
  command: string;
  /** The expected output. */
  answer: string;
}

/** The commands of a `console` block: the lines after `$`. */
export function commandsOf(block: string): Command[] {
  return [...block.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(
    ([, command = '', answer = '']) => ({ command, answer }),
  );
}

/** The only block that contains these words. Pass literals here too. */
export function docBlock(file: string, words: string): string {
  const found = blocksOf(file).filter(({ text }) => text.includes(words));
  if (found.length !== 1) throw new Error(`${file} has ${found.length} blocks with ${words}`);
  return found[0]?.text ?? '';
}

/** A reader with a new home directory and an empty working directory in it. */
export class Reader {
  readonly home = makeDir();
  readonly dir = path.join(this.home, 'work');
  readonly env: NodeJS.ProcessEnv;
  readonly port: number;

  /** @param port replaces the documented localhost:8090. */
  constructor(port: number) {
    this.port = port;
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|DROVER_|XDG_|NODE_|VITEST)/i.test(name),
    );
    this.env = {
      ...Object.fromEntries(inherited),
      PATH: `${path.join(this.home, 'bin')}:${path.dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: this.home,
      npm_config_update_notifier: 'false',
      DROVER_HTTP_PORT: String(port),
      DROVER_HTTP_HOST: '127.0.0.1',
      DROVER_URL: `http://127.0.0.1:${port}`,
    };
    mkdirSync(path.join(this.home, 'bin'));
    mkdirSync(this.dir);
    this.setCurl();
    this.command('drover', `exec ${CLI} "$@"`);
    afterTest(() => this.remove());
  }

  /** Removes the home directory. This happens automatically after a test. */
  remove(): void {
    removeDir(this.home);
  }

  /** Links the checkout as the package, where `npm install` would put it. */
  linkPackage(): void {
    mkdirSync(path.join(this.dir, 'node_modules'));
    symlinkSync(ROOT, path.join(this.dir, 'node_modules/drover'));
  }

  /** Writes curl's configuration file. */
  setCurl(...more: string[]): void {
    const connect = `connect-to = "localhost:8090:127.0.0.1:${this.port}"`;
    const lines = ['silent', 'show-error', connect, ...more];
    writeFileSync(path.join(this.home, '.curlrc'), `${lines.join('\n')}\n`);
  }

  /** Adds a command to the reader's path. */
  command(name: string, script: string): void {
    const file = path.join(this.home, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** Writes a block to the file that its first line names. */
  write(block: string): void {
    const [, name = ''] = /^(?:\/\/|#) (\S+)\n/.exec(block) ?? [];
    expect(name, block).not.toBe('');
    mkdirSync(path.dirname(path.join(this.dir, name)), { recursive: true });
    writeFileSync(path.join(this.dir, name), block);
  }

  /** Runs the service. `$TOKEN` and the command line then use its token. */
  async serve(flags = ''): Promise<{ service: Typed; pin: string }> {
    const service = this.type(`exec ${CLI} start ${flags}`);
    await service.until(/^listening on /m);
    const [, pin = ''] = /^PIN=(\d+)/.exec(service.shown()) ?? [];
    await this.run(`drover login --pin ${pin}`);
    this.env['TOKEN'] = (await this.run('drover tokens create docs --scope admin')).trim();
    return { service, pin };
  }

  /** Types lines in bash, which exits at the first failure. Resolves with the output. */
  async run(lines: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const typed = this.type(lines, env);
    expect(await typed.ended, typed.shown()).toBe(0);
    return typed.shown();
  }

  /** Types lines whose commands keep running. */
  type(lines: string, env: NodeJS.ProcessEnv = {}): Typed {
    return new Typed(lines, this.dir, { ...this.env, ...env });
  }
}

/** A hook stops what it starts for several tests. */
function afterTest(task: () => void | Promise<void>): void {
  if (TestRunner.getCurrentTest()) onTestFinished(task);
}

/** Commands that run in a terminal. */
export class Typed {
  /** The exit code, null after a kill. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #shown = '';

  constructor(lines: string, cwd: string, env: NodeJS.ProcessEnv) {
    // Its own process group, as in a terminal: Ctrl-C reaches every process, and none is left over.
    this.#child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', lines], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd,
      env,
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#shown += text;
      });
    }
    const timer = setTimeout(() => this.#signal('SIGKILL'), WITHIN_MS);
    this.ended = once(this.#child, 'exit').then(([code]) => {
      clearTimeout(timer);
      return code as number | null;
    });
    afterTest(async () => {
      this.#signal('SIGKILL');
      await this.ended;
    });
  }

  /** Standard output and standard error so far. */
  shown(): string {
    return this.#shown;
  }

  /** Waits until the output contains this. */
  async until(pattern: RegExp): Promise<string> {
    // Not expect.poll, which works only in a test: hooks start services too.
    await vi.waitFor(() => expect(this.#shown).toMatch(pattern), {
      timeout: SHOWN_WITHIN_MS,
      interval: 50,
    });
    return this.#shown;
  }

  /** Ctrl-C. Resolves with the exit code. */
  async interrupt(): Promise<number | null> {
    this.#signal('SIGINT');
    return this.ended;
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid as number), signal);
    } catch {
      // Every process of the group has ended.
    }
  }
}
