// Test harness. Owns the plain socket of a stream: it sees every byte, can stop reading, and is cheap enough for hundreds
// in one process.

import net from 'node:net';
import tls from 'node:tls';
import { ChunkedDecoder } from './chunked.js';
import { PATIENCE_MS } from './patience.js';

export interface RawStreamOptions {
  /** Path and query. */
  target?: string;
  /** Sent as `Authorization: Bearer`. */
  token?: string;
  headers?: Record<string, string>;
  /** Address of the service. Default 127.0.0.1. */
  host?: string;
  /** Source address of the connection, to act as another client. */
  localAddress?: string;
  /** Over TLS, with this certificate as the only trusted one (PEM). */
  ca?: string;
  /** Read at most this many bytes from the system at once, and yield to the event loop before the next read. */
  readBytes?: number;
  /** Called for each complete block, without its blank line. */
  onBlock?: (block: string) => void;
  /** Called for the body's bytes, decoded from the chunks. */
  onBody?: (bytes: Buffer) => void;
}

/** A response that is not a stream. */
export interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const BLOCK_END = Buffer.from('\n\n');

export class RawStream {
  status = 0;
  readonly headers: Record<string, string> = {};
  /** How it ended: `complete` with the last chunk, `cut` without it. */
  readonly ended: Promise<'complete' | 'cut'>;
  #end: (how: 'complete' | 'cut') => void = () => {};
  /** Bytes of the body so far. */
  bodyBytes = 0;
  /** The defect in the received bytes. The stream is closed at the first one. */
  fault: Error | undefined;
  /** Only for a response that is not a stream. */
  #body = '';
  readonly #options: RawStreamOptions;
  readonly #socket: net.Socket;
  readonly #decoder: ChunkedDecoder;
  #head: Buffer | undefined = Buffer.alloc(0);
  #rest: Buffer = Buffer.alloc(0);
  #over = false;
  #throttled: NodeJS.Immediate | undefined;
  #stopped = false;
  #cutAfter = Number.POSITIVE_INFINITY;
  readonly #watchers = new Set<() => void>();

  private constructor(port: number, options: RawStreamOptions) {
    this.#options = options;
    this.#decoder = new ChunkedDecoder((bytes) => this.#takeBody(bytes));
    const { host = '127.0.0.1', localAddress, readBytes, ca } = options;
    const where = { port, host, ...(localAddress ? { localAddress } : {}) };
    if (readBytes === undefined) {
      this.#socket = ca === undefined ? net.connect(where) : tls.connect({ ...where, ca });
      this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    } else {
      const buffer = Buffer.alloc(readBytes);
      this.#socket = net.connect({
        ...where,
        onread: { buffer, callback: (size) => this.#takeSlowly(buffer.subarray(0, size)) },
      });
    }
    this.ended = new Promise((resolve) => {
      this.#end = (how) => {
        this.#over = true;
        resolve(how);
      };
    });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      clearImmediate(this.#throttled);
      this.#end('cut');
      this.#changed();
    });
  }

  /** Opens the stream. @returns a refusal when the status is not 200. */
  static async tryOpen(port: number, options: RawStreamOptions = {}): Promise<RawStream | Refusal> {
    const stream = new RawStream(port, options);
    const { target = '/events', token, headers = {} } = options;
    const all: Record<string, string> = { Host: `127.0.0.1:${port}`, ...headers };
    if (token !== undefined) all['Authorization'] = `Bearer ${token}`;
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    stream.#socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
    await stream.until(() => stream.status !== 0);
    if (stream.status === 200) return stream;
    await stream.until(() => stream.#bodyIsWhole());
    stream.close();
    return { status: stream.status, headers: stream.headers, body: stream.#body };
  }

  /** Opens the stream. @throws Error when the status is not 200. */
  static async open(port: number, options: RawStreamOptions = {}): Promise<RawStream> {
    const opened = await RawStream.tryOpen(port, options);
    if (opened instanceof RawStream) return opened;
    throw new Error(`the stream answered ${opened.status} ${opened.body}`);
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Stops reading from the system until {@link resume}. Bytes already read still arrive. */
  pause(): void {
    this.#stopped = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#stopped = false;
    this.#socket.resume();
  }

  /** Cuts the connection after that many more bytes from the system, at any position in a frame. */
  cutAfter(bytes: number): void {
    this.#cutAfter = bytes;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Waits until the condition holds. It is checked with every piece that arrives, and at the end. */
  until(condition: () => boolean, limitMs = PATIENCE_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        act();
      };
      const check = (): void => {
        if (this.fault) settle(() => reject(this.fault));
        else if (condition()) settle(resolve);
        else if (this.#over) settle(() => reject(new Error('the stream ended')));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error('the condition did not hold in time'))),
        limitMs,
      );
      this.#watchers.add(check);
      check();
    });
  }

  #takeSlowly(bytes: Buffer): boolean {
    this.#take(Buffer.from(bytes));
    if (this.#socket.destroyed || this.#stopped) return false;
    this.#throttled = setImmediate(() => {
      if (!this.#stopped) this.#socket.resume();
    });
    return false;
  }

  #take(bytes: Buffer): void {
    if (this.#socket.destroyed) return;
    const taken = bytes.subarray(0, this.#cutAfter);
    this.#cutAfter -= taken.length;
    try {
      this.#read(taken);
    } catch (thrown) {
      this.fault = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.close();
    }
    if (this.#cutAfter === 0) this.close();
    this.#changed();
  }

  #read(bytes: Buffer): void {
    if (!this.#head) {
      this.#readBody(bytes);
      return;
    }
    this.#head = Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return;
    const rest = this.#head.subarray(end + HEAD_END.length);
    const [statusLine = '', ...lines] = this.#head.toString('latin1', 0, end).split('\r\n');
    this.#head = undefined;
    for (const line of lines) {
      const match = /^([\w.-]+): (.*)$/.exec(line);
      if (!match?.[1]) throw new Error(`not a header line: ${JSON.stringify(line)}`);
      this.headers[match[1].toLowerCase()] = match[2] ?? '';
    }
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (!status) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
    if (status === 200 && this.headers['transfer-encoding'] !== 'chunked') {
      throw new Error('a stream must be chunked');
    }
    this.status = status;
    if (rest.length > 0) this.#readBody(rest);
  }

  #readBody(bytes: Buffer): void {
    if (this.status !== 200) {
      this.#body += bytes.toString('utf8');
      return;
    }
    this.#decoder.push(bytes);
    // It ends the body, not the connection, which may stay open for another request.
    if (this.#decoder.done) this.#end('complete');
  }

  #bodyIsWhole(): boolean {
    return Buffer.byteLength(this.#body) >= Number(this.headers['content-length'] ?? Infinity);
  }

  #takeBody(bytes: Buffer): void {
    this.bodyBytes += bytes.length;
    const { onBody, onBlock } = this.#options;
    onBody?.(bytes);
    if (!onBlock) return;
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const end = all.lastIndexOf(BLOCK_END);
    if (end !== -1) {
      for (const block of all.toString('utf8', 0, end).split('\n\n')) {
        onBlock(takeOwnLines(block, onBlock));
      }
    }
    // A copy, so that a few bytes do not retain the whole piece.
    const rest = end === -1 ? all : all.subarray(end + BLOCK_END.length);
    this.#rest = Buffer.from(takeOwnLines(rest.toString('latin1'), onBlock), 'latin1');
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

/** Passes the lines before a frame that need no blank line, comments and `retry`, as a block each. @returns what follows them. */
function takeOwnLines(text: string, onBlock: (block: string) => void): string {
  let rest = text;
  for (
    let end = rest.indexOf('\n');
    end !== -1 && /^(?::|retry)/.test(rest);
    end = rest.indexOf('\n')
  ) {
    onBlock(rest.slice(0, end));
    rest = rest.slice(end + 1);
  }
  return rest;
}
