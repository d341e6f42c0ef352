// Runs in swarm processes. Owns one stream: its socket, how it reads, and what it has had.

import { connect, type Socket } from 'node:net';
import { ChunkReader } from './chunk-reader.js';
import type { StreamCheck } from './stream-check.js';
import type { Reading, StreamTarget } from './swarm-jobs.js';

/** All sockets of the process read into this one: what was read is looked at before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024);
/** What a trickling client reads at a time, once a second. */
const TRICKLE_BUFFER = Buffer.allocUnsafeSlow(1024);
const TRICKLE_MS = 1000;
const HEAD_END = '\r\n\r\n';

/** What all streams of a group add to. */
export interface GroupCounters {
  /** Bytes that were read since the group was opened, with heads and chunk sizes. */
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
    const { hostname, port } = new URL(target.url);
    const buffer = reading === 'trickle' ? TRICKLE_BUFFER : READ_BUFFER;
    this.#socket = connect({
      host: hostname,
      port: Number(port),
      onread: { buffer, callback: (length) => this.#onBytes(buffer, length) },
    });
    this.#socket.on('error', () => {});
    this.#socket.once('close', () => this.#onClose());
    this.#socket.write(
      `GET ${target.path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${target.authorization}\r\n` +
        'Accept: text/event-stream\r\n\r\n',
    );
  }

  get port(): number {
    return this.#socket.localPort ?? 0;
  }

  /** Payload since the mark. */
  get bytes(): number {
    return this.reader.payload - this.marked;
  }

  /** From here on all bytes are counted, and parsed when there is a check. */
  mark(check: StreamCheck | undefined): void {
    this.marked = this.reader.payload;
    this.reader.strict = true;
    this.parse(check);
  }

  /** Parses what comes from here on in full. */
  parse(check: StreamCheck | undefined): void {
    this.check = check;
    this.reader.sink = check
      ? (bytes, from, to) => check.feed(bytes.subarray(from, to), this.#now())
      : undefined;
  }

  /** Reads all from here on. */
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

  /** @returns where the body begins, -1 when it has not. */
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
    if (!this.#open) this.#fail('a connection that ended before its stream began');
  }

  #fail(what: string): void {
    const { faults } = this.#counters;
    if (faults.length < FAULTS_KEPT && !faults.includes(what)) faults.push(what);
  }
}
