// Runs in main. The nodes that were removed from the cluster for good, each with the identity that it had (node-identity.ts), as far as
// that was known.

import { parseJson } from '../wire/bus-validators.js';
import { PROTOCOL } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import { Records, type RecordsOptions } from './bot-records.js';
import { checkRecord } from './bucket.js';

/** Value of a key in the bucket of removed nodes. */
export interface RemovedNode {
  v: number;
  id: string | null;
}

export class RemovedNodes {
  readonly records: Records<RemovedNode>;

  constructor(nats: NatsConnection, options: Omit<RecordsOptions<RemovedNode>, 'noun' | 'read'>) {
    this.records = new Records(nats, {
      ...options,
      noun: 'removed node',
      read: (_, text) => checkRecord('removed', parseJson(text)),
    });
  }

  /** Whether the node was removed and has not joined again, as far as this one knows. */
  has(node: string): boolean {
    return this.records.get(node) !== undefined;
  }

  /**
   * @param identity null when it is not known. @returns a function that undoes it: the mark of an earlier removal stays.
   * @throws DroverError `unavailable`, as what it returns.
   */
  async mark(node: string, identity: string | null): Promise<() => Promise<void>> {
    const before = this.records.get(node);
    const value = { v: PROTOCOL, id: identity ?? before?.id ?? null };
    const isChanged = (await this.records.change(node, () => value)) !== null;
    if (!isChanged) await this.records.create(node, value);
    return async () => {
      if (before) await this.records.change(node, () => before);
      else await this.forget(node);
    };
  }

  /** @throws DroverError `unavailable`. */
  async forget(node: string): Promise<void> {
    await this.records.remove(node, () => true);
  }

  /** As NATS has it now. @returns its identity, null when that was not known; undefined when it was not removed. @throws Error. */
  async identity(node: string): Promise<string | null | undefined> {
    return (await this.records.ask(node))?.id;
  }
}
