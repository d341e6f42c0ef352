import { addressKeyOf } from '../../shared/contract/addresses.js';
import type { NameHasher } from '../../shared/contract/name-hash.js';
import { DroverError, type ErrorCode } from '../../shared/errors.js';
import type { Quota, QuotaName, QuotaNames } from '../../shared/memory/quota.js';
import type { TokenStreams } from '../access/token-streams.js';
import type { StreamSink } from '../engine/engine.js';

/** Addresses in the cache; a full one is emptied. */
const MAX_CACHED = 1024;

type StreamQuota = Quota<'perToken' | 'perAddress'>;

const REFUSALS: Record<'total' | 'perToken' | 'perAddress', [ErrorCode, string]> = {
  total: ['unavailable', 'too many streams are open'],
  perToken: ['too_many', 'too many streams are open with this token'],
  perAddress: ['too_many', 'too many streams are open from this address'],
};

/**
 * Runs in a front thread. Grants leases for responses without an end, live streams and downloads: bounds how many there
 * are and closes them when their token ends.
 */
export class StreamLeases {
  readonly #quota: StreamQuota;
  readonly #names: NameHasher;
  readonly #streams: TokenStreams;
  /** Caches names by the text of an address: a crowd behind a proxy or NAT has few. */
  readonly #addresses = new Map<string, QuotaName>();

  constructor(quota: StreamQuota, names: NameHasher, streams: TokenStreams) {
    this.#quota = quota;
    this.#names = names;
    this.#streams = streams;
  }

  /** Streams and downloads that are open, of all fronts. */
  get open(): number {
    return this.#quota.total();
  }

  /**
   * @param token its id. @param address of the client.
   * @throws DroverError `unavailable` or `too_many`; nothing has to be released then.
   */
  acquire(token: string, address: string): StreamLease {
    const names = {
      perToken: this.#names.of(`token ${token}`),
      perAddress: this.#addressName(address),
    };
    const exceeded = this.#quota.acquire(names);
    if (exceeded) throw new DroverError(...REFUSALS[exceeded]);
    return new StreamLease(this.#quota, this.#streams, token, names);
  }

  #addressName(address: string): QuotaName {
    const known = this.#addresses.get(address);
    if (known) return known;
    if (this.#addresses.size >= MAX_CACHED) this.#addresses.clear();
    const name = this.#names.of(`address ${addressKeyOf(address)}`);
    this.#addresses.set(address, name);
    return name;
  }
}

/** One open stream's part of the quota. */
export class StreamLease {
  readonly #quota: StreamQuota;
  readonly #streams: TokenStreams;
  readonly #token: string;
  readonly #names: QuotaNames<'perToken' | 'perAddress'>;
  #sink: StreamSink | undefined;

  constructor(
    quota: StreamQuota,
    streams: TokenStreams,
    token: string,
    names: QuotaNames<'perToken' | 'perAddress'>,
  ) {
    this.#quota = quota;
    this.#streams = streams;
    this.#token = token;
    this.#names = names;
  }

  /** The stream has begun: from now on it is closed when the token ends. */
  bind(sink: StreamSink): void {
    this.#sink = sink;
    this.#streams.add(this.#token, sink);
  }

  /** Call it once, when the stream is over or could not begin. */
  release(): void {
    if (this.#sink) this.#streams.remove(this.#token, this.#sink);
    this.#quota.release(this.#names);
  }
}
