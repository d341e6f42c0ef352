// Runs in the command line. Owns what is known of a live stream beside its events: that it broke, when it is tried again,
// that it is back, and at the end whether it was there.

import { ApiError, type DroverClient, type StreamState } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { showDuration } from '../flags/duration.js';
import { stopSignal } from '../stop-signals.js';
import { complain } from '../terminal/action.js';
import { limit } from './connection.js';

/** How long the service may take to say that it is there. */
const CONFIRM_MS = 10_000;

/** Follows one stream, and speaks of it on standard error. */
export class StreamWatch {
  /** How often the connection was lost. */
  disconnects = 0;
  #blind: string | null = 'the stream was never open';

  /** Why what happens is not seen; null while the stream is open. When it was closed: as it was then. */
  get blind(): string | null {
    return this.#blind;
  }

  /** For `onState` of the stream. */
  readonly onState = (state: StreamState): void => {
    if (state.state === 'waiting') {
      const { message } = state.error;
      if (this.#blind === null) this.disconnects++;
      this.#blind = `the stream was not open, ${message}`;
      complain(`${message}; trying again in ${showDuration(state.retryAtMs - Date.now())}`);
    } else if (state.state === 'open') {
      this.#blind = null;
      if (this.#wasTold) complain('connected again');
    } else if (state.state === 'closed' && state.error) this.#blind = state.error.message;
    this.#wasTold = state.state === 'waiting' || (state.state === 'connecting' && this.#wasTold);
  };
  /** A wait was told of, and not yet that it is over. */
  #wasTold = false;

  /** At the end: behind a service that stands still, or a network that is gone, the stream stays open for a while. */
  async confirm(client: DroverClient): Promise<void> {
    if (this.#blind !== null || stopSignal.aborted) return;
    try {
      await client.apiInfo({ signal: limit(CONFIRM_MS) });
    } catch (thrown) {
      // One that refuses, because it has much to do, is there.
      const isThere = thrown instanceof ApiError && thrown.status !== 0;
      if (!isThere && !stopSignal.aborted)
        this.#blind = `the service did not answer, ${messageOf(thrown)}`;
    }
  }
}
