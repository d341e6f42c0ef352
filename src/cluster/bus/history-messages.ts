// What the bus threads of nodes ask each other about the past. Carried by wire/calls.ts. Later versions may add fields.

import type {
  FieldHistoryRequest,
  PageRequest,
  StatesRequest,
  StatsRequest,
} from '../../shared/contract/journal-messages.js';
import { DroverError } from '../../shared/errors.js';
import { checkNamed, parseNamed } from '../wire/bus-validators.js';
import { type CallCheck, MAX_ANSWER_BYTES } from '../wire/call-messages.js';

/** Asks for a page of the node's own journal. */
export interface PageQuestion {
  kind: 'page';
  /** Without bounds by number, and with a filter that names no node. */
  request: Omit<PageRequest, 'afterSeq' | 'beforeSeq' | 'lines' | 'isStamped' | 'merged'>;
  /** Of the client: each gets its share of the searches. */
  token: string;
  /** Epoch of the cluster's stream; the bounds are numbers of it. Only events above `after` and below `before`. */
  epoch: string;
  after: number | null;
  before: number | null;
  /** The message of the stream up to which numbers are in use. */
  seq: number;
  /** Number of the node's own stream to continue from, exclusive; null for the beginning. */
  at: number | null;
}

/** The first line of the answer. An event on each further line: its time, its number in the node's own stream, its JSON. */
export interface PageAnswerHead {
  /** Number of the node's own stream to continue from, exclusive; null at the end of the range. */
  at: number | null;
  /** Events of this node below this number of the cluster may have been removed. */
  forgottenBelow: number;
}

/** Asks for the statistics of the node: the body of `GET /api/stats`. */
export interface StatsQuestion {
  kind: 'stats';
  request: StatsRequest;
  token: string;
}

/** Asks for the past of fields of one bot as the node has it: the body of `GET /api/bots/{id}/history`. */
export interface FieldHistoryQuestion {
  kind: 'field-history';
  request: FieldHistoryRequest;
  token: string;
}

/** The same with a query. Another question: a node that does not know it must not answer with the counts of everything. */
export interface CountsQuestion extends Omit<StatsQuestion, 'kind'> {
  kind: 'counts';
}

/** Asks what the bots of the node were at a moment: the body of `GET /api/states`. */
export interface StatesQuestion {
  kind: 'states';
  request: StatesRequest;
  token: string;
}

/** Asks for the frames that the node has published, from a number of the cluster on. */
export interface FramesQuestion {
  kind: 'frames';
  epoch: string;
  from: number;
  /** Approximate bytes of their data. */
  maxBytes: number;
}

/** Most blocks of an answer, and bytes of them when they are not compressed. */
export const MAX_BLOCKS = 16_384;
export const MAX_BLOCK_BYTES = MAX_ANSWER_BYTES;

/** The first line of the answer. The blocks follow (block.ts), one behind the other. */
export interface FramesAnswerHead {
  /** Number of the first frame of each block, and its bytes. */
  blocks: { first: number; bytes: number }[];
  /** All frames that this node has below this number are in the answer; null when there are no more. */
  upTo: number | null;
}

export type HistoryQuestion =
  | PageQuestion
  | StatsQuestion
  | CountsQuestion
  | StatesQuestion
  | FieldHistoryQuestion
  | FramesQuestion;

const KINDS: ReadonlySet<unknown> = new Set<HistoryQuestion['kind']>([
  'page',
  'stats',
  'counts',
  'states',
  'field-history',
  'frames',
]);

/** Checks calls of bus threads. A question that this release does not know is refused where it is answered. */
export const checkBusCall: CallCheck = (what, method, value) => {
  if (method === 'who') {
    if (what === 'answer') checkNamed('BusMessages', 'who', value);
  } else if (what === 'answer') {
    if (!(value instanceof Uint8Array)) throw new DroverError('bad_request', 'it has no bytes');
  } else if (method === 'history') {
    const kind = (value as Partial<HistoryQuestion> | null)?.kind;
    if (kind === undefined || KINDS.has(kind)) checkNamed('BusMessages', 'history', value);
  }
};

const NEWLINE = 10;

/** An answer whose first line is JSON. */
export function withHead(head: object, ...rest: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...rest]);
}

/** @throws DroverError `bad_request` when the first line is not the head of such an answer. */
export function splitHead<H>(
  kind: HistoryQuestion['kind'],
  answer: Buffer,
): { head: H; rest: Buffer } {
  const end = answer.indexOf(NEWLINE);
  const head = parseNamed<H>('BusHistory', kind, answer.toString('utf8', 0, end));
  return { head, rest: answer.subarray(end + 1) };
}
