// In main and in the bus thread. Owns the subscription for calls of other nodes, and runs them.

import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import { INBOX } from '../../shared/contract/node-name.js';
import { answerable } from '../../shared/contract/rpc.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import {
  type AnswerMessage,
  answerContext,
  type CallCheck,
  type CallMessage,
  type CallsKind,
  decode,
  encode,
  MAX_ANSWER_BYTES,
  PART_ROOM_BYTES,
  partContext,
} from './call-messages.js';
import { CallResults, type KnownCall } from './call-results.js';
import { PROTOCOL } from './names.js';
import type { Msg, NatsConnection, Subscription } from './nats.js';
import type { SendTimes } from './send-times.js';
import { Signer } from './signer.js';

const RETRY_AFTER_S = 1;
/** What NATS carries unless its configuration says otherwise (max_payload). */
export const USUAL_PAYLOAD_BYTES = 1024 * 1024;

/** What a node does when others call it. `gone` is aborted when the caller waits no longer. */
export type CallMethods = Record<string, (input: never, gone: AbortSignal) => unknown>;

/** A method answers with it as if nobody were there. */
export const NO_ANSWER = Symbol('no answer');
const deflate = promisify(deflateRaw);
const NOTHING = new Uint8Array(0);

export interface CallServerOptions extends CallsKind {
  node: string;
  signer: Signer;
  check: CallCheck;
  results?: CallResults | undefined;
  times: SendTimes;
}

export class CallServer {
  readonly #nats: NatsConnection;
  readonly #options: CallServerOptions;
  readonly #node: string;
  #subscription: Subscription | undefined;
  readonly #results: CallResults;
  #methods: CallMethods = {};

  constructor(nats: NatsConnection, options: CallServerOptions) {
    const { node, results = new CallResults() } = options;
    this.#nats = nats;
    this.#options = options;
    this.#node = node;
    this.#results = results;
  }

  serve(methods: CallMethods): void {
    this.#methods = { ...this.#methods, ...methods };
    this.#subscription ??= this.#nats.subscribe(this.#options.subject(this.#node), {
      callback: (error, message) => {
        if (!error) this.#take(message);
      },
    });
  }

  /** Until the next {@link serve}. Calls that came are known still. */
  pause(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }

  /** @throws DroverError `unavailable` when this version has no such method; what `check` throws. */
  async run(
    method: string,
    input: unknown,
    gone: AbortSignal,
    check?: CallCheck,
  ): Promise<unknown> {
    const serves = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (!serves) {
      const why = `it has no ${JSON.stringify(method)}, perhaps because it is of another version of Drover`;
      throw new DroverError('unavailable', `node ${this.#node} cannot do this: ${why}`);
    }
    check?.('input', method, input ?? null);
    return serves(input as never, gone);
  }

  close(): void {
    this.pause();
    this.#results.close();
  }

  #take({ data, reply = '' }: Msg): void {
    // Nobody makes this node send to what others listen to.
    if (reply !== '' && !INBOX.test(reply)) return;
    const { signer, context } = this.#options;
    let id: string | null = null;
    try {
      const from = `the caller of node ${this.#node}`;
      const { message, stamp } = decode('call', signer, [context, this.#node], from, data);
      id = message.id;
      if (message.cancel) this.#results.get(id)?.cancel.abort();
      else if (reply === '') return;
      else if (message.part === undefined) this.#begin(message, reply, stamp);
      else this.#sendPart(id, message.part, reply);
    } catch (thrown) {
      this.#send(reply, this.#error(id, 'a call', thrown));
    }
  }

  #begin(
    { id, method = '', input, deadline_ms = 0 }: CallMessage,
    reply: string,
    stamp: number | null,
  ): void {
    const known = this.#results.get(id);
    if (known?.isDone) {
      if (known.isOf(reply)) this.#answer(known, [reply]);
      return;
    }
    const call = known ?? this.#results.begin(id, deadline_ms, this.#leftMs(stamp));
    call.addReply(reply);
    if (!known) void this.#run(call, method, input);
  }

  /** For how long the same call would be accepted again, in ms. @throws DroverError `unavailable` when it is not. */
  #leftMs(stamp: number | null): number {
    if (stamp === null) return 0;
    try {
      return this.#options.times.check(stamp);
    } catch (thrown) {
      const why = `node ${this.#node} does not accept the call: ${messageOf(thrown)}`;
      throw new DroverError('unavailable', why, RETRY_AFTER_S);
    }
  }

  async #run(call: KnownCall, method: string, input: unknown): Promise<void> {
    let answer: Uint8Array;
    try {
      const result = await this.run(method, input, call.cancel.signal, this.#options.check);
      answer = await this.#packed(call.id, result);
      if (answer.length > MAX_ANSWER_BYTES) {
        const bytes = `${answer.length} bytes, and at most ${MAX_ANSWER_BYTES} are sent`;
        throw new DroverError('unavailable', `the answer of node ${this.#node} has ${bytes}`);
      }
    } catch (thrown) {
      answer = this.#error(call.id, method, thrown);
    }
    this.#results.finish(call, answer);
    this.#answer(call, call.replies);
  }

  async #packed(id: string, result: unknown): Promise<Uint8Array> {
    if (result === NO_ANSWER) return NOTHING;
    if (!(result instanceof Uint8Array)) return this.#encode(id, { v: PROTOCOL, result });
    const packed = await deflate(result, { level: 1 });
    return encode(this.#options.signer, answerContext(id), { v: PROTOCOL }, 0, packed);
  }

  #answer({ id, answer }: KnownCall, replies: Iterable<string>): void {
    const message = answer === null ? this.#dropped(id) : this.#whole(id, answer);
    for (const reply of replies) this.#send(reply, message);
  }

  #whole(id: string, answer: Uint8Array): Uint8Array {
    const size = this.#partBytes;
    if (answer.length <= size) return answer;
    return this.#encode(id, { v: PROTOCOL, parts: Math.ceil(answer.length / size) });
  }

  #sendPart(id: string, part: number, reply: string): void {
    const size = this.#partBytes;
    const call = this.#results.get(id);
    if (call && !call.isOf(reply)) return;
    const bytes = call?.answer?.subarray(part * size, (part + 1) * size);
    const message = bytes?.length
      ? encode(this.#options.signer, partContext(id), { v: PROTOCOL, part }, part, bytes)
      : this.#dropped(id);
    this.#send(reply, message);
  }

  #dropped(id: string): Uint8Array {
    const why = 'its answer is not kept any more';
    return this.#error(
      id,
      'a call',
      new DroverError('unavailable', `node ${this.#node} has done this, but ${why}`),
    );
  }

  get #partBytes(): number {
    return (this.#nats.info?.max_payload ?? USUAL_PAYLOAD_BYTES) - PART_ROOM_BYTES;
  }

  /** What cannot be sent is asked for again. */
  #send(reply: string, message: Uint8Array): void {
    if (reply === '' || message === NOTHING || this.#nats.isClosed()) return;
    this.#nats.publish(reply, message);
  }

  /** @param id null for a call that is not trusted: then the answer is not signed, too. */
  #error(id: string | null, method: string, thrown: unknown): Uint8Array {
    const error = answerable(`the call ${method}`, thrown).toPlain();
    return this.#encode(id, { v: PROTOCOL, error });
  }

  #encode(id: string | null, message: AnswerMessage): Uint8Array {
    const { signer } = this.#options;
    return id === null
      ? encode(Signer.NONE, [], message)
      : encode(signer, answerContext(id), message);
  }
}
