// Runs in the bus thread. Questions to the bus threads of other nodes, with answers that may be longer than a message of NATS: they come
// as several, compressed, to a subject of the one who asks.

import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { INBOX } from '../../shared/contract/node-name.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf, type PlainError } from '../../shared/errors.js';
import { MACHINE_CLOCKS } from '../../shared/memory/lease-deadline.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { MAX_ANSWER_BYTES, openPart, PART_ROOM_BYTES, sealPart } from '../wire/answer-parts.js';
import { checkNamed, errorOf, parseJson, parseNamed } from '../wire/bus-validators.js';
import { PROTOCOL, READABLE } from '../wire/names.js';
import type { Msg, NatsConnection } from '../wire/nats.js';
import { newInbox } from '../wire/nats-options.js';
import { SendTimes } from '../wire/send-times.js';
import type { Context, Signer } from '../wire/signer.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
/** Bytes of a message, or less when the server allows less: 1 MiB by default. */
const PART_BYTES = 512 * 1024;
/** Questions that are known at once; more are refused as overloaded. */
const MAX_KNOWN = 100_000;
/** Status that NATS answers with when nobody listens to the subject. */
const NO_RESPONDERS = 503;

/** What is asked goes beside these. */
interface Question {
  v: number;
  /** The subject to which the answer goes. */
  parts: string;
}

type Reply = { v: number; count: number } | { v: number; error: PlainError };

const replyTo = (parts: string): Context => ['reply', parts];

/** What comes to a subject of this node. */
export class Questions {
  readonly #signer: Signer;
  readonly #context: Context;
  readonly #times: SendTimes;
  readonly #now: () => number;
  /** Those that would be accepted again, and until when, by the monotonic clock in ms. */
  readonly #known = new Map<string, number>();

  constructor(signer: Signer, subject: string, clocks = MACHINE_CLOCKS) {
    this.#signer = signer;
    this.#context = ['question', subject];
    this.#times = new SendTimes(clocks);
    this.#now = clocks.monotonic;
  }

  /**
   * @returns null for one that was here already.
   * @throws DroverError when it is not signed as it has to be, was not sent just now, or is no JSON.
   */
  open(signed: string): unknown {
    const { text, stamp } = this.#signer.open(this.#context, signed);
    if (stamp !== null && !this.#isNew(`${stamp} ${text}`, stamp)) return null;
    return parseJson(text);
  }

  #isNew(question: string, stamp: number): boolean {
    const leftMs = this.#times.check(stamp);
    const now = this.#now();
    for (const [known, until] of this.#known) {
      if (until > now) break;
      this.#known.delete(known);
    }
    if (this.#known.has(question)) return false;
    if (this.#known.size >= MAX_KNOWN) throw new DroverError('overloaded');
    this.#known.set(question, now + leftMs);
    return true;
  }
}

/** @returns what is answered; null for no answer at all, as if nobody was there. @throws DroverError, which the other side gets. */
export type Answer<Q> = (question: Q) => Promise<Uint8Array | null>;

/** Answers questions on a subject. @returns a function that ends it. */
export function serveLongAnswers<Q extends object>(
  connection: NatsConnection,
  signer: Signer,
  subject: string,
  answer: Answer<Q>,
): () => void {
  const questions = new Questions(signer, subject);
  const callback = (fault: unknown, message: Msg): void => {
    if (fault === null) void respond(connection, signer, questions, message, answer);
  };
  const subscription = connection.subscribe(subject, { callback });
  return () => subscription.unsubscribe();
}

async function respond<Q extends object>(
  connection: NatsConnection,
  signer: Signer,
  questions: Questions,
  message: Msg,
  answer: Answer<Q>,
): Promise<void> {
  let inbox: string | null = null;
  const reply = (value: Reply): void => {
    if (connection.isClosed()) return;
    const text = JSON.stringify(value);
    if (inbox !== null) connection.publish(inbox, signer.sign(replyTo(inbox), 0, text));
    else if (INBOX.test(message.reply ?? '')) message.respond(text);
  };
  try {
    const asked = questions.open(message.string());
    if (asked === null) return;
    checkNamed('BusMessages', 'question', asked);
    const { v, parts, ...question } = asked as Question & Q;
    inbox = parts;
    if (v > READABLE) {
      throw new DroverError(
        'unavailable',
        `it knows version ${READABLE} of the protocol, not ${v}`,
      );
    }
    const bytes = await answer(question as unknown as Q);
    if (bytes === null || connection.isClosed()) return;
    const packed = await deflate(bytes, { level: 1 });
    const most = (connection.info?.max_payload ?? PART_BYTES) - PART_ROOM_BYTES;
    const size = Math.min(PART_BYTES, most);
    const count = Math.ceil(packed.length / size);
    reply({ v: PROTOCOL, count });
    for (let at = 0; at < count; at++) {
      const part = packed.subarray(at * size, (at + 1) * size);
      connection.publish(parts, sealPart(signer, replyTo(parts), at, part));
    }
  } catch (thrown) {
    const fault = thrown instanceof DroverError ? thrown : new DroverError('internal');
    reply({ v: PROTOCOL, error: fault.toPlain() });
  }
}

const times = new SendTimes();

export function signQuestion(signer: Signer, subject: string, question: object): string {
  return signer.sign(['question', subject], times.stamp(), JSON.stringify(question));
}

/**
 * Asks. What is no answer to the question is left out: somebody else may have sent it.
 * @throws DroverError what the other side has thrown; `unavailable` when nobody answers to the subject, at once, when the answer
 * cannot be read, or is not complete in time; `no_answer` when `gone` is aborted.
 */
export async function askForLong(
  connection: NatsConnection,
  signer: Signer,
  subject: string,
  question: object,
  withinMs: number,
  gone?: AbortSignal,
): Promise<Buffer> {
  const parts = newInbox(connection);
  const subscription = connection.subscribe(parts);
  const left = new Deferred<never>();
  left.promise.catch(() => {});
  const leave = (): void => left.reject(new DroverError('no_answer'));
  if (gone?.aborted) leave();
  gone?.addEventListener('abort', leave);
  const gathering = new Gathering(signer, replyTo(parts));
  const gathered = async (): Promise<Buffer> => {
    const text = signQuestion(signer, subject, { v: PROTOCOL, parts, ...question });
    connection.publish(subject, text, { reply: parts });
    for await (const { headers, data } of subscription) {
      if (headers?.code === NO_RESPONDERS) throw new DroverError('unavailable', 'nobody answers');
      if (gathering.take(data)) break;
    }
    return gathering.whole();
  };
  try {
    return await withTimeout(Promise.race([gathered(), left.promise]), withinMs, () => {
      throw gathering.untrusted ?? new DroverError('unavailable', 'no answer in time');
    });
  } finally {
    gone?.removeEventListener('abort', leave);
    subscription.unsubscribe();
  }
}

/** An answer that comes: its head, then its parts. */
class Gathering {
  readonly #signer: Signer;
  readonly #context: Context;
  readonly #parts: Uint8Array[] = [];
  #count: number | null = null;
  #bytes = 0;
  /** Why something that came was not taken. */
  untrusted: DroverError | null = null;

  constructor(signer: Signer, context: Context) {
    this.#signer = signer;
    this.#context = context;
  }

  /** @returns whether it is complete. @throws DroverError */
  take(data: Uint8Array): boolean {
    if (this.#count === null) this.#head(data);
    else this.#part(data);
    return this.#parts.length === this.#count;
  }

  /** @throws DroverError */
  whole(): Promise<Buffer> {
    const packed = Buffer.concat(this.#parts);
    return inflate(packed, { maxOutputLength: MAX_ANSWER_BYTES }).catch((thrown) => {
      throw unreadable(messageOf(thrown));
    });
  }

  #head(data: Uint8Array): void {
    let reply: Reply;
    try {
      const { text } = this.#signer.open(this.#context, Buffer.from(data).toString());
      reply = parseNamed<Reply>('BusMessages', 'reply', text);
    } catch (thrown) {
      this.untrusted = unreadable(messageOf(thrown));
      return;
    }
    if (reply.v > READABLE) {
      throw new DroverError('unavailable', `it answers with version ${reply.v} of the protocol`);
    }
    if ('error' in reply) throw errorOf(reply.error);
    this.#count = reply.count;
  }

  #part(data: Uint8Array): void {
    const part = openPart(this.#signer, this.#context, this.#parts.length, data);
    if (!part) {
      this.untrusted = unreadable('a part of it is not trusted');
      return;
    }
    this.#bytes += part.length;
    if (this.#bytes > MAX_ANSWER_BYTES) {
      throw unreadable(`it has more than ${MAX_ANSWER_BYTES} bytes`);
    }
    this.#parts.push(part);
  }
}

/** Reads what another node has answered. @throws DroverError `unavailable` instead of what `read` throws. */
export function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const isOther = thrown instanceof DroverError && thrown.code !== 'bad_request';
    throw isOther ? thrown : unreadable(messageOf(thrown));
  }
}

function unreadable(why: string): DroverError {
  return new DroverError('unavailable', `its answer cannot be read: ${why}`);
}
