// Runs in main. The messages of calls between nodes: JSON, because what is called and answered is JSON, and an older or newer node
// can read it.

import { READABLE } from '../../shared/cluster/names.js';
import { DroverError, type PlainError } from '../../shared/errors.js';

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

/** What it answers. `parts`: the answer has to be fetched in so many. */
export interface AnswerMessage {
  v: number;
  result?: unknown;
  error?: PlainError;
  parts?: number;
}

/** First byte of a part, which is no JSON. */
const PART = 0;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encode(message: CallMessage | AnswerMessage): Uint8Array {
  return encoder.encode(JSON.stringify(message));
}

/** @param from who has sent it, for the error. @throws DroverError `unavailable` when it is of a later version, or no message. */
export function decode<M extends CallMessage | AnswerMessage>(from: string, data: Uint8Array): M {
  let message: M | null = null;
  try {
    message = JSON.parse(decoder.decode(data)) as M | null;
  } catch {
    // Refused below.
  }
  if (!Number.isInteger(message?.v)) {
    throw new DroverError('unavailable', `${from} sent what is no message of Drover`);
  }
  const { v } = message as M;
  if (v > READABLE) {
    const versions = `version ${v} of the messages, this node knows ${READABLE}`;
    throw new DroverError('unavailable', `${from} uses ${versions}: update this node`);
  }
  return message as M;
}

/** @returns null unless there is such a part. */
export function partOf(answer: Uint8Array, part: number, size: number): Uint8Array | null {
  const bytes = answer.subarray(part * size, (part + 1) * size);
  if (bytes.length === 0) return null;
  const message = new Uint8Array(bytes.length + 1);
  message[0] = PART;
  message.set(bytes, 1);
  return message;
}

/** The bytes of a part; null when the message is none. */
export function bytesOfPart(message: Uint8Array): Uint8Array | null {
  return message[0] === PART ? message.subarray(1) : null;
}
