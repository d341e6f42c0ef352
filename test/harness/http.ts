// A raw HTTP/1.1 client: it sends exactly the given bytes, in exactly the given pieces.

import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectDescribed } from './described.js';
import { PATIENCE_MS } from './patience.js';

export interface RawResponse {
  status: number;
  reason: string;
  /** Names in lower case. Repeated headers are joined by ", ". */
  headers: Record<string, string>;
  body: string;
  /** Parses the body as JSON. */
  json(): unknown;
}

export interface RawOptions {
  /** The response has no body even if its headers give a length (a HEAD request). */
  head?: boolean;
  /** Source address of the connection, to act as another client. */
  localAddress?: string;
  /** Address to connect to. Default 127.0.0.1. */
  host?: string;
  timeoutMs?: number;
}

/** Pause between pieces, so that each travels in its own segment. There is no event to wait for. */
const PIECE_GAP_MS = 15;

/** A request whose response is pending. */
interface Asked {
  method: string;
  target: string;
}

/** Requests built by {@link requestBytes}. */
const requests = new WeakMap<Buffer, Asked>();

export type Pieces = string | Buffer | (string | Buffer)[];

/** One connection: {@link send} writes requests, {@link response} reads the responses in order. */
export class RawConnection {
  readonly #socket: net.Socket;
  #received = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => {};
  /** Requests with unread responses, undefined after bytes that do not come from {@link requestBytes}. */
  #asked: Asked[] | undefined = [];

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    // A reset after the response is not a failure. Without a response, response() reports the end.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
    socket.on('end', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  static async open(port: number, options: RawOptions = {}): Promise<RawConnection> {
    const { host = '127.0.0.1', localAddress } = options;
    const socket = net.connect({ port, host, ...(localAddress ? { localAddress } : {}) });
    await once(socket, 'connect');
    socket.setNoDelay(true);
    return new RawConnection(socket);
  }

  async send(pieces: Pieces): Promise<void> {
    const list = Array.isArray(pieces) ? pieces : [pieces];
    for (const piece of list) {
      const asked = typeof piece === 'string' ? undefined : requests.get(piece);
      if (asked) this.#asked?.push(asked);
      else this.#asked = undefined;
    }
    for (const [index, piece] of list.entries()) {
      if (index > 0) await sleep(PIECE_GAP_MS);
      if (this.#ended || this.#socket.destroyed) return;
      this.#socket.write(piece);
    }
  }

  /** The next response on this connection. */
  async response(options: RawOptions = {}): Promise<RawResponse> {
    const deadline = Date.now() + (options.timeoutMs ?? PATIENCE_MS);
    for (;;) {
      const parsed = parseResponse(this.#received, this.#ended, options.head ?? false);
      if (parsed) {
        this.#received = this.#received.subarray(parsed.length);
        const { response } = parsed;
        const asked = this.#asked?.shift();
        if (asked) {
          const { status, headers, body } = response;
          const contentType = headers['content-type'] ?? '';
          // A body that the test does not read cannot be compared.
          const method = options.head ? 'HEAD' : asked.method;
          expectDescribed(method, asked.target, { status, contentType, body });
        }
        return response;
      }
      if (this.#ended) throw new Error(`the connection ended after: ${this.unread()}`);
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`no whole answer in time, got: ${this.unread()}`);
      await this.#change(left);
    }
  }

  /** Received bytes that belong to no response yet. */
  unread(): string {
    return this.#received.toString('latin1');
  }

  /** Resolves once the peer has ended the connection. */
  async ended(timeoutMs = PATIENCE_MS): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!this.#ended) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error('the peer did not end the connection in time');
      await this.#change(left);
    }
  }

  /** Stops reading from the system until {@link resume}. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  #change(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Sends the bytes on a new connection and returns the first response. */
export async function raw(
  port: number,
  pieces: Pieces,
  options: RawOptions = {},
): Promise<RawResponse> {
  const connection = await RawConnection.open(port, options);
  try {
    await connection.send(pieces);
    return await connection.response(options);
  } finally {
    connection.close();
  }
}

/** The bytes of a request. Adds a `Host` header, and for a body a Content-Length, unless they are given. */
export function requestBytes(
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Buffer {
  const all: Record<string, string> = { Host: '127.0.0.1', ...headers };
  const names = Object.keys(all).map((name) => name.toLowerCase());
  if (
    body !== undefined &&
    !names.includes('content-length') &&
    !names.includes('transfer-encoding')
  ) {
    all['Content-Length'] = String(Buffer.byteLength(body));
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body ?? '')]);
  requests.set(bytes, { method, target });
  return bytes;
}

/** Parses one response at the start of `bytes`. Undefined while it is incomplete. */
export function parseResponse(
  bytes: Buffer,
  ended: boolean,
  head: boolean,
): { response: RawResponse; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...headerLines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(statusLine);
  if (!match) throw new Error(`not a status line: ${statusLine}`);
  const headers: Record<string, string> = {};
  for (const line of headerLines) {
    const colon = line.indexOf(':');
    if (colon < 1) throw new Error(`not a header line: ${line}`);
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  const status = Number(match[1]);
  const rest = bytes.subarray(headEnd + 4);
  const body = takeBody(rest, headers, ended, head || status === 204 || status === 304);
  if (!body) return undefined;
  const text = body.bytes.toString('utf8');
  const response = {
    status,
    reason: match[2] ?? '',
    headers,
    body: text,
    json: (): unknown => JSON.parse(text),
  };
  return { response, length: headEnd + 4 + body.length };
}

interface Body {
  bytes: Buffer;
  /** Its length on the connection, in bytes. */
  length: number;
}

function takeBody(
  rest: Buffer,
  headers: Record<string, string>,
  ended: boolean,
  empty: boolean,
): Body | undefined {
  if (empty) return { bytes: Buffer.alloc(0), length: 0 };
  if (headers['transfer-encoding']?.toLowerCase() === 'chunked') return takeChunked(rest);
  const declared = headers['content-length'];
  if (declared !== undefined) {
    const length = Number(declared);
    return rest.length < length ? undefined : { bytes: rest.subarray(0, length), length };
  }
  return ended ? { bytes: rest, length: rest.length } : undefined;
}

function takeChunked(rest: Buffer): Body | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const line = rest.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]+$/i.test(line)) throw new Error(`not a chunk size: ${line}`);
    const size = Number.parseInt(line, 16);
    const start = lineEnd + 2;
    if (rest.length < start + size + 2) return undefined;
    if (rest.toString('latin1', start + size, start + size + 2) !== '\r\n') {
      throw new Error('a chunk does not end where its size says');
    }
    if (size === 0) return { bytes: Buffer.concat(chunks), length: start + 2 };
    chunks.push(rest.subarray(start, start + size));
    at = start + size + 2;
  }
}
