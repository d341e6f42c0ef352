// The stream of a cluster as the bus thread of a node has it, in the test's thread: a ring, its baseline, its doorbell, and a
// history that the test answers.

import { MessageChannel } from 'node:worker_threads';
import type { Page } from '../../src/shared/contract/journal-messages.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
import { BOT } from '../../src/shared/contract/routes/examples.js';
import { Rpc, type Serves } from '../../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  ClusterView,
  FrontBellMethods,
  JournalFrontMethods,
  StreamIdentity,
} from '../../src/shared/contract/threads.js';
import { createRing } from '../../src/shared/memory/layout.js';
import { createNodeNames, NodeNamesWriter } from '../../src/shared/memory/node-names.js';
import { RingWriter } from '../../src/shared/memory/ring-writer.js';
import {
  eventId,
  KIND_CODE,
  LEVEL_CODE,
  NO_LEVEL,
  sessionJson,
  sseFrame,
} from '../../src/shared/stream/frame.js';

const RING = { bytes: 2 ** 20, slots: 4096 };
const FRONTS = 4;

export class ClusterStream {
  readonly identity: StreamIdentity;
  /** Answers to baselines. False: it has hung. */
  answers = true;
  /** Requests for pages of the history. */
  readonly pages: unknown[] = [];
  /** The page that answers the next one; an empty one where it returns none. */
  answer: () => { body: string; merged: Page['merged'] } | undefined = () => undefined;
  readonly #writer: RingWriter;
  readonly #nodes: NodeNamesWriter;
  readonly #names: NameHasher;
  readonly #sessions = new Map<string, string>();
  readonly #bells = new Map<number, Rpc<BroadcasterFrontMethods, FrontBellMethods>>();

  constructor(epoch: string, first = 1, size = RING) {
    const nodes = createNodeNames();
    const ring = createRing({ ...size, fronts: FRONTS }, first);
    this.identity = { ring, epoch, hashKey: '11'.repeat(16), nodes };
    this.#writer = new RingWriter(ring);
    this.#nodes = new NodeNamesWriter(nodes);
    this.#names = new NameHasher(this.identity.hashKey);
  }

  /** Id of the next frame. */
  get next(): string {
    return eventId(this.identity.epoch, this.#writer.next);
  }

  /** The channels of a front. */
  connect(front: number): ClusterView {
    const stream = new MessageChannel();
    const history = new MessageChannel();
    const baseline: Serves<BroadcasterFrontMethods> = {
      baseline: () =>
        this.answers
          ? { next: this.#writer.next, sessions: [...this.#sessions.values()] }
          : new Promise(() => {}),
    };
    this.#bells.set(
      front,
      new Rpc<BroadcasterFrontMethods, FrontBellMethods>(stream.port1, baseline),
    );
    new Rpc<JournalFrontMethods, never>(history.port1, {
      page: (request): Page => {
        this.pages.push(request);
        const empty = { body: '{"events":[],"cursor":null}', merged: undefined };
        const { body, merged } = this.answer() ?? empty;
        const bytes = new Uint8Array(Buffer.from(body));
        return { body: bytes, count: 0, cursor: null, end: 0, ...(merged && { merged }) };
      },
      stats: () => Promise.reject(new Error('nobody asks for statistics')),
      fieldHistory: () => Promise.reject(new Error('nobody asks for fields')),
      states: () => Promise.reject(new Error('nobody asks for past states')),
      replay: () => Promise.reject(new Error('nothing is to be replayed')),
    });
    stream.port1.unref();
    history.port1.unref();
    return { stream: this.identity, broadcaster: stream.port2, history: history.port2 };
  }

  /** A line of a node's service, or of a bot there. */
  line(node: string, message: string, session: string | null = null): void {
    const { low, high } = session === null ? { low: 0, high: 0 } : this.#names.of(session);
    const scope = this.#names.of('bot');
    const json = JSON.stringify({
      timestamp_ms: 1_795_257_586_197,
      level: 'info',
      scope: 'bot',
      session_id: session,
      transport: null,
      direction: null,
      message,
    });
    this.#append('log', json, {
      kind: KIND_CODE.log,
      level: LEVEL_CODE.info,
      sessionLow: low,
      sessionHigh: high,
      scopeLow: scope.low,
      scopeHigh: scope.high,
      node: this.#nodes.number(node),
    });
  }

  /** A bot's snapshot. */
  bot(node: string, id: string, status = 'in_world', since_ms = BOT.since_ms): void {
    const own = { id, status, since_ms, desired: status === 'stopped' ? 'stopped' : BOT.desired };
    const cluster = { node, term: 1, failover: 'restart' as const };
    const snapshot = { ...BOT, ...own, ...cluster, labels: {} };
    const json = sessionJson(snapshot);
    const { low, high } = this.#names.of(id);
    if (status === 'deleted') this.#sessions.delete(id);
    else this.#sessions.set(id, json);
    this.#append('session', json, {
      kind: KIND_CODE.session,
      level: NO_LEVEL,
      sessionLow: low,
      sessionHigh: high,
      scopeLow: 0,
      scopeHigh: 0,
      node: this.#nodes.number(node),
    });
  }

  #append(kind: 'log' | 'session', json: string, meta: Parameters<RingWriter['append']>[1]): void {
    this.#writer.append(sseFrame(this.next, kind, json), meta);
    for (const front of this.#writer.publish()) this.#bells.get(front)?.tell('wake', null);
  }
}
