// Runs in the relay thread. Owns one bot host process: its pipes, and the service's end of each of its channels. The rest of the
// service sees the ports and cells of a bot host thread.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, unlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { botEnvironment } from '../shared/bot-environment.js';
import { LeaseDeadline } from '../shared/cluster/lease-deadline.js';
import type { HostPort, HostStart } from '../shared/contract/threads.js';
import { messageOf } from '../shared/errors.js';
import { applyImage } from '../shared/memory/cell-image.js';
import { ForkGate } from '../shared/memory/fork-gate.js';
import { Heartbeat } from '../shared/memory/heartbeat.js';
import { InFlight } from '../shared/memory/in-flight.js';
import { LastRun } from '../shared/memory/last-run.js';
import { LoopLag } from '../shared/memory/loop-lag.js';
import { Quota } from '../shared/memory/quota.js';
import { WORKERS } from '../shared/package-paths.js';
import { readCrashNote } from '../shared/pipe/crash-note.js';
import { FrameReader } from '../shared/pipe/frame-reader.js';
import {
  CONTROL,
  FIRST_PORT,
  header,
  LINK,
  packMessage,
  unpackMessage,
} from '../shared/pipe/frames.js';
import {
  FD,
  type FromWatch,
  type LinkEnd,
  type LinkStart,
  type ProcessEnd,
  type SystemLimits,
  type ToWatch,
} from '../shared/pipe/messages.js';
import { withTimeout } from '../shared/with-timeout.js';
import { BatchCredit } from './batch-credit.js';
import { ProcessOutput } from './process-output.js';

type Captured = Pick<FromWatch & { type: 'captured' }, 'frames' | 'bot'>;

/** What V8 lets the heap grow beyond the limit that main watches, in MB: above it Node ends the process, and says so. */
const HEADROOM_MB = 256;
/** How long what the process has written is waited for after its end, in ms: something it has started may have its pipes. */
const DRAIN_MS = 500;
/** How much longer than the main thread may take to answer the watch thread is waited for, in ms. */
const ANSWER_MS = 500;
/** Where files are memory, on Linux. */
const MEMORY_DIR = '/dev/shm';

const gate = ForkGate.ofProcess();

/** A message of the Rpc between main and the host, as far as it is read here. */
interface RpcMessage {
  type: string;
  method?: string;
  input?: { port?: HostPort; inFlight?: SharedArrayBuffer } | null;
}

export class ProcessHost {
  readonly #start: HostStart;
  readonly #limits: SystemLimits;
  readonly #ended: (end: ProcessEnd) => void;
  readonly #note = openNote();
  readonly #output: ProcessOutput;
  readonly #heartbeat: Heartbeat;
  readonly #lag: LoopLag;
  readonly #streams: Quota<'perToken' | 'perAddress'>;
  readonly #child: ChildProcess;
  readonly #out: Socket;
  readonly #in: Socket;
  readonly #watch: Socket;
  /** The ports of fronts, by channel. */
  readonly #ports = new Map<number, HostPort>();
  #events: { channel: number; port: HostPort; credit: BatchCredit };
  #nextChannel = FIRST_PORT;
  #hadStreams = false;
  #isDone = false;
  #failure: ProcessEnd['failure'] = null;
  readonly #captures = new Map<number, (captured: Captured | null) => void>();
  #nextCapture = 1;

  /**
   * @param ended is called once, when the process is gone and all that it has sent was passed on.
   * @throws Error when the process cannot be started.
   */
  constructor(start: HostStart, limits: SystemLimits, ended: (end: ProcessEnd) => void) {
    this.#start = start;
    this.#limits = limits;
    this.#ended = ended;
    this.#heartbeat = new Heartbeat(start.heartbeat);
    this.#lag = new LoopLag(start.lag);
    this.#streams = new Quota(start.streams, 0);
    this.#output = new ProcessOutput(`bot host ${start.host}`);
    this.#child = startProcess(start, this.#note);
    const { stdout, stderr, stdio } = this.#child;
    if (stdout && stderr) this.#output.read(stdout, stderr);
    this.#out = stdio[FD.out] as unknown as Socket;
    this.#in = stdio[FD.in] as unknown as Socket;
    this.#watch = stdio[FD.watch as 4] as unknown as Socket;
    // Their ends follow that of the process.
    for (const pipe of [this.#out, this.#in, this.#watch]) pipe.on('error', () => {});
    this.#events = this.#openEvents(start.events, start.inFlight);
    this.#read(this.#out, (channel, bytes) => this.#take(channel, bytes));
    this.#read(this.#watch, (_, bytes) => this.#hear(unpackMessage(bytes) as FromWatch));
    this.#begin();
    this.#child.once('error', (error) => {
      // Without a pid it was never started, and does not exit.
      if (this.pid === undefined)
        this.#end(null, null, `it could not be started: ${messageOf(error)}`);
    });
    this.#child.once('exit', (code, signal) => void this.#exited(code, signal));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends the process, and what it has started in its group. */
  kill(): void {
    const { pid } = this;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }

  /** Where its main thread is; null when it does not say within the time: it is in native code. */
  capture(withinMs: number): Promise<Captured | null> {
    const id = this.#nextCapture++;
    const answer = new Promise<Captured | null>((resolve) => this.#captures.set(id, resolve));
    this.#tellWatch({ type: 'capture', id, withinMs });
    return withTimeout(answer, withinMs + ANSWER_MS, () => null).finally(() =>
      this.#captures.delete(id),
    );
  }

  /** To its watch thread: the main thread may be busy when the lease is renewed. */
  tellLease(): void {
    const { lease } = this.#start;
    if (lease) this.#tellWatch({ type: 'lease', until: new LeaseDeadline(lease).times });
  }

  #begin(): void {
    const {
      control,
      events: _events,
      inFlight: _inFlight,
      heartbeat: _heartbeat,
      streams: _streams,
      lag: _lag,
      lastRun: _lastRun,
      commandLog: _commandLog,
      lease,
      ...shared
    } = this.#start;
    const { channel: events } = this.#events;
    // Before any bot can be started.
    this.tellLease();
    const start = { ...shared, hasLease: lease !== null };
    this.#send(LINK, { start, events, limits: this.#limits } satisfies LinkStart);
    this.#tellStreams();
    control.on<RpcMessage>('message', (message) => this.#pass(message));
  }

  #read(pipe: Socket, take: (channel: number, bytes: Uint8Array<ArrayBuffer>) => void): void {
    const reader = new FrameReader(take);
    pipe.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (thrown) {
        // Its memory is damaged, or a bot writes to its pipe.
        this.#failure ??= {
          message: `what it sends cannot be read: ${messageOf(thrown)}`,
          stack: null,
        };
        pipe.destroy();
        this.kill();
      }
    });
  }

  /** From main to the host. A port in its input becomes a channel. */
  #pass(message: RpcMessage): void {
    const { port, inFlight } = message.input ?? {};
    if (!port) {
      this.#send(CONTROL, message);
      return;
    }
    let channel: number;
    if (inFlight) {
      this.#closeEvents();
      this.#events = this.#openEvents(port, inFlight);
      channel = this.#events.channel;
    } else {
      channel = this.#nextChannel++;
      this.#ports.set(channel, port);
    }
    this.#send(CONTROL, { ...message, input: { channel } });
    if (!inFlight) this.#relay(channel, port);
  }

  #relay(channel: number, port: HostPort): void {
    port.on('message', (message) => this.#send(channel, message));
    port.once('close', () => {
      if (this.#ports.delete(channel)) this.#sendBytes(channel, new Uint8Array(0));
    });
  }

  #openEvents(
    port: HostPort,
    inFlight: SharedArrayBuffer,
  ): { channel: number; port: HostPort; credit: BatchCredit } {
    const channel = this.#nextChannel++;
    const credit = new BatchCredit(new InFlight(inFlight), this.#start.inFlightLimit, {
      taken: (bytes) => this.#tellWatch({ type: 'taken', channel, bytes }),
      hold: (is) => (is ? this.#out.pause() : this.#out.resume()),
    });
    return { channel, port, credit };
  }

  #closeEvents(): void {
    this.#events.credit.close();
    this.#events.port.close();
  }

  /** From the host. */
  #take(channel: number, bytes: Uint8Array<ArrayBuffer>): void {
    if (channel === this.#events.channel) {
      // Those on an earlier channel are for a broadcaster that is gone.
      if (bytes.length > 0) this.#takeBatch(bytes);
    } else if (channel === CONTROL) this.#takeControl(unpackMessage(bytes) as RpcMessage);
    else if (channel === LINK) this.#takeEnd(unpackMessage(bytes) as LinkEnd);
    else this.#takeOther(channel, bytes);
  }

  #takeBatch(bytes: Uint8Array<ArrayBuffer>): void {
    const { port, credit } = this.#events;
    credit.post(bytes.byteLength);
    port.postMessage({ bytes }, [bytes.buffer]);
    this.#tellStreams();
  }

  #takeControl(message: RpcMessage): void {
    // Main would fail on it.
    if (message?.type === undefined) throw new Error('a message without a type');
    if (message.type === 'tell') {
      if (message.method === 'awake') {
        // Before main looks at the host.
        this.#heartbeat.isAwake = true;
        this.#tellStreams();
      } else this.#readNote();
    }
    this.#start.control.postMessage(message);
  }

  #takeEnd(end: LinkEnd): void {
    if (end.type === 'done') this.#isDone = true;
    else this.#failure ??= { message: end.message, stack: end.stack };
  }

  #takeOther(channel: number, bytes: Uint8Array): void {
    const port = this.#ports.get(channel);
    if (!port) return;
    if (bytes.length > 0) port.postMessage(unpackMessage(bytes));
    else {
      this.#ports.delete(channel);
      port.close();
    }
  }

  #hear(message: FromWatch): void {
    if (message.type === 'cells') {
      const wasAwake = this.#heartbeat.isAwake;
      applyImage(message.lastRun, this.#start.lastRun);
      applyImage(message.heartbeat, this.#start.heartbeat);
      this.#lag.add(message.lag);
      // Main may end the host at any time, and writes its report first.
      this.#readNote();
      this.#tellStreams();
      // The pipes have no common order: the end of its last sleep may have come after its call.
      if (!wasAwake && this.#heartbeat.isAwake) {
        this.#start.control.postMessage({ type: 'tell', method: 'awake', input: null });
      }
      return;
    }
    const { id } = message;
    this.#captures.get(id)?.(message.type === 'captured' ? message : null);
  }

  /** Only a change is told. */
  #tellStreams(): void {
    const open = this.#streams.total() > 0;
    if (open === this.#hadStreams) return;
    this.#hadStreams = open;
    this.#tellWatch({ type: 'streams', open });
  }

  #tellWatch(message: ToWatch): void {
    const bytes = packMessage(message);
    if (this.#watch.writable) this.#watch.write(Buffer.concat([header(LINK, bytes.length), bytes]));
  }

  #send(channel: number, message: unknown): void {
    this.#sendBytes(channel, packMessage(message));
  }

  /**
   * What a host that hangs does not read waits here, as it would in a MessagePort: calls of main, and commands of fronts, which
   * they bound (src/front/host-commands.ts).
   */
  #sendBytes(channel: number, bytes: Uint8Array): void {
    if (this.#in.writable) this.#in.write(Buffer.concat([header(channel, bytes.length), bytes]));
  }

  /** @returns the run whose code ran last. */
  #readNote(isLast = false): number {
    return readCrashNote(this.#note, this.#start.commandLog, isLast);
  }

  async #exited(code: number | null, signal: string | null): Promise<void> {
    // What it has started, and did not end.
    this.kill();
    const pipes = [this.#out, this.#child.stderr].map(
      (pipe) =>
        new Promise((resolve) => (pipe?.closed ? resolve(null) : pipe?.once('close', resolve))),
    );
    this.#events.credit.close();
    this.#out.resume();
    await withTimeout(Promise.all(pipes), DRAIN_MS, () => {});
    const run = this.#readNote(true);
    if (!this.#isDone && run !== 0) new LastRun(this.#start.lastRun).set(run);
    this.#end(code, signal, null);
  }

  #end(code: number | null, signal: string | null, why: string | null): void {
    if (why !== null) this.#failure ??= { message: why, stack: null };
    this.#heartbeat.isAwake = false;
    this.#closeEvents();
    for (const port of this.#ports.values()) port.close();
    this.#ports.clear();
    for (const pipe of [this.#out, this.#in, this.#watch]) pipe.destroy();
    closeSync(this.#note);
    const stderr = this.#output.lastLines();
    this.#ended({ code, signal, isDone: this.#isDone, failure: this.#failure, stderr });
  }
}

/** @throws Error when the system refuses it at once. */
function startProcess({ maxHeapMb, env }: HostStart, note: number): ChildProcess {
  // A debugger's port is that of the service.
  const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const flags = ['--expose-gc', `--max-old-space-size=${maxHeapMb + HEADROOM_MB}`];
  const entry = fileURLToPath(WORKERS.botProcess);
  // Of its Node; its bots do not get it.
  const { NODE_OPTIONS } = process.env;
  const options: SpawnOptions = {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', note],
    // It leads its own group: a signal from the terminal is for the service, and the group can be ended as a whole.
    detached: true,
    env: {
      ...botEnvironment(process.env, env),
      ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }),
    },
  };
  return gate.start(() => spawn(process.execPath, [...execArgv, ...flags, entry], options));
}

/** A file in memory where there is such a place, without a name: it is gone with the last of the two that have it open. */
function openNote(): number {
  const directory = existsSync(MEMORY_DIR) ? MEMORY_DIR : tmpdir();
  const path = join(directory, `drover-host-${randomBytes(8).toString('hex')}`);
  const note = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return note;
}
