// The form of client addresses in which they are compared. A client can use any address of its IPv6 network, so the network of
// 64 bits counts as one client.

/** Client addresses as {@link addressKey} writes them. */
export interface CrowdedAddresses {
  /** Addresses at the limit of connections, or above. */
  full: string[];
  /** Addresses above the limit. */
  over: string[];
}

const IPV4_IN_IPV6 = '00000000000000000000ffff';
/** Hexadecimal digits of an IPv6 address, and of its network. */
const IPV6_DIGITS = 32;
const NETWORK_DIGITS = 16;

/** The bytes of an address in hexadecimal; an IPv4 address in its IPv6 form is written as IPv4. */
export function exactAddress(bytes: ArrayBuffer | Uint8Array): string {
  const text = Buffer.from(bytes as Uint8Array).toString('hex');
  return text.startsWith(IPV4_IN_IPV6) ? text.slice(IPV4_IN_IPV6.length) : text;
}

/** The key of one client: an IPv4 address, or the network of an IPv6 address. */
export function addressKey(bytes: ArrayBuffer | Uint8Array): string {
  const text = exactAddress(bytes);
  return text.length === IPV6_DIGITS ? text.slice(0, NETWORK_DIGITS) : text;
}

/** Parses an address in any of the usual notations; empty when it is none. */
export function addressBytes(text: string): Uint8Array {
  const bare = text.split('%', 1)[0] ?? '';
  const colon = bare.lastIndexOf(':');
  const last = bare.slice(colon + 1);
  const dotted = last.includes('.') ? last.split('.').map(Number) : [];
  if (colon === -1) return Uint8Array.from(dotted);
  const groups = dotted.length > 0 ? bare.slice(0, colon + 1) : bare;
  const [before = [], after] = groups.split('::').map((half) =>
    half
      .split(':')
      .filter((group) => group !== '')
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]),
  );
  const end = [...(after ?? []), ...dotted];
  const zeros = after === undefined ? 0 : Math.max(0, 16 - before.length - end.length);
  return Uint8Array.from([...before, ...new Array<number>(zeros).fill(0), ...end]);
}

/** The {@link addressKey} of an address in text. */
export function addressKeyOf(text: string): string {
  return addressKey(addressBytes(text));
}

/** Host and port as in a URL: an IPv6 address gets brackets. */
export function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
