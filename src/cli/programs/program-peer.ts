// Runs in the process of a command. Owns one program that speaks protocol jsonl over its standard input and output, and
// its process group.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Json, JsonObject } from '../../client/index.js';
import { TRIAL_BOT } from '../../main/bots/kind-trial.js';
import { programEnvironment } from '../../shared/bot-environment.js';
import { Deferred } from '../../shared/deferred.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import type { TestedProgram } from './program-file.js';
import { type ProgramLine, ProgramLines, shown } from './program-lines.js';

export type Answer = { result: Json } | { error: { code: number; message: string } };

export interface Asked {
  id: number;
  /** Resolves with undefined when the program ends before it answers. */
  answer: Promise<Answer | undefined>;
}

/** Messages that a program sends unasked. */
export interface ProgramEvents {
  notified(method: string, params: JsonObject): void;
  /** A request, whose answer is sent. */
  asked(method: string, params: JsonObject): Promise<Answer>;
  /** A breach of the protocol. */
  fault(what: string): void;
  /** A line on standard error. */
  complained(line: string): void;
}

interface Waiting {
  what: string;
  answer: Deferred<Answer | undefined>;
}

/** The code of an answer that breaks the protocol. The fault was reported. */
export const NOT_VALID = 0;
/** Last lines of standard error that are kept. */
const KEPT_LINES = 3;

export class ProgramPeer {
  /** How it ended, in words: `code 3`, `SIGSEGV`. */
  readonly ended: Promise<string>;
  /** Resolves when nothing has its standard output any more. */
  readonly closed: Promise<void>;
  readonly lastErrors: string[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #events: ProgramEvents;
  readonly #waiting = new Map<number, Waiting>();
  readonly #answered = new Map<number, string>();
  #lastId = 0;
  #isOver = false;

  private constructor(child: ChildProcessWithoutNullStreams, events: ProgramEvents) {
    this.#child = child;
    this.#events = events;
    // It may have ended, which is reported separately.
    child.stdin.on('error', () => {});
    const output = new ProgramLines((line) => this.#take(line));
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    const errors = new ProgramLines((line) => this.#complained(line));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const over = new Deferred<string>();
    child.once('exit', (code, signal) => {
      this.#isOver = true;
      over.resolve(signal ?? `code ${code}`);
    });
    this.ended = over.promise;
    this.closed = new Promise((resolve) => {
      child.once('close', () => {
        const half = output.end();
        if (half !== '')
          events.fault(`its last line on standard output has no end: ${quoted(half)}`);
        for (const { answer } of this.#waiting.values()) answer.resolve(undefined);
        resolve();
      });
    });
  }

  /** @throws CliError when the program cannot be started. */
  static async start(
    program: TestedProgram,
    config: JsonObject,
    passed: readonly string[],
    events: ProgramEvents,
  ): Promise<ProgramPeer> {
    const [file = '', ...args] = program.definition.command;
    const env = programEnvironment(TRIAL_BOT, program, config, passed);
    const child = spawn(file, args, { cwd: program.cwd, env, detached: true });
    const peer = new ProgramPeer(child, events);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
        const why = code === 'ENOENT' ? 'there is no such program' : message;
        reject(new CliError(EXIT.usage, `cannot start ${file}: ${why}`));
      });
    });
    return peer;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Its process group. */
  get group(): number {
    return this.#child.pid as number;
  }

  /** @param what the request is, for faults in its answer. @returns the request as a line without its end, for {@link write}. */
  ask(what: string, method: string, params: JsonObject): Asked & { line: string } {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Deferred<Answer | undefined>();
    this.#waiting.set(id, { what, answer });
    const line = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    return { id, answer: answer.promise, line };
  }

  notify(method: string, params: JsonObject): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  closeInput(): void {
    this.#child.stdin.end();
  }

  /** @returns whether the group has a process. */
  signal(signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(-this.group, signal);
      return true;
    } catch {
      return false;
    }
  }

  #complained(line: ProgramLine): void {
    const text = 'text' in line ? line.text.replace(/\r$/, '') : line.shown;
    this.lastErrors.push(shown(text));
    if (this.lastErrors.length > KEPT_LINES) this.lastErrors.shift();
    this.#events.complained(text);
  }

  #take(line: ProgramLine): void {
    const wrong = (what: string, text: string): void => {
      this.#events.fault(`a line on standard output ${what}: ${quoted(text)}`);
    };
    if ('fault' in line) {
      wrong(line.fault, line.shown);
      return;
    }
    const { text } = line;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      wrong('is not JSON (print to standard error, or send log)', text);
      return;
    }
    if (!isObject(message)) wrong('is not a JSON object', text);
    else if (message['jsonrpc'] !== '2.0') wrong('has no "jsonrpc":"2.0"', text);
    else if (!('method' in message)) this.#takeAnswer(message, text);
    else if (typeof message['method'] !== 'string')
      wrong('has a method that is not a string', text);
    else if (!isObject(message['params'] ?? {})) wrong('has params that are not an object', text);
    else this.#takeCall(message['method'], (message['params'] ?? {}) as JsonObject, message['id']);
  }

  #takeCall(method: string, params: JsonObject, id: unknown): void {
    if (id === undefined) {
      this.#events.notified(method, params);
      return;
    }
    void this.#events.asked(method, params).then((answer) => {
      this.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
    });
  }

  #takeAnswer(message: Record<string, unknown>, text: string): void {
    const { id, result, error } = message;
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (!waiting) {
      const before = typeof id === 'number' ? this.#answered.get(id) : undefined;
      this.#events.fault(
        before === undefined
          ? `it answers the id ${JSON.stringify(id) ?? 'that is missing'}, which no request has: ${quoted(text)}`
          : `it answers ${before} twice: ${quoted(text)}`,
      );
      return;
    }
    this.#waiting.delete(id as number);
    this.#answered.set(id as number, waiting.what);
    const wrong = (what: string): void => {
      this.#events.fault(`its answer to ${waiting.what} ${what}: ${quoted(text)}`);
    };
    if ((result === undefined) === (error === undefined)) {
      wrong(`must have ${result === undefined ? '' : 'only '}one of result and error`);
    } else if (error === undefined) {
      waiting.answer.resolve({ result: result as Json });
      return;
    } else if (isObject(error) && Number.isInteger(error['code']) && isText(error['message'])) {
      waiting.answer.resolve({ error: error as { code: number; message: string } });
      return;
    } else wrong('has an error without a code (integer) and a message (string)');
    waiting.answer.resolve({ error: { code: NOT_VALID, message: 'its answer is not valid' } });
  }
}

export function quoted(text: string): string {
  return JSON.stringify(shown(text));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
