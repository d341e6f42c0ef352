import {
  addressBytes,
  addressKey,
  type CrowdedAddresses,
} from '../../shared/contract/addresses.js';
import type { NameHasher } from '../../shared/contract/name-hash.js';
import type { Networks } from '../../shared/contract/networks.js';
import { DroverError } from '../../shared/errors.js';
import type { Quota, QuotaNames } from '../../shared/memory/quota.js';
import type { ConnectionGate, Response } from '../engine/engine.js';
import { errorResponse } from '../engine/responses.js';

const REFUSALS: Record<'total' | 'perAddress', Response> = {
  total: refusal(new DroverError('unavailable', 'too many connections are open')),
  perAddress: refusal(
    new DroverError('too_many', 'too many connections are open from this address'),
  ),
};

/** Runs in a front thread. Bounds connections: in the whole process, and from one address. */
export class Connections implements ConnectionGate {
  readonly #quota: Quota<'perAddress'>;
  readonly #names: NameHasher;
  readonly #trusted: Networks;
  #full: ReadonlySet<string> = new Set();
  #over: ReadonlySet<string> = new Set();

  /** @param trusted proxies, whose connections count in total only. */
  constructor(quota: Quota<'perAddress'>, names: NameHasher, trusted: Networks) {
    this.#quota = quota;
    this.#names = names;
    this.#trusted = trusted;
  }

  /** The addresses over the limit, which main counts for engines that cannot. */
  set crowd({ full, over }: CrowdedAddresses) {
    this.#full = new Set(full);
    this.#over = new Set(over);
  }

  get hasCrowd(): boolean {
    return this.#full.size > 0;
  }

  refusalFor(address: ArrayBuffer): Response | undefined {
    return this.#full.has(addressKey(address)) ? REFUSALS.perAddress : undefined;
  }

  mustLeave(address: ArrayBuffer): boolean {
    return this.#over.has(addressKey(address));
  }

  entered(address: string | null): Response | undefined {
    const exceeded = this.#quota.acquire(this.#name(address));
    return exceeded && REFUSALS[exceeded];
  }

  left(address: string | null): void {
    this.#quota.release(this.#name(address));
  }

  #name(address: string | null): QuotaNames<'perAddress'> {
    if (address === null) return {};
    const bytes = addressBytes(address);
    if (this.#trusted.has(bytes)) return {};
    return { perAddress: this.#names.of(`address ${addressKey(bytes)}`) };
  }
}

function refusal(error: DroverError): Response {
  return { ...errorResponse(error), close: true };
}
