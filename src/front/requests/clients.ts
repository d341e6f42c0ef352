import { addressBytes } from '../../shared/contract/addresses.js';
import type { Config } from '../../shared/contract/config.js';
import type { Networks } from '../../shared/contract/networks.js';
import type { Exchange } from '../engine/engine.js';
import { forwardedHops, type Scheme, xForwardedHops } from '../http/forwarded.js';

/** Who sent a request, and how it reached the service or the first trusted proxy. */
export interface Client {
  address: string;
  scheme: Scheme;
}

/**
 * Finds the client of a request. A connection from a trusted proxy carries requests of others, and a header names them. Anyone
 * can send such a header: what counts is what trusted proxies have added at its end.
 */
export class Clients {
  readonly #trusted: Networks;
  readonly #header: Config['http']['forwarded_header'];
  readonly #own: Scheme;

  /** @param own the scheme that the service itself speaks. */
  constructor(trusted: Networks, header: Config['http']['forwarded_header'], own: Scheme) {
    this.#trusted = trusted;
    this.#header = header;
    this.#own = own;
  }

  /** Whether a client can have another address than its connection. */
  get areForwarded(): boolean {
    return !this.#trusted.isEmpty;
  }

  of(exchange: Pick<Exchange, 'address' | 'headers'>): Client {
    const client: Client = { address: exchange.address, scheme: this.#own };
    if (!this.areForwarded || !this.#trusts(client.address)) return client;
    const hops =
      this.#header === 'forwarded'
        ? forwardedHops(exchange.headers('forwarded'))
        : xForwardedHops(
            exchange.headers('x-forwarded-for'),
            exchange.headers('x-forwarded-proto'),
          );
    for (const { address, scheme } of hops.reverse()) {
      client.scheme = scheme ?? client.scheme;
      if (address !== undefined) client.address = address;
      // Without an address, the proxy that reports it stands for it.
      if (address === undefined || !this.#trusts(address)) break;
    }
    return client;
  }

  #trusts(address: string): boolean {
    return this.#trusted.has(addressBytes(address));
  }
}
