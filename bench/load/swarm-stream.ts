// Runs in swarm processes. Owns one stream: its socket, its reading speed and its counts.

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ChunkReader } from './chunk-reader.js';
import type { StreamCheck } from './stream-check.js';
import type { Reading, StreamTarget } from './swarm-jobs.js';

/** One read buffer for all sockets: data is processed before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024);
/** Bytes that a trickling client reads per second. */
const TRICKLE_BUFFER = Buffer.allocUnsafeSlow(1024);
const TRICKLE_MS = 1000;
const HEAD_END = '\r\n\r\n';

/** Totals of a group. */
export interface GroupCounters {
  /** Bytes read since the group was opened, with headers and chunk sizes. */
  wire: number;
  opened: number;
  closed: number;
  faults: string[];
}

const FAULTS_KEPT = 5;

export class SwarmStream {
  readonly reader: ChunkReader;
  check: StreamCheck | undefined;
  /** Payload at the mark. */
  marked = 0;
  closed = false;
  readonly #socket: Socket;
  readonly #counters: GroupCounters;
  #reading: Reading;
  #head = '';
  #open = false;
  #closing = false;
  #now: () => number;

  constructor(target: StreamTarget, reading: Reading, counters: GroupCounters, now: () => number) {
    this.#reading = reading;
    this.#counters = counters;
    this.#now = now;
    this.reader = new ChunkReader(target.frameStart);
    const { protocol, hostname, port } = new URL(target.url);
    const address = { host: hostname, port: Number(port) };
    this.#socket = protocol === 'https:' ? this.#connectTls(address) : this.#connect(address);
    this.#socket.on('error', () => {});
    this.#socket.once('close', () => this.#onClose());
    this.#socket.write(
      `GET ${target.path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${target.authorization}\r\n` +
        'Accept: text/event-stream\r\n\r\n',
    );
  }

  #connect(address: { host: string; port: number }): Socket {
    const buffer = this.#reading === 'trickle' ? TRICKLE_BUFFER : READ_BUFFER;
    const callback = (length: number) => this.#onBytes(buffer, length);
    return connect({ ...address, onread: { buffer, callback } });
  }

  /** Sockets with TLS cannot read into one buffer. */
  #connectTls(address: { host: string; port: number }): Socket {
    if (this.#reading === 'trickle') throw new Error('a stream over TLS cannot trickle');
    const socket = connectTls({ ...address, rejectUnauthorized: false });
    return socket.on('data', (bytes: Buffer) => {
      if (!this.#onBytes(bytes, bytes.length)) socket.pause();
    });
  }

  get port(): number {
    return this.#socket.localPort ?? 0;
  }

  /** Payload since the mark. */
  get bytes(): number {
    return this.reader.payload - this.marked;
  }

  /** Starts counting bytes, and parsing them if there is a check. */
  mark(check: StreamCheck | undefined): void {
    this.marked = this.reader.payload;
    this.reader.strict = true;
    this.parse(check);
  }

  /** Starts full parsing. */
  parse(check: StreamCheck | undefined): void {
    this.check = check;
    this.reader.sink = check
      ? (bytes, from, to) => check.feed(bytes.subarray(from, to), this.#now())
      : undefined;
  }

  /** Starts reading everything. */
  resume(): void {
    this.#reading = 'all';
    this.#socket.resume();
  }

  close(): void {
    this.#closing = true;
    this.#socket.destroy();
  }

  /** @returns whether to continue reading. */
  #onBytes(buffer: Buffer, length: number): boolean {
    this.#counters.wire += length;
    let from = 0;
    if (!this.#open) {
      from = this.#readHead(buffer, length);
      if (from === -1) return true;
    }
    this.reader.read(buffer, from, length);
    if (this.reader.fault !== undefined) this.#fail(this.reader.fault);
    if (this.#reading === 'all') return true;
    if (this.#reading === 'trickle') setTimeout(() => this.#socket.resume(), TRICKLE_MS).unref();
    return false;
  }

  /** @returns the start of the body, -1 if it has not started. */
  #readHead(buffer: Buffer, length: number): number {
    const before = this.#head.length;
    this.#head += buffer.toString('latin1', 0, length);
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return -1;
    const head = this.#head.slice(0, end);
    this.#head = '';
    if (!/^HTTP\/1\.1 200 /.test(head) || !/\r\ntransfer-encoding: chunked/i.test(head)) {
      this.#fail(`no stream: ${head.slice(0, 80)}`);
    }
    this.#open = true;
    this.#counters.opened += 1;
    return end + HEAD_END.length - before;
  }

  #onClose(): void {
    if (this.#closing || this.closed) return;
    this.closed = true;
    this.#counters.closed += 1;
    if (!this.#open) this.#fail('the connection ended before the stream began');
  }

  #fail(what: string): void {
    const { faults } = this.#counters;
    if (faults.length < FAULTS_KEPT && !faults.includes(what)) faults.push(what);
  }
}
