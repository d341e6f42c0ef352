// In main and in the bus thread. The messages of calls between nodes: a line of JSON, because what is called and answered is JSON and an
// older or newer node can read it. Bytes of an answer follow that line. An answer that is longer than a message of NATS is fetched in
// parts, each of which is signed, so that one of somebody else is told apart.

import { DroverError, messageOf, type PlainError } from '../../shared/errors.js';
import { checkNamed, parseJson } from './bus-validators.js';
import { laterVersion, READABLE } from './names.js';
import type { Context, Opened, Signer } from './signer.js';

/** What a node is asked. `id` is the call's, the same when it is repeated. */
export interface CallMessage {
  v: number;
  id: string;
  /** What is to be done, with its input. */
  method?: string;
  input?: unknown;
  /** How long the caller waits, in ms. */
  deadline_ms?: number;
  /** The caller waits no longer; has no answer. */
  cancel?: true;
  /** Asks for this part of an answer that is longer than a message of NATS. */
  part?: number;
}

/** What it answers. `parts`: the answer has to be fetched in so many. With bytes, they are the result, compressed. */
export interface AnswerMessage {
  v: number;
  result?: unknown;
  error?: PlainError;
  parts?: number;
}

/** Surrounds the bytes of a part. */
export interface PartMessage {
  v: number;
  part: number;
}

interface Messages {
  call: CallMessage;
  answer: AnswerMessage;
  part: PartMessage;
}

/** A message that is signed as it has to be. */
export interface Received<M> {
  message: M;
  stamp: number | null;
  /** What follows the line; null when nothing does. */
  bytes: Buffer | null;
}

/** An answer that is longer than this is refused: it would hold up the threads of both nodes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Of a message of NATS, for what surrounds the bytes of a part. */
export const PART_ROOM_BYTES = 1024;
const NEWLINE = 10;

/** What the answer to a call is signed for; and one of its parts. */
export const answerContext = (id: string): Context => ['answer', id];
export const partContext = (id: string): Context => ['answer', id, 'part'];

/** @param stamp of a call, the time at which it is sent, in Unix epoch ms; of a part, its number. */
export function encode(
  signer: Signer,
  context: Context,
  message: CallMessage | AnswerMessage | PartMessage,
  stamp = 0,
  bytes?: Uint8Array,
): Uint8Array {
  const text = JSON.stringify(message);
  if (!bytes) return Buffer.from(signer.sign(context, stamp, text));
  return Buffer.concat([Buffer.from(`${signer.sign(context, stamp, text, bytes)}\n`), bytes]);
}

/** A message that is not signed as it has to be, or is none: somebody else may have sent it. */
export class UntrustedMessage extends DroverError {
  constructor(why: string) {
    super('unavailable', why);
  }
}

/**
 * @param from who has sent it, for the error.
 * @throws UntrustedMessage; DroverError `unavailable` when it is of a later version.
 */
export function decode<K extends keyof Messages>(
  kind: K,
  signer: Signer,
  context: Context,
  from: string,
  data: Uint8Array,
): Received<Messages[K]> {
  const sent = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = sent.indexOf(NEWLINE);
  const bytes = end === -1 ? null : sent.subarray(end + 1);
  const line = sent.toString('utf8', 0, end === -1 ? sent.length : end);
  let opened: Opened;
  try {
    opened = signer.open(context, line, ...(bytes ? [bytes] : []));
  } catch (thrown) {
    throw new UntrustedMessage(`${from} is not trusted: ${messageOf(thrown)}`);
  }
  let message: Messages[K];
  try {
    message = parseJson(opened.text) as Messages[K];
    if (laterVersion(message?.v) === null) checkNamed('BusMessages', kind, message);
  } catch (thrown) {
    throw new UntrustedMessage(`${from} sent what is no message of Drover: ${messageOf(thrown)}`);
  }
  const v = laterVersion(message.v);
  if (v !== null) {
    const versions = `version ${v} of the messages, this node knows ${READABLE}`;
    throw new DroverError('unavailable', `${from} uses ${versions}: update this node`);
  }
  return { message, stamp: opened.stamp, bytes };
}

/** Which threads call each other: what is asked of one kind is no call of the other. */
export interface CallsKind {
  /** What calls are signed for. */
  context: 'call' | 'question';
  /** Where calls of a node come. */
  subject: (node: string) => string;
}

/** Checks what is asked of a method, or what it answers, as HTTP checks it. @throws DroverError `bad_request`. */
export type CallCheck = (what: 'input' | 'answer', method: string, value: unknown) => void;

export const checkCall: CallCheck = (what, method, value) => {
  checkNamed(what === 'input' ? 'BusCalls' : 'BusAnswers', method, value);
};
