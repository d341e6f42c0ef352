// Runs in main. Owns the subscription for calls of other nodes, and runs them.

import { PROTOCOL } from '../../shared/cluster/names.js';
import type { Msg, NatsConnection, Subscription } from '../../shared/cluster/nats.js';
import { answerable } from '../../shared/contract/rpc.js';
import { DroverError } from '../../shared/errors.js';
import { type CallMessage, decode, encode, partOf } from './call-messages.js';
import { CallResults, type KnownCall } from './call-results.js';
import type { CallMethods } from './parts.js';

/** Longest answer, in bytes: more would hold up the main threads of both nodes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Of a message of NATS, for what surrounds a part. */
const ROOM_BYTES = 1024;
/** What NATS carries unless its configuration says otherwise (max_payload). */
export const USUAL_PAYLOAD_BYTES = 1024 * 1024;

export class CallServer {
  readonly #nats: NatsConnection;
  readonly #node: string;
  readonly #subscription: Subscription;
  readonly #results: CallResults;
  #methods: CallMethods = {};

  /** @param subject where calls of this node come. */
  constructor(nats: NatsConnection, node: string, subject: string, results = new CallResults()) {
    this.#nats = nats;
    this.#node = node;
    this.#results = results;
    this.#subscription = nats.subscribe(subject, {
      callback: (error, message) => {
        if (!error) this.#take(message);
      },
    });
  }

  serve(methods: CallMethods): void {
    this.#methods = { ...this.#methods, ...methods };
  }

  /** @throws DroverError `unavailable` when this version has no such method. */
  async run(method: string, input: unknown, gone: AbortSignal): Promise<unknown> {
    const serves = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (!serves) {
      const why = `it has no ${JSON.stringify(method)}, perhaps because it is of another version of Drover`;
      throw new DroverError('unavailable', `node ${this.#node} cannot do this: ${why}`);
    }
    return serves(input as never, gone);
  }

  close(): void {
    this.#subscription.unsubscribe();
    this.#results.close();
  }

  #take({ data, reply = '' }: Msg): void {
    try {
      const message = decode<CallMessage>(`the caller of node ${this.#node}`, data);
      if (message.cancel) this.#results.get(message.id)?.cancel.abort();
      else if (reply === '') return;
      else if (message.part === undefined) this.#begin(message, reply);
      else this.#send(reply, this.#partOf(message.id, message.part));
    } catch (thrown) {
      this.#send(reply, errorAnswer('a call', thrown));
    }
  }

  #begin({ id, method = '', input, deadline_ms = 0 }: CallMessage, reply: string): void {
    const known = this.#results.get(id);
    if (known?.isDone) {
      this.#answer(known, [reply]);
      return;
    }
    const call = known ?? this.#results.begin(id, deadline_ms);
    call.addReply(reply);
    if (!known) void this.#run(call, method, input);
  }

  async #run(call: KnownCall, method: string, input: unknown): Promise<void> {
    let answer: Uint8Array;
    try {
      const result = await this.run(method, input, call.cancel.signal);
      answer = encode({ v: PROTOCOL, result });
      if (answer.length > MAX_ANSWER_BYTES) {
        const bytes = `${answer.length} bytes, and at most ${MAX_ANSWER_BYTES} are sent`;
        throw new DroverError('unavailable', `the answer of node ${this.#node} has ${bytes}`);
      }
    } catch (thrown) {
      answer = errorAnswer(method, thrown);
    }
    this.#results.finish(call, answer);
    this.#answer(call, call.replies);
    call.replies.clear();
  }

  #answer({ answer }: KnownCall, replies: Iterable<string>): void {
    const message = answer === null ? this.#dropped() : this.#whole(answer);
    for (const reply of replies) this.#send(reply, message);
  }

  #whole(answer: Uint8Array): Uint8Array {
    const size = this.#partBytes;
    if (answer.length <= size) return answer;
    return encode({ v: PROTOCOL, parts: Math.ceil(answer.length / size) });
  }

  #partOf(id: string, part: number): Uint8Array {
    const answer = this.#results.get(id)?.answer;
    return (answer && partOf(answer, part, this.#partBytes)) ?? this.#dropped();
  }

  #dropped(): Uint8Array {
    const why = 'its answer is not kept any more';
    return errorAnswer(
      'a call',
      new DroverError('unavailable', `node ${this.#node} has done this, but ${why}`),
    );
  }

  get #partBytes(): number {
    return (this.#nats.info?.max_payload ?? USUAL_PAYLOAD_BYTES) - ROOM_BYTES;
  }

  /** What cannot be sent is asked for again. */
  #send(reply: string, message: Uint8Array): void {
    if (reply !== '' && !this.#nats.isClosed()) this.#nats.publish(reply, message);
  }
}

function errorAnswer(method: string, thrown: unknown): Uint8Array {
  return encode({ v: PROTOCOL, error: answerable(`the call ${method}`, thrown).toPlain() });
}
