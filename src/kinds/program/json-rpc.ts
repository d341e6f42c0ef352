// Runs in a bot host. Owns the requests to one program, and answers those of the program: JSON-RPC 2.0, one object a line.

import { BotError } from '../../bot-sdk/bot-error.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { isDeeper } from '../../shared/contract/json-depth.js';
import { messageOf } from '../../shared/errors.js';
import { MAX_LINE_BYTES } from './line-reader.js';

export const ERRORS = {
  unknownMethod: -32_601,
  badParams: -32_602,
  failed: -32_000,
  busy: -32_001,
} as const;

/** Requests of a program that may run at the same time; further ones are refused. */
const MAX_REQUESTS = 64;
const SHOWN_UNITS = 120;
/** Levels of nesting of a line. What handles it recurses into it, and fails at some 5,000. */
const MAX_DEPTH = 256;

/** Answers a request of the program with an error. */
export class RequestError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RpcHandlers {
  /** Writes a line. @throws BotError when the program does not take it. */
  send(line: string): void;
  notification(method: string, params: JsonObject): void;
  /** @throws RequestError */
  request(method: string, params: JsonObject): Promise<Json>;
  /** Shows what it has written, without secrets. @param units how much of it at most. */
  quote(text: string, units: number): string;
  /** The program has broken the protocol: nothing that it writes can be trusted. */
  fault(reason: string): void;
}

interface Pending {
  resolve(result: Json): void;
  reject(error: Error): void;
}

export class JsonRpc {
  readonly #handlers: RpcHandlers;
  /** Requests without an answer. Those who ask bound them. */
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #serving = 0;

  constructor(handlers: RpcHandlers) {
    this.#handlers = handlers;
  }

  /** @returns the id, and the result; it rejects with BotError. @throws BotError when the program does not read. */
  request(method: string, params: JsonObject): { id: number; result: Promise<Json> } {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#send({ jsonrpc: '2.0', id, method, params });
    const result = new Promise<Json>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    return { id, result };
  }

  /** Nobody waits for it any more. Its answer is ignored. */
  forget(id: number): void {
    this.#pending.delete(id);
  }

  /** @throws BotError when the program does not read. */
  notify(method: string, params: JsonObject): void {
    this.#send({ jsonrpc: '2.0', method, params });
  }

  /** The program has ended: no answer comes any more. */
  close(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  /** Takes a line of the program. @param cutBytes of a line that was too long. */
  receive(line: string, cutBytes: number): void {
    if (cutBytes > 0) {
      this.#handlers.fault(`the program wrote a line of more than ${MAX_LINE_BYTES} bytes`);
      return;
    }
    if (line.trim() === '') return;
    if (line.length > 2 * MAX_DEPTH && isDeeper(Buffer.from(line), MAX_DEPTH)) {
      this.#handlers.fault(
        `the program wrote a line that is nested too deep: ${this.#shown(line)}`,
      );
      return;
    }
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#handlers.fault(`the program wrote a line that is no JSON: ${this.#shown(line)}`);
      return;
    }
    if (!isObject(message)) {
      this.#handlers.fault(`the program wrote a line that is no JSON object: ${this.#shown(line)}`);
      return;
    }
    this.#take(message, line);
  }

  #take(message: JsonObject, line: string): void {
    const { id, method, params = {} } = message;
    if (typeof method === 'string') {
      if (!isObject(params)) {
        this.#handlers.fault(`the program wrote params that are no object: ${this.#shown(line)}`);
      } else if (id === undefined) this.#handlers.notification(method, params);
      else void this.#serve(id, method, params);
    } else if (id !== undefined && ('result' in message || 'error' in message)) {
      this.#answered(id, message, line);
    } else {
      this.#handlers.fault(
        `the program wrote an object that is neither a request nor an answer: ${this.#shown(line)}`,
      );
    }
  }

  #answered(id: Json, { result = null, error }: JsonObject, line: string): void {
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (!pending || typeof id !== 'number') {
      // That of a request that was given up, or a second one.
      if (typeof id === 'number' && id >= 1 && id <= this.#lastId) return;
      this.#handlers.fault(
        `the program answered the id ${JSON.stringify(id)}, which was not asked: ${this.#shown(line)}`,
      );
      return;
    }
    this.#pending.delete(id);
    if (error === undefined || error === null) pending.resolve(result);
    else pending.reject(errorOf(error));
  }

  async #serve(id: Json, method: string, params: JsonObject): Promise<void> {
    let answer: JsonObject;
    try {
      if (this.#serving >= MAX_REQUESTS) {
        throw new RequestError(ERRORS.busy, `more than ${MAX_REQUESTS} requests at the same time`);
      }
      this.#serving += 1;
      try {
        answer = { jsonrpc: '2.0', id, result: await this.#handlers.request(method, params) };
        // A program may rely on the length of a line, too.
        if (Buffer.byteLength(JSON.stringify(answer)) > MAX_LINE_BYTES) {
          throw new RequestError(
            ERRORS.failed,
            `the answer is longer than ${MAX_LINE_BYTES} bytes`,
          );
        }
      } finally {
        this.#serving -= 1;
      }
    } catch (thrown) {
      const code = thrown instanceof RequestError ? thrown.code : ERRORS.failed;
      answer = { jsonrpc: '2.0', id, error: { code, message: messageOf(thrown) } };
    }
    try {
      this.#send(answer);
    } catch {
      // It has ended, or does not read: its next command says so.
    }
  }

  #shown(line: string): string {
    return JSON.stringify(this.#handlers.quote(line, SHOWN_UNITS));
  }

  #send(message: JsonObject): void {
    const line = JSON.stringify(message);
    if (line.length > MAX_LINE_BYTES || Buffer.byteLength(line) > MAX_LINE_BYTES) {
      throw new BotError(`a message to the program is longer than ${MAX_LINE_BYTES} bytes`);
    }
    this.#handlers.send(`${line}\n`);
  }
}

function errorOf(error: Json): BotError {
  const { code, message } = isObject(error) ? error : {};
  const text = typeof message === 'string' && message !== '' ? message : JSON.stringify(error);
  // -32000 says no more than that it is an error.
  const tells = typeof code === 'number' && code !== ERRORS.failed;
  return new BotError(text, tells ? { code: String(code) } : {});
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
