// Test harness: the code blocks of documents, and a home directory with a shell to type them in.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, TestRunner } from 'vitest';
import { makeDir, removeDir } from './service.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command line of the checkout, for a shell. */
export const CLI = `'${process.execPath}' '${ROOT}dist/src/cli/main.js'`;
/** Environment of npm, where it is to have the registry of this machine and what was fetched before. */
export const NPM: NodeJS.ProcessEnv = {
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? path.join(homedir(), '.npmrc'),
  npm_config_cache: process.env['npm_config_cache'] ?? path.join(homedir(), '.npm'),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
};
/** Only ends what hangs. */
const WITHIN_MS = 240_000;
/** How long something may take to be shown. */
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

/** All blocks of a document in this language. test/unit/project/docs-blocks.test.ts looks for calls of this: give it literals. */
export function everyBlock(file: string, language: string): string[] {
  return blocksOf(file)
    .filter((block) => block.language === language)
    .map(({ text }) => text);
}

export interface Command {
  command: string;
  /** What is shown then. */
  answer: string;
}

/** The commands of a `console` block: they stand behind `$`. */
export function commandsOf(block: string): Command[] {
  return [...block.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(
    ([, command = '', answer = '']) => ({ command, answer }),
  );
}

/** The one block that has these words in it; looked for in the same way. */
export function docBlock(file: string, words: string): string {
  const found = blocksOf(file).filter(({ text }) => text.includes(words));
  if (found.length !== 1) throw new Error(`${file} has ${found.length} blocks with ${words}`);
  return found[0]?.text ?? '';
}

/** Somebody with a fresh home, and an empty directory in it where they work. */
export class Reader {
  readonly home = makeDir();
  readonly dir = path.join(this.home, 'work');
  readonly env: NodeJS.ProcessEnv;
  readonly port: number;

  /** @param port where localhost:8090, as documents have it, really is. */
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

  /** Takes the home away; after a test that happens by itself. */
  remove(): void {
    removeDir(this.home);
  }

  /** The checkout as the package, where `npm install` would have put it. */
  linkPackage(): void {
    mkdirSync(path.join(this.dir, 'node_modules'));
    symlinkSync(ROOT, path.join(this.dir, 'node_modules/drover'));
  }

  /** What curl takes from its configuration file. */
  setCurl(...more: string[]): void {
    const connect = `connect-to = "localhost:8090:127.0.0.1:${this.port}"`;
    const lines = ['silent', 'show-error', connect, ...more];
    writeFileSync(path.join(this.home, '.curlrc'), `${lines.join('\n')}\n`);
  }

  /** A command of the reader's own. */
  command(name: string, script: string): void {
    const file = path.join(this.home, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** Writes a block that says in its first line which file it is. */
  write(block: string): void {
    const [, name = ''] = /^(?:\/\/|#) (\S+)\n/.exec(block) ?? [];
    expect(name, block).not.toBe('');
    mkdirSync(path.dirname(path.join(this.dir, name)), { recursive: true });
    writeFileSync(path.join(this.dir, name), block);
  }

  /** Runs the service; its token is `$TOKEN` from then on, and the command line's. */
  async serve(flags = ''): Promise<{ service: Typed; pin: string }> {
    const service = this.type(`exec ${CLI} start ${flags}`);
    await service.until(/^listening on /m);
    const [, pin = ''] = /^PIN=(\d+)/.exec(service.shown()) ?? [];
    await this.run(`drover login --pin ${pin}`);
    this.env['TOKEN'] = (await this.run('drover tokens create docs --scope admin')).trim();
    return { service, pin };
  }

  /** Types lines in bash, which exits at the first failure. Resolves with what is shown. */
  async run(lines: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const typed = this.type(lines, env);
    expect(await typed.ended, typed.shown()).toBe(0);
    return typed.shown();
  }

  /** Types lines that do not end by themselves. */
  type(lines: string, env: NodeJS.ProcessEnv = {}): Typed {
    return new Typed(lines, this.dir, { ...this.env, ...env });
  }
}

/** What a hook starts for many tests is the hook's to end. */
function afterTest(task: () => void | Promise<void>): void {
  if (TestRunner.getCurrentTest()) onTestFinished(task);
}

/** What was typed in a terminal. */
export class Typed {
  /** The exit code, null when it was killed. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #shown = '';

  constructor(lines: string, cwd: string, env: NodeJS.ProcessEnv) {
    // Its own process group, as a terminal has it: Ctrl-C is for all of it, and nothing stays behind.
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

  /** Standard output and standard error until now. */
  shown(): string {
    return this.#shown;
  }

  /** Waits until this is shown. */
  async until(pattern: RegExp): Promise<string> {
    await expect
      .poll(() => this.#shown, { timeout: SHOWN_WITHIN_MS, interval: 50 })
      .toMatch(pattern);
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
      // All of it has ended.
    }
  }
}
