import { isIP } from 'node:net';
import { addressBytes, exactAddress } from './addresses.js';

interface Network {
  bytes: Uint8Array;
  /** How many of the bits count. */
  bits: number;
}

/** A set of addresses: single ones, and networks in the notation of CIDR. */
export class Networks {
  readonly #networks: readonly Network[];

  /** @throws RangeError that names the first text that is neither. */
  constructor(texts: readonly string[]) {
    this.#networks = texts.map(parse);
  }

  get isEmpty(): boolean {
    return this.#networks.length === 0;
  }

  /** @param bytes of an address. An IPv4 address in its IPv6 form counts as IPv4: it leads to the same place. */
  has(bytes: ArrayBuffer | Uint8Array): boolean {
    if (this.isEmpty) return false;
    const address = exactBytes(bytes);
    return this.#networks.some((network) => isIn(address, network));
  }
}

function parse(text: string): Network {
  const [address = '', length, ...rest] = text.split('/');
  const bytes = isIP(address) === 0 ? new Uint8Array() : exactBytes(addressBytes(address));
  const most = bytes.length * 8;
  const bits = length === undefined ? most : Number(length);
  const isNetwork = most > 0 && rest.length === 0 && /^\d{1,3}$/.test(length ?? '0');
  if (!isNetwork || bits > most) {
    throw new RangeError(`${JSON.stringify(text)} is neither an address nor a network`);
  }
  return { bytes, bits };
}

function exactBytes(bytes: ArrayBuffer | Uint8Array): Uint8Array {
  return Buffer.from(exactAddress(bytes), 'hex');
}

function isIn(address: Uint8Array, { bytes, bits }: Network): boolean {
  if (address.length !== bytes.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (address[at] !== bytes[at]) return false;
  const differing = (address[whole] ?? 0) ^ (bytes[whole] ?? 0);
  return differing >> (8 - (bits & 7)) === 0;
}
