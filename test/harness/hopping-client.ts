// Test harness. Owns one client of a cluster's stream, which goes from node to node with its last id.

import { eventually } from './bots.js';
import type { ServiceNode } from './cluster.js';
import { Ledger } from './ledger.js';
import { RawStream } from './raw-stream.js';

const LINE = /"session_id":"([^"]+)".*"message":"line (\d+) of run (\S+) term (\d+)"/;

/** Texts by id, for all clients of a test: an id must name the same event on each node. */
export type Texts = Map<number, string>;

export class HoppingClient {
  readonly ledger: Ledger;
  /** Lines of `witness` bots that came twice, or in another order than they were written. */
  readonly faults: string[] = [];
  hops = 0;
  readonly #token: string;
  /** The last line of each run. */
  readonly #runs = new Map<string, number>();
  /** Lines of each bot so far. */
  readonly #heard = new Map<string, number>();
  #stream: RawStream | undefined;

  /** @param textsOf of an epoch. Only a stream that may be deleted has several. */
  constructor(token: string, textsOf: Texts | ((epoch: string) => Texts) = new Map()) {
    this.#token = token;
    this.ledger = new Ledger({
      deleted: typeof textsOf === 'function',
      onFrame: (seq, block) => {
        const texts = typeof textsOf === 'function' ? textsOf(this.ledger.epoch) : textsOf;
        const known = texts.get(seq);
        if (known === undefined) texts.set(seq, block);
        else if (known !== block) this.faults.push(`another text for ${seq}: ${block}\n${known}`);
        this.#line(block);
      },
    });
  }

  get allFaults(): string[] {
    return [...this.ledger.faults, ...this.faults];
  }

  get isOpen(): boolean {
    return this.#stream !== undefined && !this.#stream.isOver;
  }

  /** Continues on this node; resolves when it has a position. @throws Error when the node does not answer. */
  async hop(node: ServiceNode): Promise<void> {
    this.leave();
    const { port, url } = node.service;
    const { lastEventId } = this.ledger;
    this.#stream = await RawStream.open(port, {
      host: new URL(url).hostname,
      token: this.#token,
      headers: lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId },
      onBlock: this.ledger.take,
    });
    this.hops += 1;
    await this.#stream.until(() => this.ledger.lastEventId !== '');
  }

  /** Resolves when it has this number, or it was declared lost. */
  async reach(seq: number): Promise<void> {
    await this.#stream?.until(() => (this.ledger.last ?? 0) >= seq);
  }

  /** Resolves when a further line of this bot comes. */
  async hears(bot: string): Promise<void> {
    const before = this.#heard.get(bot) ?? 0;
    await this.#stream?.until(() => (this.#heard.get(bot) ?? 0) > before);
  }

  leave(): void {
    this.#stream?.close();
    if (this.#stream?.fault) this.faults.push(this.#stream.fault.message);
    this.#stream = undefined;
  }

  #line(block: string): void {
    const [, bot = '', text, run = ''] = LINE.exec(block) ?? [];
    if (!run) return;
    const number = Number(text);
    const last = this.#runs.get(run);
    if (last !== undefined && number <= last)
      this.faults.push(`${bot}: line ${number} of run ${run} after line ${last}`);
    this.#runs.set(run, number);
    this.#heard.set(bot, (this.#heard.get(bot) ?? 0) + 1);
  }
}

/** The number of the last event on the stream of a node. */
export async function presentNumber(node: ServiceNode): Promise<number> {
  const client = new HoppingClient(await node.service.token());
  await client.hop(node);
  await eventually(() => client.ledger.last !== undefined, 'the position of a stream');
  client.leave();
  return client.ledger.last ?? 0;
}
