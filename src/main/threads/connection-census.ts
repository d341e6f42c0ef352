// Runs in main. Owns the count of connections per client address for uWebSockets.js, which does not report whose connection
// has closed. Reads Linux's table of connections once a second, but only while one address could have reached its limit.
// Without it one address could hold all connections, without a token.

import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import {
  addressBytes,
  addressKey,
  type CrowdedAddresses,
  exactAddress,
} from '../../shared/contract/addresses.js';
import { Networks } from '../../shared/contract/networks.js';

const EVERY_MS = 1000;
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

export interface CensusOptions {
  /** The address to listen on: another process can use the same port on another address. */
  host: string;
  port: number;
  /** Most connections of one address. */
  limit: number;
  /** Trusted proxies. Their connections are not counted. */
  trusted: Networks;
  /** Open connections of all addresses. */
  open: () => number;
  /** Called with the addresses that have reached their limit, as long as there are any. */
  report: (crowded: CrowdedAddresses) => void;
}

export class ConnectionCensus {
  readonly #options: CensusOptions;
  /** The addresses of the host; undefined when it listens on all addresses, or the lookup failed. */
  #listening: ReadonlySet<string> | undefined;
  #hasCrowd = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CensusOptions) {
    this.#options = options;
    if (process.platform !== 'linux') return;
    void this.#resolveHost();
    this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #resolveHost(): Promise<void> {
    // Loaded here, because most services take no census.
    const { lookup } = process.getBuiltinModule('node:dns/promises');
    const found = await lookup(this.#options.host, { all: true }).catch(() => []);
    const own = found.map(({ address }) => exactAddress(addressBytes(address)));
    if (own.length > 0 && !own.some((address) => /^0+$/.test(address)))
      this.#listening = new Set(own);
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => {
        if (this.#timer !== undefined) this.#wait();
      });
    }, EVERY_MS);
  }

  async #look(): Promise<void> {
    const { port, limit, trusted, open, report } = this.#options;
    // A table that is missing (no IPv6, hidden by a container) counts as empty.
    const read = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '');
    const isMany = open() >= limit;
    const crowded = crowdedOf(
      isMany ? await Promise.all(TABLES.map(read)) : [],
      port,
      limit,
      this.#listening,
      trusted,
    );
    const hadCrowd = this.#hasCrowd;
    this.#hasCrowd = crowded.full.length > 0;
    // Told each time, because a front may have started since.
    if (this.#hasCrowd || hadCrowd) report(crowded);
  }
}

/** Local address and port, and remote address, of connections that are open or half-closed by the client. */
const OPEN = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} 0[18] /gm;

/**
 * The addresses that have at least `limit` connections to `port`, and those that have more.
 * @param listening local addresses whose connections count, as {@link exactAddress} writes them; undefined for all. @param trusted whose
 * connections do not count.
 */
export function crowdedOf(
  tables: readonly string[],
  port: number,
  limit: number,
  listening?: ReadonlySet<string>,
  trusted = new Networks([]),
): CrowdedAddresses {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const counts = new Map<string, number>();
  for (const table of tables) {
    for (const [, local = '', at, remote = ''] of table.matchAll(OPEN)) {
      if (at !== wanted || (listening && !listening.has(exactAddress(bytesOf(local))))) continue;
      const bytes = bytesOf(remote);
      if (trusted.has(bytes)) continue;
      const address = addressKey(bytes);
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  }
  const from = (least: number): string[] =>
    [...counts].filter(([, count]) => count >= least).map(([address]) => address);
  return { full: from(limit).sort(), over: from(limit + 1).sort() };
}

/** The table has 32-bit words in the machine's byte order. @returns the address's bytes. */
function bytesOf(words: string): Buffer {
  const bytes = Buffer.from(words, 'hex');
  return endianness() === 'LE' ? bytes.swap32() : bytes;
}
