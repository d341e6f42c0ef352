// Runs in crowd processes. Owns one client across its connections. It checks every number: each frame once, in order.

import { connect, type Socket } from 'node:net';
import { ChunkReader } from './chunk-reader.js';

/** One read buffer for all sockets: data is processed before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(256 * 1024);
const HEAD_END = '\r\n\r\n';
/** As browsers have it without a `retry:`, in ms. */
const DEFAULT_RETRY_MS = 2_000;
const ID = /^([0-9a-f]+)-(\d+)$/;
const FAULTS_KEPT = 5;

export interface CrowdTarget {
  host: string;
  port: number;
  authorization: string;
}

/** What all clients of a process share. */
export interface CrowdCounters {
  opened: number;
  lost: number;
  refused: number;
  resumed: number;
  replayed: number;
  /** Part of the frame after which a client counts as resumed; undefined before the service is lost. */
  marker: string | undefined;
  /** Whether lost clients connect again by themselves. */
  isAsTold: boolean;
  readonly gaps: Map<string, number>;
  readonly faults: string[];
}

export class CrowdStream {
  /** Number of the last frame, -1 before the first. */
  last = -1;
  retryMs = DEFAULT_RETRY_MS;
  /** Unix epoch ms; 0 if it did not happen yet. */
  openedAt = 0;
  resumedAt = 0;
  readonly #target: CrowdTarget;
  readonly #counters: CrowdCounters;
  #socket: Socket | undefined;
  #reader: ChunkReader = new ChunkReader('');
  #epoch = '';
  #head = '';
  #isOpen = false;
  #isClosed = false;
  #gaps = 0;
  /** The end of the payload, without its line end yet. */
  #rest = '';
  #id = '';
  #event = '';
  #data = '';

  constructor(target: CrowdTarget, counters: CrowdCounters) {
    this.#target = target;
    this.#counters = counters;
    this.connect();
  }

  /** Behaves as if its connection had been lost so many frames earlier. */
  forget(frames: number): void {
    this.last -= frames;
  }

  connect(): void {
    const { host, port, authorization } = this.#target;
    const socket = connect({
      host,
      port,
      onread: {
        buffer: READ_BUFFER,
        callback: (length) => {
          if (socket === this.#socket) this.#onBytes(length);
          return true;
        },
      },
    });
    this.#socket = socket;
    this.#head = '';
    this.#rest = '';
    this.#id = '';
    this.#event = '';
    this.#data = '';
    this.#isOpen = false;
    this.#reader = new ChunkReader('');
    this.#reader.sink = (bytes, from, to) => this.#onText(bytes.toString('latin1', from, to));
    socket.on('error', () => {});
    socket.once('close', () => this.#onClose());
    const resume = this.last === -1 ? '' : `Last-Event-ID: ${this.#epoch}-${this.last}\r\n`;
    socket.write(
      `GET /events?snapshot=0 HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: ${authorization}\r\n` +
        `Accept: text/event-stream\r\n${resume}\r\n`,
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #onClose(): void {
    if (this.#isClosed) return;
    const counters = this.#counters;
    if (this.#isOpen) counters.lost += 1;
    else counters.refused += 1;
    if (this.#isOpen && counters.marker === undefined) this.#fail('a stream ended before the loss');
    if (this.#isOpen && this.openedAt !== 0) this.#fail('a stream ended after it had come back');
    this.#isOpen = false;
    if (counters.isAsTold) setTimeout(() => this.connect(), this.retryMs);
  }

  #onBytes(length: number): void {
    const from = this.#isOpen ? 0 : this.#readHead(length);
    if (from === -1) return;
    this.#reader.read(READ_BUFFER, from, length);
    if (this.#reader.fault !== undefined) this.#fail(this.#reader.fault);
  }

  /** @returns the start of the body, -1 if it has not started. */
  #readHead(length: number): number {
    const before = this.#head.length;
    this.#head += READ_BUFFER.toString('latin1', 0, length);
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return -1;
    if (!this.#head.startsWith('HTTP/1.1 200 ')) this.#fail(this.#head.slice(0, 80));
    this.#head = '';
    this.#isOpen = true;
    this.#counters.opened += 1;
    if (this.#counters.marker !== undefined) this.openedAt = Date.now();
    return end + HEAD_END.length - before;
  }

  #onText(text: string): void {
    const all = this.#rest + text;
    let at = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', at)) {
      this.#onLine(all.slice(at, end));
      at = end + 1;
    }
    this.#rest = all.slice(at);
  }

  #onLine(line: string): void {
    if (line === '') this.#dispatch();
    else if (line.startsWith('data: ')) this.#data = line;
    else if (line.startsWith('event: ')) this.#event = line.slice(7);
    else if (line.startsWith('id: ')) this.#id = line.slice(4);
    else if (line.startsWith('retry: ')) this.retryMs = Number(line.slice(7));
    else if (line.startsWith(': position ')) {
      const seq = this.#numberOf(line.slice(11));
      if (this.last === -1) this.last = seq;
      else this.#expect(seq === this.last, `the position ${seq} after ${this.last}`);
    }
  }

  #dispatch(): void {
    const [id, event, data] = [this.#id, this.#event, this.#data];
    this.#id = '';
    this.#event = '';
    this.#data = '';
    // A snapshot.
    if (id === '') return;
    const seq = this.#numberOf(id);
    if (event === 'gap') {
      this.#onGap(data);
      return;
    }
    this.#expect(seq === this.last + 1, `${seq} after ${this.last}`);
    this.last = seq;
    const { marker } = this.#counters;
    if (marker === undefined || this.openedAt === 0) return;
    if (this.#gaps === 0) this.#counters.replayed += 1;
    if (this.resumedAt !== 0 || !data.includes(marker)) return;
    this.resumedAt = Date.now();
    this.#counters.resumed += 1;
  }

  #onGap(data: string): void {
    const { gaps } = this.#counters;
    const { from, to } = JSON.parse(data.slice(6)) as { from: string; to: string };
    const [first, last] = [this.#numberOf(from), this.#numberOf(to)];
    this.#expect(
      this.openedAt !== 0 && this.#gaps === 0 && first === this.last + 1,
      `the gap from ${from} to ${to} after ${this.last}`,
    );
    this.#gaps += 1;
    this.last = last;
    const key = `${first}-${last}`;
    gaps.set(key, (gaps.get(key) ?? 0) + 1);
  }

  #numberOf(id: string): number {
    const match = ID.exec(id);
    if (this.#epoch === '') this.#epoch = match?.[1] ?? '';
    this.#expect(match?.[1] === this.#epoch, `the id ${id}`);
    return Number(match?.[2] ?? Number.NaN);
  }

  #expect(isRight: boolean, otherwise: string): void {
    if (!isRight) this.#fail(otherwise);
  }

  #fail(what: string): void {
    const { faults } = this.#counters;
    if (faults.length < FAULTS_KEPT && !faults.includes(what)) faults.push(what);
  }
}
