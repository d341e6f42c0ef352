// Runs in a front thread. Owns how many connections may be open: in the whole process, and from one address.

import { addressKey, addressKeyOf, type CrowdedAddresses } from '../contract/addresses.js';
import type { NameHasher } from '../contract/name-hash.js';
import { DroverError } from '../errors.js';
import type { Quota, QuotaNames } from '../shm/quota.js';
import { errorAnswer } from './answers.js';
import type { Answer, ConnectionGate } from './engine/engine.js';

const REFUSALS: Record<'total' | 'perAddress', Answer> = {
  total: refusal(new DroverError('unavailable', 'too many connections are open')),
  perAddress: refusal(
    new DroverError('too_many', 'too many connections are open from this address'),
  ),
};

export class Connections implements ConnectionGate {
  readonly #quota: Quota<'perAddress'>;
  readonly #names: NameHasher;
  #full: ReadonlySet<string> = new Set();
  #over: ReadonlySet<string> = new Set();

  constructor(quota: Quota<'perAddress'>, names: NameHasher) {
    this.#quota = quota;
    this.#names = names;
  }

  /** What main has counted, where the engine cannot. */
  set crowd({ full, over }: CrowdedAddresses) {
    this.#full = new Set(full);
    this.#over = new Set(over);
  }

  get hasCrowd(): boolean {
    return this.#full.size > 0;
  }

  refusalFor(address: ArrayBuffer): Answer | undefined {
    return this.#full.has(addressKey(address)) ? REFUSALS.perAddress : undefined;
  }

  mustLeave(address: ArrayBuffer): boolean {
    return this.#over.has(addressKey(address));
  }

  entered(address: string | null): Answer | undefined {
    const exceeded = this.#quota.acquire(this.#name(address));
    return exceeded && REFUSALS[exceeded];
  }

  left(address: string | null): void {
    this.#quota.release(this.#name(address));
  }

  #name(address: string | null): QuotaNames<'perAddress'> {
    return address === null
      ? {}
      : { perAddress: this.#names.of(`address ${addressKeyOf(address)}`) };
  }
}

function refusal(error: DroverError): Answer {
  return { ...errorAnswer(error), close: true };
}
