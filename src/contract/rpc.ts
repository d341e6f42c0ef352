// Used by every thread that calls another. Owns request and answer over a MessagePort, typed on both sides.

import type { MessagePort, Transferable } from 'node:worker_threads';
import { DroverError, messageOf, type PlainError } from '../errors.js';

/** What a thread offers to its peer: names with one input and one output, both structured-cloneable. */
export type Methods = { [name: string]: (input: never) => unknown };

/** What the offering thread writes: each method may answer at once or later. */
export type Serves<M extends Methods> = {
  [K in keyof M]: (input: Input<M, K>) => Output<M, K> | Promise<Output<M, K>>;
};

type Input<M extends Methods, K extends keyof M> = Parameters<M[K]>[0];
type Output<M extends Methods, K extends keyof M> = Awaited<ReturnType<M[K]>>;

type Message =
  | { type: 'call'; id: number; method: string; input: unknown }
  | { type: 'tell'; method: string; input: unknown }
  | { type: 'return'; id: number; output: unknown }
  | { type: 'throw'; id: number; error: PlainError };

interface Pending {
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** What a port offers here: Worker, parentPort and MessagePort all have it. */
export type RpcPort = Pick<MessagePort, 'postMessage'> & {
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/**
 * One end of a two-way call channel. `Local` is what this end offers, `Remote` what the other end does.
 * Calls are unbounded in number here: the front bounds requests in flight, which bounds the calls they cause.
 * Messages keep their order, so a `tell` before a `call` is handled before it.
 */
export class Rpc<Local extends Methods, Remote extends Methods> {
  readonly #port: RpcPort;
  readonly #methods: Serves<Local>;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #closed: Error | undefined;

  constructor(port: RpcPort, methods: Serves<Local>) {
    this.#port = port;
    this.#methods = methods;
    port.on('message', (message) => this.#receive(message as Message));
  }

  /** Calls the peer and resolves with its answer. Rejects with the peer's DroverError, or when closed. */
  call<K extends keyof Remote & string>(
    method: K,
    input: Input<Remote, K>,
    transfer: Transferable[] = [],
  ): Promise<Output<Remote, K>> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (output) => resolve(output as Output<Remote, K>), reject });
      try {
        this.#post({ type: 'call', id, method, input }, transfer);
      } catch (thrown) {
        this.#pending.delete(id);
        throw thrown;
      }
    });
  }

  /** Tells the peer something that needs no answer. */
  tell<K extends keyof Remote & string>(
    method: K,
    input: Input<Remote, K>,
    transfer: Transferable[] = [],
  ): void {
    if (!this.#closed) this.#post({ type: 'tell', method, input }, transfer);
  }

  /** Rejects every open call: the peer is gone. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
  }

  #post(message: Message, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: Message): void {
    switch (message.type) {
      case 'call':
        void this.#answer(message.id, message.method, message.input);
        return;
      case 'tell':
        void this.#invoke(message.method, message.input);
        return;
      case 'return': {
        const pending = this.#take(message.id);
        pending?.resolve(message.output);
        return;
      }
      case 'throw': {
        const pending = this.#take(message.id);
        pending?.reject(DroverError.fromPlain(message.error));
      }
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #invoke(method: string, input: unknown): unknown {
    const handler = this.#methods[method as keyof Local] as
      | ((input: unknown) => unknown)
      | undefined;
    if (!handler) throw new Error(`no method ${method}`);
    return handler(input);
  }

  async #answer(id: number, method: string, input: unknown): Promise<void> {
    let reply: Message;
    try {
      reply = { type: 'return', id, output: await this.#invoke(method, input) };
    } catch (thrown) {
      const error =
        thrown instanceof DroverError ? thrown : new DroverError('internal', messageOf(thrown));
      reply = { type: 'throw', id, error: error.toPlain() };
    }
    try {
      this.#post(reply);
    } catch (thrown) {
      // The output cannot be cloned (a function, a symbol): the caller must still hear of it.
      const error = new DroverError('internal', messageOf(thrown));
      this.#post({ type: 'throw', id, error: error.toPlain() });
    }
  }
}
