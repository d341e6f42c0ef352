// Runs in a front thread. Owns what is common to all answers without an end, live streams and downloads: how many there may
// be, and that they end with their token.

import { addressKeyOf } from '../shared/contract/addresses.js';
import { DroverError, type ErrorCode } from '../shared/errors.js';
import type { StreamSink } from './engine/engine.js';
import type { FrontParts } from './routes.js';

const REFUSALS: Record<'total' | 'perToken' | 'perAddress', [ErrorCode, string]> = {
  total: ['unavailable', 'too many streams are open'],
  perToken: ['too_many', 'too many streams are open with this token'],
  perAddress: ['too_many', 'too many streams are open from this address'],
};

/** One place among the streams. It is held until leave() is called. */
export class StreamLease {
  readonly #parts: Pick<FrontParts, 'quota' | 'streams'>;
  readonly #token: string;
  readonly #counted: Parameters<FrontParts['quota']['acquire']>[0];
  #sink: StreamSink | undefined;

  /**
   * @param token its id. @param address of the client.
   * @throws DroverError `unavailable` or `too_many`; there is no place then.
   */
  constructor(
    parts: Pick<FrontParts, 'names' | 'quota' | 'streams'>,
    token: string,
    address: string,
  ) {
    this.#parts = parts;
    this.#token = token;
    this.#counted = {
      perToken: parts.names.of(`token ${token}`),
      perAddress: parts.names.of(`address ${addressKeyOf(address)}`),
    };
    const exceeded = parts.quota.acquire(this.#counted);
    if (exceeded) throw new DroverError(...REFUSALS[exceeded]);
  }

  /** The stream has begun: it is cut when the token ends. */
  hold(sink: StreamSink): void {
    this.#sink = sink;
    this.#parts.streams.add(this.#token, sink);
  }

  /** To be called once, when the stream is over or did not begin. */
  leave(): void {
    if (this.#sink) this.#parts.streams.remove(this.#token, this.#sink);
    this.#parts.quota.release(this.#counted);
  }
}
