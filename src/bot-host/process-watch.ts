// Runs in the watch thread of a bot host process, beside the main thread, which runs the bots and may hang. Owns a pipe to the
// relay in the service, and reads the cells that the main thread writes.

import type { Socket } from 'node:net';
import { imageOf } from '../shared/memory/cell-image.js';
import { Heartbeat } from '../shared/memory/heartbeat.js';
import { InFlight } from '../shared/memory/in-flight.js';
import { LeaseDeadline, type SharedLease } from '../shared/memory/lease-deadline.js';
import { LoopLag, type SharedLag } from '../shared/memory/loop-lag.js';
import { Quota, type SharedQuota } from '../shared/memory/quota.js';
import { FrameReader } from '../shared/pipe/frame-reader.js';
import { header, LINK, packMessage, unpackMessage } from '../shared/pipe/frames.js';
import type { FromWatch, ToWatch } from '../shared/pipe/messages.js';
import type { captureMainThread } from '../shared/stack-capture.js';

/** The cells of the process. */
export interface WatchedCells {
  heartbeat: SharedArrayBuffer;
  lastRun: SharedArrayBuffer;
  lag: SharedLag;
  streams: SharedQuota<never>;
  /** The lease has passed until the relay sends another, which happens only on a node in a cluster. */
  lease: SharedLease;
}

/** Messages of the main thread. */
export type FromMain =
  /** Sent before its code runs after a pause. */
  | 'awake'
  /** The count of what is in flight on this channel for events; it replaces the one before. */
  | { channel: number; inFlight: SharedArrayBuffer };

/** How often the cells are sent while the host is awake, in ms: main looks at them every 100 ms. */
const SEND_MS = 50;

export class ProcessWatch {
  readonly #cells: WatchedCells;
  readonly #pipe: Pick<Socket, 'write'>;
  readonly #capture: typeof captureMainThread;
  readonly #heartbeat: Heartbeat;
  readonly #lag: LoopLag;
  readonly #streams: Quota<never>;
  readonly #reader = new FrameReader((_, bytes) => this.#hear(unpackMessage(bytes) as ToWatch));
  #lagSent = { counts: [] as number[], sum: 0 };
  #hasStreams = false;
  #events: { channel: number; inFlight: InFlight; taken: number } | undefined;
  /** The relay's report about a channel that the main thread has not announced yet. */
  #early: { channel: number; bytes: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(cells: WatchedCells, pipe: Pick<Socket, 'write'>, capture: typeof captureMainThread) {
    this.#cells = cells;
    this.#pipe = pipe;
    this.#capture = capture;
    this.#heartbeat = new Heartbeat(cells.heartbeat);
    this.#lag = new LoopLag(cells.lag);
    this.#streams = new Quota(cells.streams, 0);
  }

  /** A message of the main thread. */
  note(message: FromMain): void {
    if (message === 'awake') {
      this.#timer ??= setInterval(() => this.#sendCells(), SEND_MS);
      this.#sendCells();
      return;
    }
    const { channel, inFlight } = message;
    this.#events = { channel, inFlight: new InFlight(inFlight), taken: 0 };
    const early = this.#early;
    this.#early = undefined;
    if (early) this.#taken(early.channel, early.bytes);
  }

  /** Bytes of the pipe. @throws Error when they are no frames. */
  receive(chunk: Uint8Array): void {
    this.#reader.push(chunk);
  }

  #hear(message: ToWatch): void {
    switch (message.type) {
      case 'taken':
        this.#taken(message.channel, message.bytes);
        return;
      case 'streams':
        if (message.open === this.#hasStreams) return;
        this.#hasStreams = message.open;
        if (message.open) this.#streams.acquire({});
        else this.#streams.release({});
        return;
      case 'lease':
        new LeaseDeadline(this.#cells.lease).set(message.until);
        return;
      case 'capture':
        void this.#captureMain(message.id, message.withinMs);
    }
  }

  #taken(channel: number, bytes: number): void {
    const events = this.#events;
    if (events?.channel === channel) {
      events.inFlight.subtract(bytes - events.taken);
      events.taken = bytes;
    } else if (events === undefined || channel > events.channel) {
      this.#early = { channel, bytes };
    }
  }

  async #captureMain(id: number, withinMs: number): Promise<void> {
    const captured = await this.#capture(withinMs);
    // The report has the cells of this moment.
    this.#sendCells();
    this.#send(captured ? { type: 'captured', id, ...captured } : { type: 'notCaptured', id });
  }

  #sendCells(): void {
    const { heartbeat, lastRun } = this.#cells;
    // Before the cells are read: one that falls asleep meanwhile is sent once more.
    const isAwake = this.#heartbeat.isAwake;
    this.#send({
      type: 'cells',
      heartbeat: imageOf(heartbeat),
      lastRun: imageOf(lastRun),
      lag: this.#newLag(),
    });
    if (isAwake) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The counts since the last report. */
  #newLag(): { counts: number[]; sum: number } {
    const now = this.#lag.read();
    const before = this.#lagSent;
    this.#lagSent = now;
    return {
      counts: now.counts.map((count, at) => count - (before.counts[at] ?? 0)),
      sum: now.sum - before.sum,
    };
  }

  #send(message: FromWatch): void {
    const bytes = packMessage(message);
    // Some 300 bytes, 20 times a second: the relay reads them, or is gone, and this process with it.
    this.#pipe.write(Buffer.concat([header(LINK, bytes.length), bytes]));
  }
}
