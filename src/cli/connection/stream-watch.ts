import { ApiError, type DroverClient, type StreamState } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { showDuration } from '../flags/duration.js';
import { stopSignal } from '../stop-signals.js';
import { complain } from '../terminal/action.js';
import { limit } from './connection.js';

/** Time limit of the final health check. */
const CONFIRM_MS = 10_000;

/** Tracks the connection of one stream and reports its changes on standard error. */
export class StreamWatch {
  /** How often the connection was lost. */
  disconnects = 0;
  #blind: string | null = 'the stream never opened';
  /** A reconnect was announced and has not yet succeeded. */
  #wasReported = false;

  /** Why events are not received; null while the stream is open. After the end: its state at the end. */
  get blind(): string | null {
    return this.#blind;
  }

  /** For `onState` of the stream. */
  readonly onState = (state: StreamState): void => {
    if (state.state === 'waiting') {
      const { message } = state.error;
      if (this.#blind === null) this.disconnects++;
      this.#blind = `the stream was not open: ${message}`;
      complain(`${message}; retrying in ${showDuration(state.retryAtMs - Date.now())}`);
    } else if (state.state === 'open') {
      this.#blind = null;
      if (this.#wasReported) complain('reconnected');
    } else if (state.state === 'closed' && state.error) this.#blind = state.error.message;
    this.#wasReported =
      state.state === 'waiting' || (state.state === 'connecting' && this.#wasReported);
  };

  /** For the end of a run: a stream to a frozen service, or over a dead network, looks open for a while. */
  async confirm(client: DroverClient): Promise<void> {
    if (this.#blind !== null || stopSignal.aborted) return;
    try {
      await client.apiInfo({ signal: limit(CONFIRM_MS) });
    } catch (thrown) {
      // An error response also shows that the service is up.
      const isUp = thrown instanceof ApiError && thrown.status !== 0;
      if (!isUp && !stopSignal.aborted)
        this.#blind = `the service did not answer: ${messageOf(thrown)}`;
    }
  }
}
