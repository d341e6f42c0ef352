// Runs in the bus thread. What a front asks of a journal, for the stream of the cluster; and what other nodes ask of this one's.

import type { Asked } from '../../shared/contract/journal-messages.js';
import { Handover, type Rpc, type Serves } from '../../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { BusMember, ClusterBusStart } from '../wire/bus-messages.js';
import type { Calls } from '../wire/calls.js';
import type { ClusterBus } from './cluster-bus.js';
import type { HistoryQuestion } from './history-messages.js';
import { HistoryNodes } from './history-nodes.js';
import { replayFromJournals } from './journal-replay.js';
import { mergedFieldHistory } from './merged-field-history.js';
import { MergedPages } from './merged-pages.js';
import { mergedStates } from './merged-states.js';
import { mergedStats } from './merged-stats.js';
import { OwnHistory } from './own-history.js';
import { OwnPositions } from './own-positions.js';
import { Window } from './window.js';

/** Requests that hold the pages of all nodes at once. More wait; the fronts bound how many come. */
const MERGES = { permits: 8, maxQueued: 1000 };
/** Questions of other nodes that are answered at once; more are refused as overloaded. */
const QUESTIONS = { permits: 16, maxQueued: 256 };

export class BusHistory {
  readonly #bus: ClusterBus;
  readonly #node: string;
  readonly #window: Window;
  readonly #places: OwnPositions;
  readonly #nodes: HistoryNodes;
  readonly #pages: MergedPages;
  readonly #merges = new Semaphore(MERGES);
  #calls: Calls | undefined;
  #members: readonly BusMember[] = [];

  /** @param journal the channel to the node's own; throws DroverError `unavailable` while there is none. @param say tells the operator. */
  constructor(
    bus: ClusterBus,
    { config, local, incarnation, dir, hasJournal }: ClusterBusStart,
    journal: () => Pick<Rpc<never, JournalFrontMethods>, 'call' | 'cancellableCall'>,
    say: (line: string) => void,
  ) {
    const { node } = config;
    this.#bus = bus;
    this.#node = node;
    const epoch = (): string | undefined => bus.ring?.identity.epoch;
    this.#window = new Window({
      stream: () => bus.stream,
      epoch,
      next: () => bus.ring?.next ?? 0,
      behind: (of, request, before, cut) => {
        const { hasher, nodes } = this.#window;
        return replayFromJournals(
          { nodes: this.#nodes, hasher, names: nodes },
          of,
          request,
          before,
          cut,
        );
      },
    });
    const oldest = async (): Promise<number | null> => {
      const request = { from: 0, filter: null, pieceBytes: 1, maxBytes: 1 };
      return (await journal().call('replay', request)).first;
    };
    this.#places = new OwnPositions({
      dir,
      ownEpoch: local.epoch,
      node,
      nextOwn: async (seq) => {
        const message = await bus.stream?.nextOf(node, seq);
        const block = message && (await bus.stream?.reader().read(message));
        return block ? { seq: message.seq, block } : null;
      },
      firstOf: (seq) => this.#window.firstOf(seq),
      oldest,
      say,
    });
    const { places } = this.#places;
    const own = new OwnHistory({
      node,
      incarnation,
      ownEpoch: local.epoch,
      epoch,
      places,
      hasJournal,
      journal,
      readUpTo: async (seq, withinMs) =>
        (await bus.readUpTo(seq, withinMs)) && (await this.#places.known(withinMs)),
      pendingFrom: () => places.end ?? bus.pendingFrom,
      oldest,
    });
    this.#nodes = new HistoryNodes({
      node,
      own,
      calls: () => this.#calls,
      cutOff: () => bus.cutOffReason,
      members: () => this.#members,
    });
    this.#pages = new MergedPages({ nodes: this.#nodes, position: () => this.#position() });
    bus.onJoin(() => this.#places.joined(epoch() ?? '', bus.seq));
    bus.onBlock((block, first, seq) => {
      this.#window.saw(seq, first);
      this.#places.saw(block, first, seq);
    });
    void this.#serve(own);
  }

  /** The nodes of the cluster. */
  set members(members: readonly BusMember[]) {
    this.#members = members;
  }

  frontMethods(): Serves<JournalFrontMethods> {
    return {
      replay: async (request, cancelled) => {
        const part = await this.#window.replay(request, cancelled);
        return new Handover(part, [part.bytes.buffer as ArrayBuffer]);
      },
      page: async (request, cancelled) => {
        const { token } = request;
        const page = (): ReturnType<MergedPages['page']> => this.#pages.page(request, cancelled);
        return Handover.bytes(await this.#merges.run(page, cancelled, token), 'body');
      },
      states: (request, cancelled) =>
        this.#merged(request, cancelled, () => mergedStates(this.#nodes, request, cancelled)),
      stats: (request, cancelled) =>
        this.#merged(request, cancelled, () =>
          mergedStats(this.#nodes, this.#node, request, cancelled),
        ),
      fieldHistory: (request, cancelled) =>
        this.#merged(request, cancelled, () => mergedFieldHistory(this.#nodes, request, cancelled)),
    };
  }

  /** An answer from those of the nodes, in its turn. */
  async #merged(
    { token }: Asked<object>,
    cancelled: AbortSignal | undefined,
    merge: () => Promise<Uint8Array>,
  ) {
    return Handover.bytes({ body: await this.#merges.run(merge, cancelled, token) }, 'body');
  }

  close(): void {
    this.#places.close();
  }

  #position(): { epoch: string; next: number; seq: number } {
    const { ring, seq } = this.#bus;
    if (!ring) throw new DroverError('unavailable', 'the stream of the cluster is not there');
    return { epoch: ring.identity.epoch, next: ring.next, seq };
  }

  async #serve(own: OwnHistory): Promise<void> {
    const questions = new Semaphore(QUESTIONS);
    // Rejects when the bus is closed before.
    const calls = await this.#bus.calls.catch(() => undefined);
    calls?.serve({
      history: (question: HistoryQuestion, gone) =>
        questions.run(() => own.answer(question, gone), gone),
    });
    this.#calls = calls;
  }
}
