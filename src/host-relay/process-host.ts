// Runs in the relay thread. Owns one bot host process: its pipes, and the service's end of each of its channels. The rest of the
// service sees the ports and cells of a bot host thread, and nothing that such a thread would not say: a process that sends anything
// else is ended here (docs/SECURITY.md).

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, unlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { botEnvironment } from '../shared/bot-environment.js';
import { LeaseDeadline } from '../shared/cluster/lease-deadline.js';
import type { Batch, BatchAnswer } from '../shared/contract/batch.js';
import type { HostPort, HostStart } from '../shared/contract/threads.js';
import { messageOf } from '../shared/errors.js';
import { HOST_VALIDATORS } from '../shared/host-validators.js';
import { applyImage } from '../shared/memory/cell-image.js';
import { ForkGate } from '../shared/memory/fork-gate.js';
import { Heartbeat } from '../shared/memory/heartbeat.js';
import { InFlight } from '../shared/memory/in-flight.js';
import { LastRun } from '../shared/memory/last-run.js';
import { LoopLag } from '../shared/memory/loop-lag.js';
import { Quota } from '../shared/memory/quota.js';
import { WORKERS } from '../shared/package-paths.js';
import { readCrashNote } from '../shared/pipe/crash-note.js';
import { FrameReader, MAX_FRAME_BYTES } from '../shared/pipe/frame-reader.js';
import {
  CONTROL,
  FIRST_PORT,
  header,
  LINK,
  packMessage,
  unpackMessage,
} from '../shared/pipe/frames.js';
import { HostFault, objectOf, quoted } from '../shared/pipe/host-fault.js';
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
import { checkNamed } from './check-named.js';
import { ControlCheck, type MainMessage } from './control-check.js';
import { FrontChannel } from './front-channel.js';
import { OwnRuns } from './own-runs.js';
import { Pace } from './pace.js';
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

/** Longest frames, in bytes: of a batch of 64 lines and snapshots, of outcomes of commands, of what is about the host itself. */
const MAX_EVENTS_BYTES = 8 * 2 ** 20;
const MAX_OWN_BYTES = 2 ** 20;
/** What may wait for a host that does not read, in bytes. */
const MAX_UNREAD_BYTES = 256 * 2 ** 20;
/** Of each text in a stack, in UTF-16 units. */
const MAX_FRAME_UNITS = 2048;

/** The input of a message of main that opens a channel. */
interface Opening {
  port?: HostPort;
  inFlight?: SharedArrayBuffer;
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
  /** The fronts, by channel. */
  readonly #fronts = new Map<number, FrontChannel>();
  readonly #runs = new OwnRuns();
  readonly #control = new ControlCheck(this.#runs);
  readonly #pace = {
    out: new Pace((is) => this.#holdOut('pace', is)),
    watch: new Pace((is) => (is ? this.#watch.pause() : this.#watch.resume())),
  };
  /** Why no more is read of what it sends. */
  readonly #holds = new Set<string>();
  #events: { channel: number; port: HostPort; credit: BatchCredit };
  #nextChannel = FIRST_PORT;
  #hadStreams = false;
  #isDone = false;
  #failure: ProcessEnd['failure'] = null;
  readonly #captures = new Map<number, (captured: Captured | null) => void>();
  #nextCapture = 1;

  /**
   * @param ended is called once, when the process is gone and all that it has sent was passed on. @param spawnHost starts the
   * process; other than that for tests.
   * @throws Error when the process cannot be started.
   */
  constructor(
    start: HostStart,
    limits: SystemLimits,
    ended: (end: ProcessEnd) => void,
    spawnHost = startProcess,
  ) {
    this.#start = start;
    this.#limits = limits;
    this.#ended = ended;
    this.#heartbeat = new Heartbeat(start.heartbeat);
    this.#lag = new LoopLag(start.lag);
    this.#streams = new Quota(start.streams, 0);
    this.#output = new ProcessOutput(`bot host ${start.host}`);
    this.#child = spawnHost(start, this.#note);
    const { stdout, stderr, stdio } = this.#child;
    if (stdout && stderr) this.#output.read(stdout, stderr);
    this.#out = stdio[FD.out] as unknown as Socket;
    this.#in = stdio[FD.in] as unknown as Socket;
    this.#watch = stdio[FD.watch as 4] as unknown as Socket;
    // Their ends follow that of the process.
    for (const pipe of [this.#out, this.#in, this.#watch]) pipe.on('error', () => {});
    this.#events = this.#openEvents(this.#nextChannel++, start.events, start.inFlight);
    this.#read(
      this.#out,
      (channel, bytes) => this.#take(channel, bytes),
      (channel) => this.#maxBytes(channel),
    );
    this.#read(
      this.#watch,
      (_, bytes) => this.#hear(bytes),
      () => MAX_OWN_BYTES,
    );
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
    control.on<MainMessage>('message', (message) => this.#pass(message));
  }

  #read(
    pipe: Socket,
    take: (channel: number, bytes: Uint8Array<ArrayBuffer>) => void,
    maxBytes: (channel: number) => number,
  ): void {
    const reader = new FrameReader(take, maxBytes);
    pipe.on('data', (chunk: Buffer) => {
      // What it has sent on another pipe has ended it.
      if (this.#failure?.isFault) return;
      try {
        reader.push(chunk);
      } catch (thrown) {
        this.#fault(thrown);
      }
    });
  }

  /** Its memory is damaged, or a bot writes to its pipe. It is ended, and its bots with it. */
  #fault(thrown: unknown): void {
    if (this.#failure?.isFault) return;
    const what =
      thrown instanceof HostFault
        ? 'it sent what no bot host sends'
        : 'what it sends cannot be read';
    this.#failure = { message: `${what}: ${messageOf(thrown)}`, stack: null, isFault: true };
    for (const pipe of [this.#out, this.#watch]) pipe.destroy();
    this.kill();
  }

  /** How long a frame on this channel may be. @throws HostFault for a channel that was never opened. */
  #maxBytes(channel: number): number {
    if (channel >= this.#nextChannel)
      throw new HostFault(`on channel ${channel}, which is not open`);
    if (channel === CONTROL) return MAX_FRAME_BYTES;
    if (channel === LINK) return MAX_OWN_BYTES;
    return channel === this.#events.channel ? MAX_EVENTS_BYTES : MAX_FRAME_BYTES;
  }

  /** From main to the host. A port in its input becomes a channel. */
  #pass(message: MainMessage): void {
    this.#control.note(message);
    const { port, inFlight } = (message.input ?? {}) as Opening;
    if (!port) {
      this.#send(CONTROL, message);
      return;
    }
    const channel = this.#nextChannel++;
    if (inFlight) {
      this.#closeEvents();
      this.#runs.tellAll();
      this.#events = this.#openEvents(channel, port, inFlight);
    }
    this.#send(CONTROL, { ...message, input: { channel } });
    // After that: the host must know the channel before its first message.
    if (!inFlight) this.#openFront(channel, port);
  }

  #openFront(channel: number, port: HostPort): void {
    const closed = (): void => {
      if (this.#fronts.delete(channel)) this.#sendBytes(channel, new Uint8Array(0));
    };
    const front = new FrontChannel(port, (message) => this.#send(channel, message), closed);
    this.#fronts.set(channel, front);
  }

  #openEvents(
    channel: number,
    port: HostPort,
    inFlight: SharedArrayBuffer,
  ): { channel: number; port: HostPort; credit: BatchCredit } {
    const credit = new BatchCredit(new InFlight(inFlight), this.#start.inFlightLimit, {
      taken: (bytes) => this.#tellWatch({ type: 'taken', channel, bytes }),
      hold: (is) => this.#holdOut('events', is),
    });
    port.on('message', (answer: BatchAnswer) => this.#hearAnswer(answer));
    return { channel, port, credit };
  }

  #closeEvents(): void {
    this.#events.credit.close();
    this.#events.port.close();
  }

  #holdOut(why: string, is: boolean): void {
    if (is) this.#holds.add(why);
    else this.#holds.delete(why);
    if (this.#holds.size > 0) this.#out.pause();
    else this.#out.resume();
  }

  /** From the host. @throws HostFault, SyntaxError */
  #take(channel: number, bytes: Uint8Array<ArrayBuffer>): void {
    if (channel === this.#events.channel) {
      // Those on an earlier channel are for a broadcaster that is gone.
      if (bytes.length > 0) this.#takeBatch(bytes);
    } else if (channel === CONTROL) this.#takeControl(bytes);
    else if (channel === LINK) this.#takeEnd(bytes);
    else this.#takeOutcomes(channel, bytes);
  }

  #takeBatch(bytes: Uint8Array<ArrayBuffer>): void {
    const { port, credit } = this.#events;
    credit.post(bytes.byteLength);
    const speakers = this.#runs.takeChanges();
    const batch: Batch = { bytes, isText: true, ...(speakers && { speakers }) };
    port.postMessage(batch, [bytes.buffer]);
    this.#tellStreams();
  }

  /** From the broadcaster, which reads the events. */
  #hearAnswer(answer: BatchAnswer): void {
    try {
      if ('stranger' in answer) this.#runs.checkBot(answer.stranger);
      else throw answer.isRead ? new HostFault(answer.fault) : new Error(answer.fault);
    } catch (thrown) {
      this.#fault(thrown);
    }
  }

  #takeControl(bytes: Uint8Array): void {
    const message = this.#control.check(bytes);
    if (message?.type !== 'return' && message?.type !== 'throw') this.#pace.out.spend(bytes.length);
    if (message === null) return;
    if (message.type === 'tell') {
      if (message.method === 'awake') {
        // Before main looks at the host.
        this.#heartbeat.isAwake = true;
        this.#tellStreams();
      } else this.#readNote();
    }
    this.#start.control.postMessage(message);
  }

  #takeEnd(bytes: Uint8Array): void {
    const end = typed(unpackMessage(bytes)) as LinkEnd;
    checkNamed(HOST_VALIDATORS.HostEnds, end.type, end);
    if (end.type === 'failed') this.#failure ??= { message: end.message, stack: end.stack };
    else if (this.#control.isEnding) this.#isDone = true;
    else throw new HostFault('its end, which nobody has asked for');
  }

  #takeOutcomes(channel: number, bytes: Uint8Array): void {
    const front = this.#fronts.get(channel);
    if (!front) {
      // It is closed already.
      this.#pace.out.spend(bytes.length);
      return;
    }
    if (bytes.length > 0) {
      front.take(bytes);
      return;
    }
    this.#fronts.delete(channel);
    front.close();
  }

  /** From the watch thread. @throws HostFault, SyntaxError */
  #hear(bytes: Uint8Array): void {
    this.#pace.watch.spend(bytes.length);
    const message = typed(unpackMessage(bytes)) as FromWatch;
    checkNamed(HOST_VALIDATORS.HostWatch, message.type, message);
    if (message.type === 'cells') this.#applyCells(message);
    else this.#takeCaptured(message);
  }

  #applyCells({ heartbeat, lastRun, lag }: FromWatch & { type: 'cells' }): void {
    const wasAwake = this.#heartbeat.isAwake;
    applyImage(lastRun, this.#start.lastRun);
    applyImage(heartbeat, this.#start.heartbeat);
    this.#lag.add(lag);
    // Main may end the host at any time, and writes its report first.
    this.#readNote();
    this.#tellStreams();
    // The pipes have no common order: the end of its last sleep may have come after its call.
    if (!wasAwake && this.#heartbeat.isAwake) {
      this.#start.control.postMessage({ type: 'tell', method: 'awake', input: null });
    }
  }

  #takeCaptured(message: Exclude<FromWatch, { type: 'cells' }>): void {
    const { id } = message;
    if (id >= this.#nextCapture) throw new HostFault(`the stack ${id}, which nobody has asked for`);
    if (message.type === 'notCaptured') {
      this.#captures.get(id)?.(null);
      return;
    }
    const { bot, frames } = message;
    if (bot !== null) this.#runs.checkBot(bot);
    for (const frame of frames) {
      frame.function = frame.function.slice(0, MAX_FRAME_UNITS);
      frame.url = frame.url.slice(0, MAX_FRAME_UNITS);
    }
    this.#captures.get(id)?.({ frames, bot });
  }

  /** Only a change is told. */
  #tellStreams(): void {
    const open = this.#streams.total() > 0;
    if (open === this.#hadStreams) return;
    this.#hadStreams = open;
    this.#tellWatch({ type: 'streams', open });
  }

  #tellWatch(message: ToWatch): void {
    this.#write(this.#watch, LINK, packMessage(message));
  }

  #send(channel: number, message: unknown): void {
    this.#sendBytes(channel, packMessage(message));
  }

  #sendBytes(channel: number, bytes: Uint8Array): void {
    this.#write(this.#in, channel, bytes);
  }

  /**
   * What a host that hangs does not read waits here, as it would in a MessagePort: calls of main, and commands of fronts, which
   * they bound (src/front/host-commands.ts). One that reads nothing for ever is ended.
   */
  #write(pipe: Socket, channel: number, bytes: Uint8Array): void {
    if (!pipe.writable) return;
    pipe.write(Buffer.concat([header(channel, bytes.length), bytes]));
    if (pipe.writableLength <= MAX_UNREAD_BYTES) return;
    this.#fault(new HostFault(`nothing, and does not read ${pipe.writableLength} bytes`));
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
    for (const pace of Object.values(this.#pace)) pace.close();
    this.#holdOut('pace', false);
    await withTimeout(Promise.all(pipes), DRAIN_MS, () => {});
    const run = this.#readNote(true);
    if (!this.#isDone && run !== 0) new LastRun(this.#start.lastRun).set(run);
    this.#end(code, signal, null);
  }

  #end(code: number | null, signal: string | null, why: string | null): void {
    if (why !== null) this.#failure ??= { message: why, stack: null };
    this.#heartbeat.isAwake = false;
    this.#closeEvents();
    for (const front of this.#fronts.values()) front.close();
    this.#fronts.clear();
    for (const pipe of [this.#out, this.#in, this.#watch]) pipe.destroy();
    closeSync(this.#note);
    const stderr = this.#output.lastLines();
    this.#ended({ code, signal, isDone: this.#isDone, failure: this.#failure, stderr });
  }
}

/** A message whose type is a text. @throws HostFault */
function typed(message: unknown): { type: string } {
  const { type } = objectOf(message, 'a message');
  if (typeof type !== 'string') throw new HostFault(`a message of the type ${quoted(type)}`);
  return message as { type: string };
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
