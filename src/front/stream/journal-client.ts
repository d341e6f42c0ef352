import type { MessagePort, Transferable } from 'node:worker_threads';
import type {
  Asked,
  FieldHistoryRequest,
  Page,
  PageRequest,
  ReplayPart,
  ReplayRequest,
  StatesRequest,
  StatsRequest,
} from '../../shared/contract/journal-messages.js';
import { Rpc } from '../../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { ReplaySource } from './replays.js';

/** Calls that may wait for the journal at one time; another is rejected with `overloaded`. */
export const MAX_WAITING = 256;
/** More calls for streams that resume: searches must not block them. */
const RESERVED_REPLAYS = 16;
/** Limit of a call in ms, because a disk may hang. */
const TIMEOUT_MS = 20_000;
/** `Retry-After` between the end of one journal thread and the start of the next, in s. */
const RETRY_AFTER_S = 1;

type Output<K extends keyof JournalFrontMethods> = ReturnType<JournalFrontMethods[K]>;
type Peer = Rpc<never, JournalFrontMethods>;

/** Runs in a front thread. Owns the channel to the current journal thread. */
export class JournalClient implements ReplaySource {
  /** Whether the service has a journal. Its thread may be missing at the moment. */
  readonly isThere: boolean;
  #peer: Peer | undefined;
  #port: MessagePort | undefined;

  constructor({ enabled }: { enabled: boolean }) {
    this.isThere = enabled;
  }

  /** Replaces the channel; open calls on the old one reject. */
  attach(port: MessagePort): void {
    this.detach();
    this.#port = port;
    this.#peer = new Rpc<never, JournalFrontMethods>(port, {} as never, {
      open: MAX_WAITING,
      reserves: [{ calls: RESERVED_REPLAYS, methods: new Set(['replay'] as const) }],
    });
    // When the thread dies, this event is all that comes.
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

  /** @param gone aborts when the client has left: the search ends and the call rejects. */
  page(request: Asked<PageRequest>, gone?: AbortSignal): Promise<Page> {
    return this.#call('page', request, gone);
  }

  states(request: Asked<StatesRequest>, gone?: AbortSignal): Promise<Output<'states'>> {
    return this.#call('states', request, gone);
  }

  stats(request: Asked<StatsRequest>, gone?: AbortSignal): Promise<Output<'stats'>> {
    return this.#call('stats', request, gone);
  }

  fieldHistory(
    request: Asked<FieldHistoryRequest>,
    gone?: AbortSignal,
  ): Promise<Output<'fieldHistory'>> {
    return this.#call('fieldHistory', request, gone);
  }

  /** Rejects with `unavailable` when the journal is off or gone, with `no_answer` when it takes too long. */
  async #call<K extends keyof JournalFrontMethods & string>(
    method: K,
    input: Parameters<JournalFrontMethods[K]>[0],
    gone?: AbortSignal,
    transfer?: Transferable[],
  ): Promise<Output<K>> {
    if (!this.#peer) {
      throw this.isThere
        ? new DroverError('unavailable', 'the journal is starting again', RETRY_AFTER_S)
        : new DroverError('unavailable', 'the journal is off');
    }
    const cancel = new AbortController();
    const abort = (): void => cancel.abort();
    if (gone?.aborted) abort();
    gone?.addEventListener('abort', abort);
    try {
      const output = this.#peer.cancellableCall(method, input, cancel.signal, transfer);
      return (await withTimeout(output, TIMEOUT_MS, () => {
        cancel.abort();
        throw new DroverError(
          'no_answer',
          `the journal did not answer within ${TIMEOUT_MS / 1000} s`,
        );
      })) as Output<K>;
    } finally {
      gone?.removeEventListener('abort', abort);
    }
  }
}
