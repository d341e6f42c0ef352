// Runs in the bus thread. What a front asks of a journal, for the stream of the cluster.

import { Handover, type Rpc, type Serves } from '../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../shared/contract/threads.js';
import type { ClusterBus } from './cluster-bus.js';
import { Window } from './window.js';

export class BusHistory {
  readonly #journal: () => Rpc<never, JournalFrontMethods>;
  readonly #window: Window;

  /** @param journal the channel to the node's own. */
  constructor(bus: ClusterBus, journal: () => Rpc<never, JournalFrontMethods>) {
    this.#journal = journal;
    this.#window = new Window({
      stream: () => bus.stream,
      epoch: () => bus.ring?.identity.epoch,
    });
    bus.onBlock((_block, first, seq) => this.#window.saw(seq, first));
  }

  frontMethods(): Serves<JournalFrontMethods> {
    return {
      replay: async (request, cancelled) => {
        const part = await this.#window.replay(request, cancelled);
        return new Handover(part, [part.bytes.buffer as ArrayBuffer]);
      },
      page: (request) => this.#journal().call('page', request),
      stats: (request) => this.#journal().call('stats', request),
    };
  }
}
