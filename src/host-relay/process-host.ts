// Runs in the relay thread. Owns one bot host process: its pipes, and the service's end of each of its channels. The rest of the
// service sees the ports and cells of a bot host thread, and nothing that such a thread would not say: a process that sends anything
// else is ended here (docs/SECURITY.md).

import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Batch, BatchAnswer } from '../shared/contract/batch.js';
import type { HostPort, HostStart } from '../shared/contract/threads.js';
import { messageOf } from '../shared/errors.js';
import { HOST_VALIDATORS } from '../shared/host-validators.js';
import { InFlight } from '../shared/memory/in-flight.js';
import { LastRun } from '../shared/memory/last-run.js';
import { readCrashNote } from '../shared/pipe/crash-note.js';
import { FrameReader, MAX_FRAME_BYTES } from '../shared/pipe/frame-reader.js';
import { CONTROL, FIRST_PORT, header, LINK, packMessage } from '../shared/pipe/frames.js';
import { HostFault } from '../shared/pipe/host-fault.js';
import {
  FD,
  type LinkEnd,
  type LinkStart,
  type ProcessEnd,
  type SystemLimits,
  type ToWatch,
} from '../shared/pipe/messages.js';
import { withTimeout } from '../shared/with-timeout.js';
import { BatchCredit } from './batch-credit.js';
import { checkNamed, typedMessage } from './check-named.js';
import { ControlCheck, type MainMessage } from './control-check.js';
import { FrontChannel } from './front-channel.js';
import { OwnRuns } from './own-runs.js';
import { Pace } from './pace.js';
import { ProcessOutput } from './process-output.js';
import { openNote, startProcess } from './start-process.js';
import { WatchChannel } from './watch-channel.js';

/** How long what the process has written is waited for after its end, in ms: something it has started may have its pipes. */
const DRAIN_MS = 500;

/** Longest frames, in bytes: of a batch of 64 lines and snapshots, of outcomes of commands, of what is about the host itself. */
const MAX_EVENTS_BYTES = 8 * 2 ** 20;
const MAX_OWN_BYTES = 2 ** 20;
/** What may wait for a host that does not read, in bytes. */
const MAX_UNREAD_BYTES = 256 * 2 ** 20;

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
  readonly #child: ChildProcess;
  readonly #out: Socket;
  readonly #in: Socket;
  readonly #watchPipe: Socket;
  readonly #watch: WatchChannel;
  /** The fronts, by channel. */
  readonly #fronts = new Map<number, FrontChannel>();
  readonly #runs = new OwnRuns();
  readonly #control = new ControlCheck(this.#runs);
  readonly #pace = {
    out: new Pace((is) => this.#holdOut('pace', is)),
    watch: new Pace((is) => (is ? this.#watchPipe.pause() : this.#watchPipe.resume())),
  };
  /** Why no more is read of what it sends. */
  readonly #holds = new Set<string>();
  #events: { channel: number; port: HostPort; credit: BatchCredit };
  #nextChannel = FIRST_PORT;
  #isDone = false;
  #failure: ProcessEnd['failure'] = null;

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
    this.#output = new ProcessOutput(`bot host ${start.host}`);
    this.#child = spawnHost(start, this.#note);
    const { stdout, stderr, stdio } = this.#child;
    if (stdout && stderr) this.#output.read(stdout, stderr);
    this.#out = stdio[FD.out] as unknown as Socket;
    this.#in = stdio[FD.in] as unknown as Socket;
    this.#watchPipe = stdio[FD.watch as 4] as unknown as Socket;
    this.#watch = new WatchChannel(
      start,
      this.#runs,
      (message) => this.#tellWatch(message),
      () => this.#readNote(),
    );
    // Their ends follow that of the process.
    for (const pipe of [this.#out, this.#in, this.#watchPipe]) pipe.on('error', () => {});
    this.#events = this.#openEvents(this.#nextChannel++, start.events, start.inFlight);
    this.#read(
      this.#out,
      (channel, bytes) => this.#take(channel, bytes),
      (channel) => this.#maxBytes(channel),
    );
    this.#read(
      this.#watchPipe,
      (_, bytes) => {
        this.#pace.watch.spend(bytes.length);
        this.#watch.take(bytes);
      },
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
  capture(withinMs: number): ReturnType<WatchChannel['capture']> {
    return this.#watch.capture(withinMs);
  }

  /** The lease was renewed. */
  tellLease(): void {
    this.#watch.tellLease();
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
    this.#watch.tellStreams();
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
    for (const pipe of [this.#out, this.#watchPipe]) pipe.destroy();
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
    this.#watch.tellStreams();
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
        this.#watch.woke();
      } else this.#readNote();
    }
    this.#start.control.postMessage(message);
  }

  #takeEnd(bytes: Uint8Array): void {
    const end = typedMessage(bytes) as LinkEnd;
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

  #tellWatch(message: ToWatch): void {
    this.#write(this.#watchPipe, LINK, packMessage(message));
  }

  #send(channel: number, message: unknown): void {
    this.#sendBytes(channel, packMessage(message));
  }

  #sendBytes(channel: number, bytes: Uint8Array): void {
    this.#write(this.#in, channel, bytes);
  }

  /**
   * What a host that hangs does not read waits here, as it would in a MessagePort: calls of main, and commands of fronts, which
   * they bound (src/shared/commands/host-commands.ts). One that reads nothing for ever is ended.
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
    this.#watch.close();
    this.#closeEvents();
    for (const front of this.#fronts.values()) front.close();
    this.#fronts.clear();
    for (const pipe of [this.#out, this.#in, this.#watchPipe]) pipe.destroy();
    closeSync(this.#note);
    const stderr = this.#output.lastLines();
    this.#ended({ code, signal, isDone: this.#isDone, failure: this.#failure, stderr });
  }
}
