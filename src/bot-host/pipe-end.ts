// Runs in the main thread of a bot host process. Owns its ends of the pipes to the relay in the service.
//
// What the host writes is written at once, and the thread waits until the pipe has taken it: what was written before a crash
// arrives, and no queue is needed here. The relay never stops reading for long: the host bounds what is in flight (outbox.ts), and
// the relay reads on until eight times that.

import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { Socket } from 'node:net';
import type { Batch } from '../shared/contract/batch.js';
import type { HostPort } from '../shared/contract/threads.js';
import { blockFor } from '../shared/memory/block-for.js';
import { FrameReader } from '../shared/pipe/frame-reader.js';
import { CONTROL, header, LINK, packMessage, unpackMessage } from '../shared/pipe/frames.js';
import { FD, type LinkEnd, type LinkStart } from '../shared/pipe/messages.js';

// Kept here before a kind can replace them.
const { writevSync } = fs;
const kill = process.kill.bind(process);

/** How long it waits before it writes again to a pipe that somebody has made non-blocking, in ms. */
const AGAIN_MS = 1;
const NOTHING = new Uint8Array(0);

export class PipeEnd {
  readonly #ports = new Map<number, PipePort>();
  readonly #opened: (method: string, channel: number) => object;
  /** The host's Rpc with main. */
  readonly control: HostPort;
  /** Resolves with the first frame. */
  readonly started: Promise<LinkStart>;

  /**
   * @param opened returns what takes the place of a channel that the relay has opened, in the input of this method of the host.
   */
  constructor(opened: (method: string, channel: number) => object) {
    this.#opened = opened;
    this.control = this.port(CONTROL);
    this.started = new Promise((resolve) => {
      const reader = new FrameReader((channel, bytes) => {
        if (channel === LINK) resolve(unpackMessage(bytes) as LinkStart);
        else this.#take(channel, bytes);
      });
      const pipe = new Socket({ fd: FD.in, readable: true, writable: false });
      pipe.on('data', (chunk: Buffer) => reader.push(chunk));
      // The watch thread ends the process.
      pipe.on('error', () => {});
    });
  }

  /** A channel whose messages are packed. */
  port(channel: number): HostPort {
    return this.#add(
      new PipePort(
        (message) => this.write(channel, packMessage(message)),
        () => this.#close(channel),
      ),
      channel,
    );
  }

  /** A channel for batches, which are packed already: by packEvents. */
  eventsPort(channel: number): HostPort {
    return this.#add(
      new PipePort(
        (batch) => this.write(channel, (batch as Batch).bytes),
        () => this.#close(channel),
      ),
      channel,
    );
  }

  tell(end: LinkEnd): void {
    this.write(LINK, packMessage(end));
  }

  /** Returns when the pipe has taken all bytes. If it cannot, the process ends. */
  write(channel: number, bytes: Uint8Array): void {
    let rest: Uint8Array[] = [header(channel, bytes.length), bytes];
    for (;;) {
      let written = 0;
      try {
        written = writevSync(FD.out, rest);
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException;
        // The service is gone, and this process with all that it has started must be too.
        if (code !== 'EAGAIN' && code !== 'EINTR') kill(-process.pid, 'SIGKILL');
        blockFor(AGAIN_MS);
      }
      rest = without(rest, written);
      if (rest.length === 0) return;
    }
  }

  #add(port: PipePort, channel: number): PipePort {
    this.#ports.set(channel, port);
    return port;
  }

  #close(channel: number): void {
    if (this.#ports.delete(channel)) this.write(channel, NOTHING);
  }

  #openIn(message: ControlMessage): void {
    const { method, input } = message;
    if (method === undefined || typeof input?.channel !== 'number') return;
    message.input = this.#opened(method, input.channel);
  }

  #take(channel: number, bytes: Uint8Array): void {
    const port = this.#ports.get(channel);
    if (!port) return;
    if (bytes.length > 0) {
      const message = unpackMessage(bytes);
      if (channel === CONTROL) this.#openIn(message as ControlMessage);
      port.take(message);
      return;
    }
    this.#ports.delete(channel);
    port.end();
  }
}

/** The part of an Rpc message that is read here: the relay has replaced a port of the input by a channel. */
interface ControlMessage {
  method?: string;
  input?: { channel?: number } | null;
}

/** One channel. As in a MessagePort, messages wait for the first listener: main's first calls come with the start. */
class PipePort extends EventEmitter implements HostPort {
  /** Undefined when there is a listener. Bounded by what main asks of a host before it has answered. */
  #early: unknown[] | undefined = [];
  readonly #post: (message: unknown) => void;
  readonly #close: () => void;
  #isClosed = false;

  constructor(post: (message: unknown) => void, close: () => void) {
    super();
    this.#post = post;
    this.#close = close;
  }

  /** Drops messages after the end, as a MessagePort does. */
  postMessage(message: unknown): void {
    if (!this.#isClosed) this.#post(message);
  }

  take(message: unknown): void {
    if (this.#isClosed) return;
    if (this.#early) this.#early.push(message);
    else this.emit('message', message);
  }

  override on<Message>(event: string, listener: (message: Message) => void): this {
    super.on(event, listener);
    // Delivers later, because the listener is not ready before its constructor has returned.
    if (event === 'message') queueMicrotask(() => this.#takeEarly());
    return this;
  }

  #takeEarly(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const message of early) this.emit('message', message);
  }

  /** The other end is closed. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit('close');
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#close();
    setImmediate(() => this.emit('close'));
  }
}

/** The rest of the parts after so many bytes were written. */
function without(parts: readonly Uint8Array[], written: number): Uint8Array[] {
  const rest: Uint8Array[] = [];
  let done = written;
  for (const part of parts) {
    const taken = Math.min(done, part.length);
    done -= taken;
    if (taken < part.length) rest.push(part.subarray(taken));
  }
  return rest;
}
