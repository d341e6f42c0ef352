// Runs in the bus thread. Questions to the bus threads of other nodes, with answers that may be longer than a message of NATS: they come
// as several, compressed, to a subject of the one who asks.

import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { checkNamed, parseJson, parseNamed } from '../shared/bus-validators.js';
import { PROTOCOL, READABLE } from '../shared/cluster/names.js';
import { type Msg, type NatsConnection, RequestError } from '../shared/cluster/nats.js';
import { type Context, expiryOf, type Signer } from '../shared/cluster/signer.js';
import { Deferred } from '../shared/deferred.js';
import { DroverError, messageOf, type PlainError } from '../shared/errors.js';
import { withTimeout } from '../shared/with-timeout.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
/** Bytes of a message, or less when the server allows less: 1 MiB by default. */
const PART_BYTES = 512 * 1024;
/** An answer that is longer than this is refused, compressed or not. */
const MAX_BYTES = 64 * 1024 * 1024;

/** What is asked goes beside these. */
interface Question {
  v: number;
  /** The subject to which the parts of the answer go. */
  parts: string;
}

type Reply = { v: number; count: number } | { v: number; error: PlainError };

const replyTo = ({ parts }: Pick<Question, 'parts'>): Context => ['reply', parts];

/** @returns what is answered; null for no answer at all, as if nobody was there. @throws DroverError, which the other side gets. */
export type Answer<Q> = (question: Q) => Promise<Uint8Array | null>;

/** Answers questions on a subject. @returns a function that ends it. */
export function serveLongAnswers<Q extends object>(
  connection: NatsConnection,
  signer: Signer,
  subject: string,
  answer: Answer<Q>,
): () => void {
  const callback = (fault: unknown, message: Msg): void => {
    if (fault === null) void respond(connection, signer, subject, message, answer);
  };
  const subscription = connection.subscribe(subject, { callback });
  return () => subscription.unsubscribe();
}

async function respond<Q extends object>(
  connection: NatsConnection,
  signer: Signer,
  subject: string,
  message: Msg,
  answer: Answer<Q>,
): Promise<void> {
  let trusted: Pick<Question, 'parts'> | null = null;
  const reply = (value: Reply, ...packed: Uint8Array[]): void => {
    const text = JSON.stringify(value);
    message.respond(trusted ? signer.sign(replyTo(trusted), 0, text, ...packed) : text);
  };
  try {
    const asked = openQuestion(signer, subject, message.string());
    checkNamed('BusMessages', 'question', asked);
    trusted = asked as Question & Q;
    const { v, parts, ...question } = asked as Question & Q;
    if (v > READABLE) {
      throw new DroverError(
        'unavailable',
        `it knows version ${READABLE} of the protocol, not ${v}`,
      );
    }
    const bytes = await answer(question as unknown as Q);
    if (bytes === null || connection.isClosed()) return;
    const packed = await deflate(bytes, { level: 1 });
    const size = Math.min(PART_BYTES, connection.info?.max_payload ?? PART_BYTES);
    const count = Math.ceil(packed.length / size);
    reply({ v: PROTOCOL, count }, packed);
    for (let at = 0; at < count; at++) {
      connection.publish(parts, packed.subarray(at * size, (at + 1) * size));
    }
  } catch (thrown) {
    const fault = thrown instanceof DroverError ? thrown : new DroverError('internal');
    reply({ v: PROTOCOL, error: fault.toPlain() });
  }
}

/** @throws DroverError when it is not signed as it has to be, was not sent just now, or is no JSON. */
export function openQuestion(signer: Signer, subject: string, text: string): unknown {
  const opened = signer.open(['question', subject], text);
  const why = opened.stamp === null ? null : expiryOf(opened.stamp, Date.now());
  if (why !== null) throw new DroverError('unavailable', `it does not answer: ${why}`);
  return parseJson(opened.text);
}

export function signQuestion(signer: Signer, subject: string, question: object): string {
  return signer.sign(['question', subject], Date.now(), JSON.stringify(question));
}

/**
 * Asks. @throws DroverError what the other side has thrown; `unavailable` when nobody answers to the subject, at once, when the answer
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
  const parts = `_INBOX.${randomUUID()}`;
  const subscription = connection.subscribe(parts);
  const left = new Deferred<never>();
  left.promise.catch(() => {});
  const leave = (): void => left.reject(new DroverError('no_answer'));
  if (gone?.aborted) leave();
  gone?.addEventListener('abort', leave);
  try {
    const asked = { v: PROTOCOL, parts, ...question };
    const gathered = async (): Promise<Buffer> => {
      // Ours ends first: that of NATS would read as if the NATS servers were away.
      const timeout = 2 * withinMs;
      const text = signQuestion(signer, subject, asked);
      const message = await connection.request(subject, text, { timeout });
      const signed = message.string();
      const reply = readable(() => parseNamed<Reply>('BusMessages', 'reply', signed));
      if (reply.v > READABLE) {
        throw new DroverError('unavailable', `it answers with version ${reply.v} of the protocol`);
      }
      const trust = (...packed: Uint8Array[]): void =>
        void signer.open(replyTo(asked), signed, ...packed);
      if ('error' in reply) {
        trust();
        throw DroverError.fromPlain(reply.error);
      }
      const found: Uint8Array[] = [];
      let bytes = 0;
      if (reply.count > 0) {
        for await (const part of subscription) {
          bytes += part.data.length;
          if (bytes > MAX_BYTES) throw unreadable(`it has more than ${MAX_BYTES} bytes`);
          if (found.push(part.data) === reply.count) break;
        }
      }
      const packed = Buffer.concat(found);
      trust(packed);
      return await inflate(packed, { maxOutputLength: MAX_BYTES }).catch((thrown) => {
        throw unreadable(messageOf(thrown));
      });
    };
    return await withTimeout(Promise.race([gathered(), left.promise]), withinMs, () => {
      throw new DroverError('unavailable', 'no answer in time');
    });
  } catch (thrown) {
    if (thrown instanceof RequestError && thrown.isNoResponders()) {
      throw new DroverError('unavailable', 'nobody answers');
    }
    throw thrown;
  } finally {
    gone?.removeEventListener('abort', leave);
    subscription.unsubscribe();
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
