// Pairs the wire messages among the rows of a log: a request with its replies, by the rules of docs/BOTS.md ("Requests and
// replies").

import type { Line } from '../hub/messages.js';
import { tookText } from './wire-format.js';

/** A request with its replies, oldest first. */
export interface WireExchange {
  request: Line;
  replies: readonly Line[];
}

/** The role of a message. A request and its replies have the same key. */
interface Part {
  key: string;
  /** Null: the first of a key is the request, and those in the other direction reply to it. */
  role: 'request' | 'reply' | null;
  /** The key is an id: the newest request with it is meant. Else several requests may be equal. */
  isUnique: boolean;
}

/** Bound of the keys that may get a reply; the oldest is forgotten. */
const MAX_KEYS = 2000;
/** Bound of the requests of one key that wait; the oldest is forgotten. */
const MAX_WAITING = 20;
/** Bound of the replies of one request that are kept; later ones are still paired with it. */
const MAX_REPLIES = 20;
const HTTP_REPLY = /^[1-5]\d\d (.+)$/s;
const HTTP_REQUEST = /^[A-Z]+ \S/;

/** One reader of rows that only grow at the end is cheap: each row is looked at once. */
export class WirePairs {
  #exchanges = new WeakMap<Line, WireExchange>();
  readonly #open = new Map<string, WireExchange[]>();
  /** Numbers of the rows that are paired, and the last of them. */
  #from = 0;
  #to = 0;
  #last: Line | undefined;

  /** @param base number of the first row. */
  take(rows: readonly Line[], base: number): void {
    const last = this.#to - 1 - base;
    const isContinued = this.#to > 0 && base >= this.#from && rows[last] === this.#last;
    if (!isContinued) {
      this.#exchanges = new WeakMap();
      this.#open.clear();
      this.#from = base;
    }
    for (let at = isContinued ? last + 1 : 0; at < rows.length; at++) this.#add(rows[at] as Line);
    this.#to = base + rows.length;
    this.#last = rows.at(-1);
  }

  /** Undefined for a line that is not a wire message, or that has no counterpart. */
  of(line: Line): WireExchange | undefined {
    return this.#exchanges.get(line);
  }

  #add(line: Line): void {
    const part = partOf(line);
    if (!part) return;
    const { key, role, isUnique } = part;
    const open = this.#open.get(key) ?? [];
    const asked = isUnique
      ? open.at(-1)
      : // The newest: one that never got a reply must not take those of all that come after it.
        open.findLast(({ replies }) => replies.length === 0);
    if (role !== 'request' && asked && asked.request.dir !== line.dir) {
      if (asked.replies.length < MAX_REPLIES) (asked.replies as Line[]).push(line);
      this.#exchanges.set(line, asked);
      return;
    }
    if (role === 'reply') return;
    const exchange: WireExchange = { request: line, replies: [] };
    this.#exchanges.set(line, exchange);
    // Set again, so that the oldest key is that whose last request is the oldest.
    this.#open.delete(key);
    const waiting = isUnique ? [] : open.filter(({ replies }) => replies.length === 0);
    this.#open.set(key, [...waiting.slice(-MAX_WAITING + 1), exchange]);
    if (this.#open.size > MAX_KEYS) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.#open.delete(oldest);
    }
  }
}

/** How long the reply took, for a row of the list: of a request `…` while there is none, of other lines ''. */
export function tookIn(line: Line, exchange: WireExchange | undefined): string {
  if (!exchange) return '';
  const { request, replies } = exchange;
  const reply = line === request ? replies[0] : line;
  return reply ? tookText(reply.at - request.at) : '…';
}

function partOf(line: Line): Part | undefined {
  const { dir, bot, scope, transport, text, correlation } = line;
  if (dir === null) return undefined;
  const of = [bot ?? '', scope, transport].join('\0');
  if (correlation !== undefined)
    return { key: `id\0${of}\0${correlation}`, role: null, isUnique: true };
  const rpc = rpcPartOf(text);
  if (rpc) {
    // Both sides may use the same id for their requests.
    const asker = (rpc.role === 'request') === (dir === 'out') ? 'out' : 'in';
    return { key: `rpc\0${of}\0${asker}\0${rpc.id}`, role: rpc.role, isUnique: true };
  }
  if (transport !== 'http') return undefined;
  const asked = HTTP_REPLY.exec(text)?.[1];
  if (asked !== undefined) {
    return { key: `http\0${of}\0${asked}`, role: 'reply', isUnique: false };
  }
  if (!HTTP_REQUEST.test(text)) return undefined;
  return { key: `http\0${of}\0${text}`, role: 'request', isUnique: false };
}

function rpcPartOf(text: string): { id: string; role: 'request' | 'reply' } | undefined {
  // A cheap test first: most messages are not bytes.
  if (!text.includes('"jsonrpc"')) return undefined;
  try {
    const message: unknown = JSON.parse(text.slice(text.indexOf('{')));
    const { jsonrpc, id, method } = message as Record<'jsonrpc' | 'id' | 'method', unknown>;
    if (jsonrpc !== '2.0' || id === undefined || id === null) return undefined;
    return { id: JSON.stringify(id), role: method === undefined ? 'reply' : 'request' };
  } catch {
    return undefined;
  }
}
