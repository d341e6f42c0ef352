// Runs in main. Owns how many connections each client address has where the HTTP engine cannot follow them: uWebSockets.js
// does not tell whose connection has gone. Linux keeps a table of all connections; it is read once a second, and only
// while there are so many that one address could have its limit.

import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import {
  addressBytes,
  addressKey,
  type CrowdedAddresses,
  exactAddress,
} from '../../shared/contract/addresses.js';

const EVERY_MS = 1000;
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

export interface CensusOptions {
  /** What the service listens on: another process can have the same port on another address. */
  host: string;
  port: number;
  /** Connections that one address may have. */
  limit: number;
  /** Connections that all have together. */
  open: () => number;
  /** Is told who has its limit, as long as somebody has. */
  tell: (crowded: CrowdedAddresses) => void;
}

export class ConnectionCensus {
  readonly #options: CensusOptions;
  /** The addresses of the host; undefined when it listens on all there are, or they are not known. */
  #own: ReadonlySet<string> | undefined;
  #hasCrowd = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CensusOptions) {
    this.#options = options;
    if (process.platform !== 'linux') return;
    void this.#findOwn();
    this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #findOwn(): Promise<void> {
    const found = await lookup(this.#options.host, { all: true }).catch(() => []);
    const own = found.map(({ address }) => exactAddress(addressBytes(address)));
    if (own.length > 0 && !own.some((address) => /^0+$/.test(address))) this.#own = new Set(own);
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => {
        if (this.#timer !== undefined) this.#wait();
      });
    }, EVERY_MS);
  }

  async #look(): Promise<void> {
    const { port, limit, open, tell } = this.#options;
    // One that is not there (no IPv6, a container that hides it) has nobody in it.
    const read = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '');
    const isMany = open() >= limit;
    const crowded = crowdedOf(
      isMany ? await Promise.all(TABLES.map(read)) : [],
      port,
      limit,
      this.#own,
    );
    const hadCrowd = this.#hasCrowd;
    this.#hasCrowd = crowded.full.length > 0;
    // Again each time, for a front that was started meanwhile.
    if (this.#hasCrowd || hadCrowd) tell(crowded);
  }
}

/** Local and remote address and port of a connection that is open, or that only its client has closed. */
const OPEN = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} 0[18] /gm;

/**
 * Who has `limit` connections to `port`, and who has more, by the system's tables.
 * @param own the addresses that they count on, as {@link exactAddress} writes them; undefined for all.
 */
export function crowdedOf(
  tables: readonly string[],
  port: number,
  limit: number,
  own?: ReadonlySet<string>,
): CrowdedAddresses {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const counts = new Map<string, number>();
  for (const table of tables) {
    for (const [, local = '', at, remote = ''] of table.matchAll(OPEN)) {
      if (at !== wanted || (own && !own.has(exactAddress(bytesOf(local))))) continue;
      const address = addressKey(bytesOf(remote));
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  }
  const from = (least: number): string[] =>
    [...counts].filter(([, count]) => count >= least).map(([address]) => address);
  return { full: from(limit).sort(), over: from(limit + 1).sort() };
}

/** The table has words of 32 bits, as this machine keeps them in memory. @returns the address's bytes. */
function bytesOf(words: string): Buffer {
  const bytes = Buffer.from(words, 'hex');
  return endianness() === 'LE' ? bytes.swap32() : bytes;
}
