// A ProcessHost of the relay whose process is the test: it writes to the pipes, and reads what the service gets, in one turn.

import { EventEmitter } from 'node:events';
import { ProcessEvents } from '../../src/broadcaster/process-events.js';
import { ProcessHost } from '../../src/host-relay/process-host.js';
import type { Batch } from '../../src/shared/contract/batch.js';
import type { Item } from '../../src/shared/contract/events.js';
import type { HostPort, HostStart } from '../../src/shared/contract/threads.js';
import { Deferred } from '../../src/shared/deferred.js';
import { CommandLog } from '../../src/shared/memory/command-log.js';
import { Heartbeat } from '../../src/shared/memory/heartbeat.js';
import { InFlight } from '../../src/shared/memory/in-flight.js';
import { LastRun } from '../../src/shared/memory/last-run.js';
import { createLags } from '../../src/shared/memory/loop-lag.js';
import { createQuota } from '../../src/shared/memory/quota.js';
import { FrameReader } from '../../src/shared/pipe/frame-reader.js';
import { header, packMessage, unpackMessage } from '../../src/shared/pipe/frames.js';
import { FD, type ProcessEnd } from '../../src/shared/pipe/messages.js';

/** One end of a pipe: as much of a socket as the relay uses. */
class Pipe extends EventEmitter {
  writable = true;
  writableLength = 0;
  closed = false;
  isPaused = false;
  readonly written: [channel: number, bytes: Uint8Array][] = [];
  readonly #reader = new FrameReader((channel, bytes) => this.written.push([channel, bytes]));

  write(bytes: Uint8Array): void {
    this.#reader.push(bytes);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  destroy(): void {
    this.closed = true;
    this.writable = false;
    this.removeAllListeners('data');
    this.emit('close');
  }
}

/** The relay's end of a channel to a thread of the service. */
class Port extends EventEmitter implements HostPort {
  /** What the thread has got. */
  #posted: unknown[] = [];

  postMessage(message: unknown): void {
    this.#posted.push(structuredClone(message));
  }

  /** What it has got since the last time. */
  taken(): unknown[] {
    const posted = this.#posted;
    this.#posted = [];
    return posted;
  }

  close(): void {
    this.emit('close');
  }
}

type Sending = 'out' | 'watch';

export class PipedHost {
  readonly cells: {
    heartbeat: SharedArrayBuffer;
    lastRun: SharedArrayBuffer;
    commandLog: SharedArrayBuffer;
  };
  readonly pipes = { out: new Pipe(), in: new Pipe(), watch: new Pipe() };
  readonly host: ProcessHost;
  readonly inFlight: InFlight;
  /** The descriptor of its note. */
  note = -1;
  readonly #main = new Port();
  readonly #broadcaster = new Port();
  readonly #reader = new ProcessEvents((answer) => this.#broadcaster.emit('message', answer));
  readonly #child = new EventEmitter();
  readonly #ended: Promise<ProcessEnd>;
  #lastId = 0;

  constructor() {
    const inFlight = InFlight.create();
    this.inFlight = new InFlight(inFlight);
    this.cells = {
      heartbeat: Heartbeat.create(),
      lastRun: LastRun.create(),
      commandLog: CommandLog.create(),
    };
    const start: HostStart = {
      host: 3,
      control: this.#main,
      events: this.#broadcaster,
      inFlight,
      inFlightLimit: 1_000_000,
      botLinesPerSecond: 100,
      networkAllow: null as never,
      env: [],
      maxHeapMb: 64,
      ...this.cells,
      streams: createQuota({ total: 1, perToken: 1, perAddress: 1 }, 1),
      lag: { buffer: createLags(1), block: 0 },
      commandTimeoutMs: 1000,
      programs: {},
      sources: [],
      notesFiles: false,
      lease: null,
      notesResources: false,
    };
    const limits = { cgroup: null, memoryBytes: 0, byData: false };
    const stdio: unknown[] = [null, null, null];
    for (const [name, pipe] of Object.entries(this.pipes)) stdio[FD[name as Sending]] = pipe;
    const stderr = new Pipe();
    stderr.closed = true;
    const child = Object.assign(this.#child, { stdio, stdout: null, stderr });
    const ended = new Deferred<ProcessEnd>();
    this.#ended = ended.promise;
    this.host = new ProcessHost(
      start,
      limits,
      (end) => ended.resolve(end),
      (_, note) => {
        this.note = note;
        return child as never;
      },
    );
  }

  /** The relay has ended it. */
  get isEnded(): boolean {
    return this.pipes.out.closed;
  }

  /** It exits. @returns how it has ended. */
  async exit(): Promise<ProcessEnd> {
    this.pipes.out.destroy();
    this.#child.emit('exit', this.isEnded ? null : 0, 'SIGKILL');
    return await this.#ended;
  }

  /** Main says something to it. @returns the id of a call. */
  asMain(method: string, input: unknown, type: 'call' | 'tell' = 'call'): number {
    this.#lastId += 1;
    this.#main.emit('message', { type, id: this.#lastId, method, input });
    return this.#lastId;
  }

  /** Main starts bots of the kind `test` there: their runs are 1, 2, …, as they are named. */
  startBots(...ids: string[]): void {
    const bots = ids.map((id, n) => ({ id, run: n + 1, kind: 'test', config: {} }));
    const id = this.asMain('start', { bots });
    this.say(0, { type: 'return', id, output: { failed: {} } });
    this.heard();
  }

  /** A front opens a channel. @returns its number, and the front's end. */
  openFront(): { channel: number; front: Port } {
    const front = new Port();
    this.asMain('attachFront', { port: front });
    const [, bytes] = this.pipes.in.written.at(-1) as [number, Uint8Array];
    const { input } = unpackMessage(bytes) as { input: { channel: number } };
    return { channel: input.channel, front };
  }

  /** The process sends a message. */
  say(channel: number, message: unknown, pipe: Sending = 'out'): void {
    this.send(channel, packMessage(message), pipe);
  }

  /** The process sends a batch of events. */
  publish(...events: unknown[]): void {
    this.send(2, Buffer.from(events.map((event) => JSON.stringify(event)).join('\n')));
  }

  /** The process sends a frame. */
  send(channel: number, body: Uint8Array, pipe: Sending = 'out'): void {
    this.write(Buffer.concat([header(channel, body.length), body]), pipe);
  }

  /** The process writes to a pipe. */
  write(bytes: Uint8Array, pipe: Sending = 'out'): void {
    this.pipes[pipe].emit('data', bytes);
  }

  /** What main has got since the last time. */
  heard(): Record<string, unknown>[] {
    return this.#main.taken() as Record<string, unknown>[];
  }

  /** What the broadcaster has got since the last time. */
  published(): Item[] {
    return (this.#broadcaster.taken() as Batch[]).flatMap((batch) => {
      this.inFlight.subtract(batch.bytes.byteLength);
      return this.#reader.take(batch);
    });
  }
}
