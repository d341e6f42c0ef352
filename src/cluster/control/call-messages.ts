// Runs in main. The messages of calls between nodes: JSON, because what is called and answered is JSON, and an older or newer node
// can read it.

import { DroverError, messageOf, type PlainError } from '../../shared/errors.js';
import { checkNamed, parseJson } from '../wire/bus-validators.js';
import { laterVersion, READABLE } from '../wire/names.js';
import type { Context, Opened, Signer } from '../wire/signer.js';

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

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a call of a node is signed for; and the answer to a call. */
export const callContext = (node: string): Context => ['call', node];
export const answerContext = (id: string): Context => ['answer', id];

/** @param stamp of a call, the time at which it is sent, in Unix epoch ms. */
export function encode(
  signer: Signer,
  context: Context,
  message: CallMessage | AnswerMessage,
  stamp = 0,
): Uint8Array {
  return encoder.encode(signer.sign(context, stamp, JSON.stringify(message)));
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
export function decode<M extends CallMessage | AnswerMessage>(
  signer: Signer,
  context: Context,
  from: string,
  data: Uint8Array,
): { message: M; stamp: number | null } {
  let opened: Opened;
  try {
    opened = signer.open(context, decoder.decode(data));
  } catch (thrown) {
    throw new UntrustedMessage(`${from} is not trusted: ${messageOf(thrown)}`);
  }
  let message: M;
  try {
    message = parseJson(opened.text) as M;
    if (laterVersion(message?.v) === null)
      checkNamed('BusMessages', context[0] as 'call' | 'answer', message);
  } catch (thrown) {
    throw new UntrustedMessage(`${from} sent what is no message of Drover: ${messageOf(thrown)}`);
  }
  const v = laterVersion(message.v);
  if (v !== null) {
    const versions = `version ${v} of the messages, this node knows ${READABLE}`;
    throw new DroverError('unavailable', `${from} uses ${versions}: update this node`);
  }
  return { message, stamp: opened.stamp };
}

/** Checks what is asked of a method, or what it answers, as HTTP checks it. @throws DroverError `bad_request`. */
export type CallCheck = (what: 'input' | 'answer', method: string, value: unknown) => void;

export const checkCall: CallCheck = (what, method, value) => {
  checkNamed(what === 'input' ? 'BusCalls' : 'BusAnswers', method, value);
};
