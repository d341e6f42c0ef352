// Used by every thread that calls another. Owns the open calls over one MessagePort, typed on both sides.

import type { MessagePort, Transferable } from 'node:worker_threads';
import { DroverError, messageOf, type PlainError } from '../errors.js';
import { complain } from '../terminal.js';
import { ownThread } from '../thread-waits.js';
import { nowRuns } from '../turn.js';

/** The methods that a thread offers to its peer: names with one input and one output, both structured-cloneable. */
export type Methods = { [name: string]: (input: never) => unknown };

/**
 * What the offering thread writes: each method may answer at once or later.
 * `cancelled` is present when the caller passed a signal, and is aborted when the caller no longer waits for the answer.
 */
export type Serves<M extends Methods> = {
  [K in keyof M]: (
    input: Input<M, K>,
    cancelled?: AbortSignal,
  ) => Output<M, K> | Handover<Output<M, K>> | Promise<Output<M, K> | Handover<Output<M, K>>>;
};

/** An output whose parts are transferred instead of copied. */
export class Handover<T> {
  readonly output: T;
  readonly transfer: Transferable[];

  constructor(output: T, transfer: Transferable[]) {
    this.output = output;
    this.transfer = transfer;
  }

  /**
   * Transfers the bytes in this field. A small Buffer is part of a pool that Node does not let anybody transfer: such bytes are
   * copied first.
   */
  static bytes<K extends string, T extends Record<K, Uint8Array>>(
    output: T,
    field: K,
  ): Handover<T> {
    let bytes: Uint8Array = output[field];
    if (bytes.byteLength !== bytes.buffer.byteLength) bytes = new Uint8Array(bytes);
    return new Handover({ ...output, [field]: bytes }, [bytes.buffer as ArrayBuffer]);
  }
}

type Input<M extends Methods, K extends keyof M> = Parameters<M[K]>[0];
type Output<M extends Methods, K extends keyof M> = Awaited<ReturnType<M[K]>>;

type Message =
  | { type: 'call'; id: number; method: string; input: unknown; cancellable?: true }
  | { type: 'cancel'; id: number }
  | { type: 'ping'; id: number }
  | { type: 'tell'; method: string; input: unknown }
  | { type: 'return'; id: number; output: unknown }
  | { type: 'throw'; id: number; error: PlainError };

interface Pending {
  resolve(output: unknown): void;
  reject(error: Error): void;
  /** Where the call is counted: the index of a reserve, or {@link COMMON}. */
  share: number;
}

/** The share of the calls that are in no reserve. */
const COMMON = -1;

/** `Retry-After` of a call above the bound, in s: open calls end within a few seconds. */
const RETRY_AFTER_S = 1;

/** The common part of Worker, parentPort and MessagePort. */
export type RpcPort = Pick<MessagePort, 'postMessage'> & {
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/** How many calls may be open at once. */
export interface CallBounds<Remote extends Methods> {
  open: number;
  /**
   * Additional calls for some methods, which must get through while others wait long, and take no places from those. A method
   * is in one reserve at most.
   */
  reserves?: readonly { calls: number; methods: ReadonlySet<keyof Remote> }[];
}

/**
 * One end of a two-way call channel. `Local` is what this end offers, `Remote` what the other end does.
 * The calls that wait for an answer are the one queue here. The fronts bound it (src/front/routes/control.ts): a call above its bound
 * rejects with `overloaded` and is not sent. That bounds the work of main, and with it the calls that main makes in turn, so
 * that main's own ends need no bound.
 * Messages keep their order, so a `tell` before a `call` is handled before it.
 */
export class Rpc<Local extends Methods, Remote extends Methods> {
  readonly #port: RpcPort;
  #methods: Partial<Serves<Local>>;
  readonly #pending = new Map<number, Pending>();
  /** Calls of the peer that run here and can be cancelled, by id. */
  readonly #cancellable = new Map<number, AbortController>();
  readonly #bounds: CallBounds<Remote>;
  /** Open calls that are counted in a reserve, for each. */
  readonly #reserved: number[];
  #nextId = 1;
  #closed: Error | undefined;

  /** @param methods null: {@link serve} is called before the thread takes its first message. */
  constructor(
    port: RpcPort,
    methods: Serves<Local> | null,
    bounds: CallBounds<Remote> = { open: Number.POSITIVE_INFINITY },
  ) {
    this.#port = port;
    this.#methods = methods ?? {};
    this.#bounds = bounds;
    this.#reserved = (bounds.reserves ?? []).map(() => 0);
    port.on('message', (message) => this.#receive(message as Message));
  }

  /** Sets the methods for the peer, where these need the peer itself. */
  serve(methods: Serves<Local>): void {
    this.#methods = methods;
  }

  /**
   * Calls the peer and resolves with its answer. Rejects with the peer's DroverError, with a bare
   * `internal` when the peer threw anything else, with `overloaded` when too many calls
   * are open, or when closed.
   */
  call<K extends keyof Remote & string>(
    method: K,
    input: Input<Remote, K>,
    transfer: Transferable[] = [],
  ): Promise<Output<Remote, K>> {
    return this.#call({ type: 'call', id: this.#nextId++, method, input }, transfer);
  }

  /**
   * The same for a call that can be cancelled: when `signal` is aborted the peer's method is told, and decides what it
   * answers. An aborted signal still makes the call.
   */
  async cancellableCall<K extends keyof Remote & string>(
    method: K,
    input: Input<Remote, K>,
    signal: AbortSignal,
    transfer: Transferable[] = [],
  ): Promise<Output<Remote, K>> {
    const id = this.#nextId++;
    const answer = this.#call<K>({ type: 'call', id, method, input, cancellable: true }, transfer);
    const cancel = (): void => {
      if (!this.#closed) this.#post({ type: 'cancel', id });
    };
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel);
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Resolves with the system's id of the peer's thread when its loop has turned: every peer answers this, and does nothing for it. */
  ping(): Promise<number> {
    if (this.#closed) return Promise.reject(this.#closed);
    return this.#ask({ type: 'ping', id: this.#nextId++ }, COMMON, []);
  }

  #call<K extends keyof Remote & string>(
    message: Message & { type: 'call' },
    transfer: Transferable[],
  ): Promise<Output<Remote, K>> {
    if (this.#closed) return Promise.reject(this.#closed);
    const share = this.#shareOf(message.method);
    if (share === undefined) {
      return Promise.reject(new DroverError('overloaded', undefined, RETRY_AFTER_S));
    }
    return this.#ask(message, share, transfer);
  }

  #ask<T>(
    message: Message & { type: 'call' | 'ping' },
    share: number,
    transfer: Transferable[],
  ): Promise<T> {
    const { id } = message;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (output) => resolve(output as T), reject, share });
      this.#count(share, 1);
      try {
        this.#post(message, transfer);
      } catch (thrown) {
        this.#take(id);
        throw thrown;
      }
    });
  }

  /** Where one more call is counted; undefined when there is no room for it. */
  #shareOf(method: string): number | undefined {
    const { open, reserves = [] } = this.#bounds;
    const share = reserves.findIndex(({ methods }) => methods.has(method));
    const used = this.#reserved[share];
    if (used !== undefined && used < (reserves[share]?.calls ?? 0)) return share;
    const inReserves = this.#reserved.reduce((sum, calls) => sum + calls, 0);
    return this.#pending.size - inReserves < open ? COMMON : undefined;
  }

  #count(share: number, change: 1 | -1): void {
    if (share !== COMMON) this.#reserved[share] = (this.#reserved[share] ?? 0) + change;
  }

  /** Sends the peer a message that needs no answer. */
  tell<K extends keyof Remote & string>(
    method: K,
    input: Input<Remote, K>,
    transfer: Transferable[] = [],
  ): void {
    if (!this.#closed) this.#post({ type: 'tell', method, input }, transfer);
  }

  /** The peer is gone: rejects every open call, and cancels the calls that run here for it. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
    for (const running of this.#cancellable.values()) running.abort();
  }

  #post(message: Message, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: Message): void {
    switch (message.type) {
      case 'call':
        void this.#answer(message);
        return;
      case 'cancel':
        this.#cancellable.get(message.id)?.abort();
        return;
      case 'ping':
        this.#post({ type: 'return', id: message.id, output: ownThread() });
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
    if (!pending) return undefined;
    this.#pending.delete(id);
    this.#count(pending.share, -1);
    return pending;
  }

  #invoke(method: string, input: unknown, cancelled?: AbortSignal): unknown {
    if (!Object.hasOwn(this.#methods, method)) throw new Error(`no method ${method}`);
    const handler = this.#methods[method as keyof Local] as (
      input: unknown,
      cancelled?: AbortSignal,
    ) => unknown;
    nowRuns(method);
    return handler(input, cancelled);
  }

  async #answer({ id, method, input, cancellable }: Message & { type: 'call' }): Promise<void> {
    let reply: Message;
    let transfer: Transferable[] = [];
    const cancel = cancellable ? new AbortController() : undefined;
    if (cancel) this.#cancellable.set(id, cancel);
    try {
      let output = await this.#invoke(method, input, cancel?.signal);
      if (output instanceof Handover) ({ output, transfer } = output);
      reply = { type: 'return', id, output };
    } catch (thrown) {
      reply = { type: 'throw', id, error: answerable(method, thrown).toPlain() };
    } finally {
      this.#cancellable.delete(id);
    }
    try {
      this.#post(reply, transfer);
    } catch (thrown) {
      // The output cannot be cloned (a function, a symbol): the caller must still get an answer.
      this.#post({ type: 'throw', id, error: answerable(method, thrown).toPlain() });
    }
  }
}

/**
 * The error that a caller gets. It may reach a client, so only a DroverError keeps its message; all others are logged to
 * standard error for the operator.
 */
export function answerable(method: string, thrown: unknown): DroverError {
  if (thrown instanceof DroverError) return thrown;
  complain(`${method} failed: ${messageOf(thrown)}`);
  return new DroverError('internal');
}
