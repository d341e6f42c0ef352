// Runs in the relay thread. Owns the service's end of the channel to the watch thread of one bot host process: the cells that it sends
// while the host is awake, the stacks that it captures, and what it is told.

import type { HostStart } from '../shared/contract/threads.js';
import { HOST_VALIDATORS } from '../shared/host-validators.js';
import { applyImage } from '../shared/memory/cell-image.js';
import { Heartbeat } from '../shared/memory/heartbeat.js';
import { LeaseDeadline } from '../shared/memory/lease-deadline.js';
import { LoopLag } from '../shared/memory/loop-lag.js';
import { Quota } from '../shared/memory/quota.js';
import { HostFault } from '../shared/pipe/host-fault.js';
import type { FromWatch, ToWatch } from '../shared/pipe/messages.js';
import { withTimeout } from '../shared/with-timeout.js';
import { checkNamed, typedMessage } from './check-named.js';
import type { OwnRuns } from './own-runs.js';

type Captured = Pick<FromWatch & { type: 'captured' }, 'frames' | 'bot'>;

/** How much longer than the main thread may take to answer the watch thread is waited for, in ms. */
const ANSWER_MS = 500;
/** Of each text in a stack, in UTF-16 units. */
const MAX_FRAME_UNITS = 2048;

export class WatchChannel {
  readonly #start: HostStart;
  readonly #runs: OwnRuns;
  readonly #send: (message: ToWatch) => void;
  readonly #readNote: () => void;
  readonly #heartbeat: Heartbeat;
  readonly #lag: LoopLag;
  readonly #streams: Quota<'perToken' | 'perAddress'>;
  readonly #captures = new Map<number, (captured: Captured | null) => void>();
  #nextCapture = 1;
  #hadStreams = false;

  /** @param readNote reads what ran last there, before main looks at the host. */
  constructor(
    start: HostStart,
    runs: OwnRuns,
    send: (message: ToWatch) => void,
    readNote: () => void,
  ) {
    this.#start = start;
    this.#runs = runs;
    this.#send = send;
    this.#readNote = readNote;
    this.#heartbeat = new Heartbeat(start.heartbeat);
    this.#lag = new LoopLag(start.lag);
    this.#streams = new Quota(start.streams, 0);
  }

  /** @throws HostFault, SyntaxError for what is no JSON. */
  take(bytes: Uint8Array): void {
    const message = typedMessage(bytes) as FromWatch;
    checkNamed(HOST_VALIDATORS.HostWatch, message.type, message);
    if (message.type === 'cells') this.#applyCells(message);
    else this.#takeCaptured(message);
  }

  /** Where the main thread of the process is; null when it does not say within the time: it is in native code. */
  capture(withinMs: number): Promise<Captured | null> {
    const id = this.#nextCapture++;
    const answer = new Promise<Captured | null>((resolve) => this.#captures.set(id, resolve));
    this.#send({ type: 'capture', id, withinMs });
    return withTimeout(answer, withinMs + ANSWER_MS, () => null).finally(() =>
      this.#captures.delete(id),
    );
  }

  /** The main thread of the process may be busy when the lease is renewed. */
  tellLease(): void {
    const { lease } = this.#start;
    if (lease) this.#send({ type: 'lease', until: new LeaseDeadline(lease).times });
  }

  /** Only a change is told. */
  tellStreams(): void {
    const open = this.#streams.total() > 0;
    if (open === this.#hadStreams) return;
    this.#hadStreams = open;
    this.#send({ type: 'streams', open });
  }

  /** The host has said that its code runs. */
  woke(): void {
    this.#heartbeat.isAwake = true;
    this.tellStreams();
  }

  /** The process is gone. */
  close(): void {
    this.#heartbeat.isAwake = false;
  }

  #applyCells({ heartbeat, lastRun, lag }: FromWatch & { type: 'cells' }): void {
    const wasAwake = this.#heartbeat.isAwake;
    applyImage(lastRun, this.#start.lastRun);
    applyImage(heartbeat, this.#start.heartbeat);
    this.#lag.add(lag);
    // Main may end the host at any time, and writes its report first.
    this.#readNote();
    this.tellStreams();
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
}
