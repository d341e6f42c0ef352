// Runs in a front thread. Owns this front's channel to the journal: whichever there is now.

import type { MessagePort, Transferable } from 'node:worker_threads';
import type {
  Page,
  PageRequest,
  ReplayPart,
  ReplayRequest,
  StatsRequest,
} from '../../shared/contract/journal-messages.js';
import { Rpc } from '../../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { ReplaySource } from './replays.js';

/** Calls that may wait for the journal at one time; one more rejects with `overloaded`. */
const MAX_WAITING = 256;
/** So many more for streams that resume: no crowd that searches stands in their way. */
const RESERVED_REPLAYS = 16;
/** How long the journal may take for an answer, in ms: a disk may stand still. */
const WITHIN_MS = 20_000;
/** What a caller is told to wait while one journal is gone and the next is not there yet, in s. */
const RETRY_AFTER_S = 1;

type Output<K extends keyof JournalFrontMethods> = ReturnType<JournalFrontMethods[K]>;
type Peer = Rpc<never, JournalFrontMethods>;

export class JournalClient implements ReplaySource {
  /** There is a journal in this service. Between two of its threads, and until the first is there, nobody answers. */
  readonly isThere: boolean;
  #peer: Peer | undefined;
  #port: MessagePort | undefined;

  constructor({ enabled }: { enabled: boolean }) {
    this.isThere = enabled;
  }

  /** Takes a channel; the last one's open calls reject. */
  attach(port: MessagePort): void {
    this.detach();
    this.#port = port;
    this.#peer = new Rpc<never, JournalFrontMethods>(port, {} as never, {
      open: MAX_WAITING,
      reserve: { calls: RESERVED_REPLAYS, methods: new Set(['replay'] as const) },
    });
    // It is gone without a word when its thread dies.
    port.once('close', () => {
      if (this.#port === port) this.detach();
    });
  }

  detach(): void {
    this.#peer?.close(new DroverError('unavailable', 'the journal was lost', RETRY_AFTER_S));
    this.#port?.close();
    this.#peer = undefined;
    this.#port = undefined;
  }

  replay(request: ReplayRequest): Promise<ReplayPart> {
    const { memory } = request;
    return this.#call('replay', request, undefined, memory && [memory]);
  }

  /** @param gone is aborted when nobody waits for it any more: it is not searched on then, and rejects. */
  page(request: PageRequest, gone?: AbortSignal): Promise<Page> {
    return this.#call('page', request, gone);
  }

  stats(request: StatsRequest, gone?: AbortSignal): Promise<Output<'stats'>> {
    return this.#call('stats', request, gone);
  }

  /** Rejects with `unavailable` when it is off or gone, `no_answer` when it takes too long. */
  async #call<K extends keyof JournalFrontMethods & string>(
    method: K,
    input: Parameters<JournalFrontMethods[K]>[0],
    gone?: AbortSignal,
    transfer?: Transferable[],
  ): Promise<Output<K>> {
    if (!this.#peer) {
      throw this.isThere
        ? new DroverError('unavailable', 'the journal is not there: another begins', RETRY_AFTER_S)
        : new DroverError('unavailable', 'the journal is off');
    }
    const cancel = new AbortController();
    const giveUp = (): void => cancel.abort();
    if (gone?.aborted) giveUp();
    gone?.addEventListener('abort', giveUp);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        giveUp();
        reject(new DroverError('no_answer'));
      }, WITHIN_MS);
    });
    try {
      const answer = this.#peer.cancellableCall(method, input, cancel.signal, transfer);
      return (await Promise.race([answer, timeout])) as Output<K>;
    } finally {
      clearTimeout(timer);
      gone?.removeEventListener('abort', giveUp);
    }
  }
}
