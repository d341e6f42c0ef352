import { type Batch, type BatchAnswer, decodeBatch } from '../shared/contract/batch.js';
import type { Item } from '../shared/contract/events.js';
import { messageOf } from '../shared/errors.js';
import type { InFlight } from '../shared/memory/in-flight.js';
import { complain } from '../shared/terminal.js';
import { ProcessEvents } from './process-events.js';

/** The end of a MessagePort that batches arrive on. */
export interface BatchPort {
  on(event: 'message', listener: (batch: Batch) => void): unknown;
  postMessage(answer: BatchAnswer): void;
  close(): void;
}

interface Attached<P> {
  port: P;
  inFlight: InFlight;
  /** Reads the batches of a host in a process. */
  events: ProcessEvents;
}

/** Runs in the broadcaster thread. Owns the ports of the bot hosts: takes their batches in the order of each host. */
export class HostPorts<P extends BatchPort> {
  readonly #hosts = new Map<number, Attached<P>>();
  readonly #publish: (items: Item[]) => void;
  readonly #receive: (port: P) => Batch | undefined;

  /** @param receive takes the next batch that waits at a port, without waiting for one. */
  constructor(publish: (items: Item[]) => void, receive: (port: P) => Batch | undefined) {
    this.#publish = publish;
    this.#receive = receive;
  }

  /** Replaces the port of a host that had one. */
  attach(host: number, port: P, inFlight: InFlight): void {
    this.#hosts.get(host)?.port.close();
    const events = new ProcessEvents((answer) => port.postMessage(answer));
    const attached = { port, inFlight, events };
    this.#hosts.set(host, attached);
    port.on('message', (batch) => this.#take(batch, attached));
  }

  /** Takes the batches that the host has posted, then closes its port. */
  detach(host: number): void {
    const attached = this.#hosts.get(host);
    if (!attached) return;
    this.#drain(attached);
    attached.port.close();
    this.#hosts.delete(host);
  }

  /**
   * Takes the batches that all hosts have posted until now. Ports have no common order: what main says about a bot
   * comes after what the bot itself said (its last lines before its exit), and by the time main speaks the bot's host
   * has posted those.
   */
  drain(): void {
    for (const attached of this.#hosts.values()) this.#drain(attached);
  }

  close(): void {
    for (const { port } of this.#hosts.values()) port.close();
  }

  /** Leaves batches that arrive meanwhile: with a busy host this loop would never end. */
  #drain(attached: Attached<P>): void {
    const { port, inFlight } = attached;
    let owed = inFlight.bytes;
    while (owed > 0) {
      const batch = this.#receive(port);
      if (!batch) return;
      owed -= batch.bytes.byteLength;
      this.#take(batch, attached);
    }
  }

  #take(batch: Batch, { inFlight, events }: Attached<P>): void {
    let items: Item[] = [];
    try {
      items = batch.isText ? events.take(batch) : decodeBatch(batch.bytes);
    } catch (thrown) {
      // A fault of one host must not stop the events of the others.
      complain(`a batch of events was lost, it cannot be read: ${messageOf(thrown)}`);
    }
    this.#publish(items);
    inFlight.subtract(batch.bytes.byteLength);
  }
}
