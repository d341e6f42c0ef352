// In main and in the bus thread. Owns the calls of this node to those threads of others, by request and reply over NATS: the one way in
// which nodes ask each other.

import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { LeaseClocks } from '../../shared/memory/lease-deadline.js';
import { errorOf } from './bus-validators.js';
import {
  type AnswerMessage,
  answerContext,
  type CallCheck,
  type CallMessage,
  type CallsKind,
  decode,
  encode,
  MAX_ANSWER_BYTES,
  partContext,
  type Received,
  UntrustedMessage,
} from './call-messages.js';
import type { CallResults } from './call-results.js';
import { type CallMethods, CallServer, USUAL_PAYLOAD_BYTES } from './call-server.js';
import { PROTOCOL } from './names.js';
import type { Msg, NatsConnection, Subscription } from './nats.js';
import { newInbox } from './nats-options.js';
import { SendTimes } from './send-times.js';
import type { Signer } from './signer.js';

/** Calls that wait for an answer at once. Another is refused as `overloaded`. */
const MAX_OPEN = 20_000;
const RETRY_AFTER_S = 1;
/** While NATS is away for longer than this, in ms, calls are refused at once; before that they wait for it. */
const PATIENCE_MS = 2000;
/** The node of a repeated call may still be connecting again: it is asked so often, in ms. */
const AGAIN_MS = 100;
/** Status that NATS answers with when nobody listens to the subject. */
const NO_RESPONDERS = 503;
const NEVER = new AbortController().signal;
const inflate = promisify(inflateRaw);
export const CUT_OFF = 'this node is cut off from NATS';

export interface CallsOptions extends CallsKind {
  /** Name of this node. */
  node: string;
  signer: Signer;
  check: CallCheck;
  /** For tests. */
  results?: CallResults;
  clocks?: LeaseClocks;
}

/** Calls to nodes. */
export interface Calls {
  /**
   * Inputs are JSON, answers JSON or bytes. A call of this node itself is no message.
   * @param deadlineMs how long the caller waits. The call has a random id: a node that gets it again answers with the first result.
   * @param gone the client has gone: the other node is told, and decides what it answers.
   * @throws DroverError that the other node threw; `unavailable` at once when the node does not answer to its name, or after the
   *   deadline; `too_large` when the input is longer than a message of NATS.
   */
  call(
    node: string,
    method: string,
    input: unknown,
    deadlineMs: number,
    gone?: AbortSignal,
  ): Promise<unknown>;
  /** What this node does when others call it; adds to what it did before. */
  serve(methods: CallMethods): void;
}

/** A message that waits for its answer. */
class Exchange {
  readonly node: string;
  readonly message: CallMessage;
  /** Something came to its inbox. */
  readonly take: (data: Uint8Array) => void;
  readonly fail: (error: DroverError) => void;
  /** It may have reached the node already. */
  isRepeated = false;
  retry: NodeJS.Timeout | undefined;

  constructor(
    node: string,
    message: CallMessage,
    take: (data: Uint8Array) => void,
    fail: (error: DroverError) => void,
  ) {
    this.node = node;
    this.message = message;
    this.take = take;
    this.fail = fail;
  }
}

/** Repeats what was asked when the connection was lost: the other node knows the call by its id (call-results.ts). */
export class NodeCalls implements Calls {
  readonly #nats: NatsConnection;
  readonly #options: CallsOptions;
  /** By the name that is called: that of this node, and others that stand for several. */
  readonly #servers = new Map<string, CallServer>();
  readonly #times: SendTimes;
  readonly #inbox: string;
  readonly #replies: Subscription;
  readonly #open = new Map<string, Exchange>();
  #lastExchange = 0;
  /** Since when NATS is away, monotonic in ms; null when it is there. */
  #awaySince: number | null = null;
  #isClosed = false;

  constructor(nats: NatsConnection, options: CallsOptions) {
    this.#nats = nats;
    this.#options = options;
    this.#inbox = newInbox(nats);
    this.#times = new SendTimes(options.clocks);
    this.serve({});
    this.#replies = nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (!error) this.#reply(message);
      },
    });
    void this.#follow();
  }

  /** @param node another name that stands for this node too. */
  serve(methods: CallMethods, node = this.#options.node): void {
    const known = this.#servers.get(node);
    const server =
      known ?? new CallServer(this.#nats, { ...this.#options, node, times: this.#times });
    this.#servers.set(node, server);
    server.serve(methods);
  }

  /** As if this node were not there, for calls of that name, until it serves them again. */
  pause(node: string): void {
    this.#servers.get(node)?.pause();
  }

  async call(
    node: string,
    method: string,
    input: unknown,
    deadlineMs: number,
    gone?: AbortSignal,
  ): Promise<unknown> {
    const own = node === this.#options.node && this.#servers.get(node);
    if (own) return own.run(method, input, gone ?? NEVER);
    const id = randomUUID();
    const message = { v: PROTOCOL, id, method, input, deadline_ms: deadlineMs };
    const until = performance.now() + deadlineMs;
    const cancel = (): void => this.#publish(node, { v: PROTOCOL, id, cancel: true });
    gone?.addEventListener('abort', cancel, { once: true });
    try {
      const read = (data: Uint8Array) => this.#read(node, id, data);
      const asked = this.#ask(node, message, until, read, cancel);
      // NATS keeps the order of one connection: it comes after the call.
      if (gone?.aborted) cancel();
      const result = await this.#resultOf(node, id, await asked, until);
      this.#checkAnswer(node, method, result);
      return result;
    } finally {
      gone?.removeEventListener('abort', cancel);
    }
  }

  /** Calls that wait get an error. */
  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers.values()) server.close();
    this.#replies.unsubscribe();
    for (const { fail } of this.#open.values()) fail(new DroverError('unavailable'));
  }

  async #resultOf(
    node: string,
    id: string,
    { message: answer, bytes: packed }: Received<AnswerMessage>,
    until: number,
  ): Promise<unknown> {
    if (answer.error) throw errorOf(answer.error);
    if (packed) return inflated(node, packed);
    if (answer.parts === undefined) return answer.result;
    const found: Uint8Array[] = [];
    let bytes = 0;
    for (let part = 0; part < answer.parts; part += 1) {
      const message = { v: PROTOCOL, id, part };
      const read = (data: Uint8Array) =>
        this.#readPart(node, id, part, data) ?? this.#read(node, id, data);
      const asked = await this.#ask(node, message, until, read);
      if (!(asked instanceof Uint8Array)) return this.#resultOf(node, id, asked, until);
      bytes += asked.length;
      if (bytes > MAX_ANSWER_BYTES) {
        const why = `has more than ${MAX_ANSWER_BYTES} bytes`;
        throw new DroverError('unavailable', `the answer of node ${node} ${why}`);
      }
      found.push(asked);
    }
    return this.#resultOf(node, id, this.#read(node, id, Buffer.concat(found)), until);
  }

  #read(node: string, id: string, data: Uint8Array): Received<AnswerMessage> {
    return decode('answer', this.#options.signer, answerContext(id), `node ${node}`, data);
  }

  /** Null when the message is not this part: somebody else may have sent it. */
  #readPart(node: string, id: string, part: number, data: Uint8Array): Uint8Array | null {
    try {
      const { signer } = this.#options;
      const { message, bytes } = decode('part', signer, partContext(id), `node ${node}`, data);
      return message.part === part ? bytes : null;
    } catch {
      return null;
    }
  }

  /**
   * @param read throws {@link UntrustedMessage} for what is no answer: it is waited on for the right one.
   * @param late is called when there is no answer in time.
   */
  #ask<T>(
    node: string,
    message: CallMessage,
    until: number,
    read: (data: Uint8Array) => T,
    late: () => void = () => {},
  ): Promise<T> {
    const refusal = this.#refusal(node, this.#encode(node, message).length);
    if (refusal) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#lastExchange += 1;
      const key = String(this.#lastExchange);
      let untrusted: UntrustedMessage | null = null;
      const end = (): void => {
        clearTimeout(timer);
        clearTimeout(exchange.retry);
        this.#open.delete(key);
      };
      const take = (data: Uint8Array): void => {
        try {
          resolve(read(data));
          end();
        } catch (thrown) {
          if (thrown instanceof UntrustedMessage) untrusted = thrown;
          else exchange.fail(thrown as DroverError);
        }
      };
      const exchange = new Exchange(node, message, take, (error) => {
        end();
        reject(error);
      });
      const timer = setTimeout(() => {
        exchange.fail(untrusted ?? new NodeUnreachable(node, 'it does not answer in time'));
        late();
      }, until - performance.now());
      this.#open.set(key, exchange);
      this.#send(key, exchange);
    });
  }

  #refusal(node: string, bytes: number): DroverError | null {
    if (this.#isClosed) return new DroverError('unavailable');
    if (this.#open.size >= MAX_OPEN) return new DroverError('overloaded', undefined, RETRY_AFTER_S);
    const max = this.#nats.info?.max_payload ?? USUAL_PAYLOAD_BYTES;
    if (bytes > max) {
      const why = `it has ${bytes} bytes, and NATS carries ${max} (max_payload)`;
      return new DroverError('too_large', `the request cannot be sent to node ${node}: ${why}`);
    }
    const awayMs = this.#awaySince === null ? 0 : performance.now() - this.#awaySince;
    return awayMs > PATIENCE_MS ? new NodeUnreachable(node, CUT_OFF) : null;
  }

  #send(key: string, { node, message }: Exchange): void {
    this.#publish(node, message, { reply: `${this.#inbox}.${key}` });
  }

  #publish(node: string, message: CallMessage, options?: { reply: string }): void {
    // It is sent when NATS is back.
    if (this.#awaySince !== null || this.#nats.isClosed()) return;
    const data = this.#encode(node, message);
    this.#nats.publish(this.#options.subject(node), data, options);
  }

  #encode(node: string, message: CallMessage): Uint8Array {
    const { signer, context } = this.#options;
    return encode(signer, [context, node], message, this.#times.stamp());
  }

  #checkAnswer(node: string, method: string, result: unknown): void {
    try {
      this.#options.check('answer', method, result);
    } catch (thrown) {
      const why = messageOf(thrown);
      throw new DroverError('unavailable', `node ${node} has not answered as it has to: ${why}`);
    }
  }

  #reply({ subject, data, headers }: Msg): void {
    const key = subject.slice(this.#inbox.length + 1);
    const exchange = this.#open.get(key);
    if (!exchange) return;
    if (headers?.code !== NO_RESPONDERS) exchange.take(data);
    else if (exchange.isRepeated) {
      exchange.retry = setTimeout(() => this.#send(key, exchange), AGAIN_MS);
    } else exchange.fail(new NodeUnreachable(exchange.node, 'nothing answers to its name'));
  }

  async #follow(): Promise<void> {
    for await (const { type } of this.#nats.status()) {
      if (type === 'disconnect') this.#awaySince ??= performance.now();
      if (type !== 'reconnect') continue;
      this.#awaySince = null;
      for (const [key, exchange] of this.#open) {
        exchange.isRepeated = true;
        this.#send(key, exchange);
      }
    }
  }
}

/** @throws DroverError `unavailable` when it is not what a node packs. */
function inflated(node: string, packed: Uint8Array): Promise<Buffer> {
  return inflate(packed, { maxOutputLength: MAX_ANSWER_BYTES }).catch((thrown) => {
    const why = `the answer of node ${node} cannot be read: ${messageOf(thrown)}`;
    throw new DroverError('unavailable', why);
  });
}

/** The node has not answered. Whether it has done what it was asked is not known, unless nothing answers to its name. */
export class NodeUnreachable extends DroverError {
  constructor(node: string, why: string) {
    super('unavailable', `node ${node} cannot be reached: ${why}`, RETRY_AFTER_S);
  }
}
