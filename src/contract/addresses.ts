// Imported by main and the fronts. Owns how client addresses are written where they are compared, and who has too many
// connections.

/** Client addresses as {@link addressKey} writes them. */
export interface CrowdedAddresses {
  /** Those that have as many connections as they may, or more. */
  full: string[];
  /** Those that have more. */
  over: string[];
}

const IPV4_IN_IPV6 = '00000000000000000000ffff';

/** The bytes of an address in hexadecimal; those of IPv4 are the same where they come as IPv6. */
export function addressKey(bytes: ArrayBuffer | Uint8Array): string {
  const text = Buffer.from(bytes as Uint8Array).toString('hex');
  return text.startsWith(IPV4_IN_IPV6) ? text.slice(IPV4_IN_IPV6.length) : text;
}
