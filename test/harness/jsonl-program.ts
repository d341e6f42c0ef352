// A program of protocol jsonl, with a test as its host.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';
import { onTestFinished } from 'vitest';
import { ROOT } from './docs.js';

/** A message of the program. */
export interface Message {
  id?: number | string | null;
  method?: string;
  // What a test expects of them, it says.
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

export class JsonlProgram {
  readonly messages: Message[] = [];
  stderr = '';
  readonly #child;
  #lastId = 0;
  #changed: () => void = () => {};
  #isOver = false;

  constructor(command: [string, ...string[]]) {
    const [file, ...args] = command;
    const env = { ...process.env, PYTHONPATH: `${ROOT}/sdk/python`, PYTHONDONTWRITEBYTECODE: '1' };
    this.#child = spawn(file, args, { env });
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    readline.createInterface(this.#child.stdout).on('line', (line) => {
      this.messages.push(JSON.parse(line) as Message);
      this.#changed();
    });
    this.#child.once('close', () => {
      this.#isOver = true;
      this.#changed();
    });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  /** The first message that fits; rejects when the program ends without it. */
  async find(fits: (message: Message) => unknown): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found) return found;
      if (this.#isOver) {
        throw new Error(
          `it ended without that message: ${this.stderr}${JSON.stringify(this.messages)}`,
        );
      }
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Sends a request. @returns its id. */
  ask(method: string, params: object): number {
    this.#lastId += 1;
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id: this.#lastId, method, params })}\n`);
    return this.#lastId;
  }

  notify(method: string, params: object): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  answer(id: number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  async request(method: string, params: object): Promise<Message> {
    return this.answer(this.ask(method, params));
  }

  initialize(config: object = {}): Promise<Message> {
    return this.request('initialize', { protocol: 1, id: 'bot-1', kind: 'any', config });
  }

  command(command: string, args: object = {}): Promise<Message> {
    return this.request('command', { command, args });
  }

  /** The messages of its `log` notifications, with their levels. */
  logs(): string[] {
    return this.messages.flatMap(({ method, params }) =>
      method === 'log' ? [`${params.level} ${params.message}`] : [],
    );
  }

  closeInput(): void {
    this.#child.stdin.end();
  }

  /** The exit code, when all that it wrote was read. */
  async ended(): Promise<number | null> {
    if (!this.#isOver) await once(this.#child, 'close');
    return this.#child.exitCode;
  }

  async stop(): Promise<number | null> {
    this.notify('stop', {});
    this.closeInput();
    return this.ended();
  }
}
