import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { authorityOf } from '../../shared/contract/addresses.js';

type Interfaces = NodeJS.Dict<Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>;

/** `http.host` values for all addresses of the machine. */
const ANY: readonly string[] = ['0.0.0.0', '::'];

/**
 * Where other machines reach the service.
 * @param host `http.host`. One for all addresses is replaced by the first address of a network interface, IPv4 if there is one.
 */
export function ownAddress(
  scheme: 'http' | 'https',
  host: string,
  port: number,
  interfaces: Interfaces = networkInterfaces(),
): string {
  const name = ANY.includes(host) ? outerAddress(interfaces) : host;
  return `${scheme}://${authorityOf(name, port)}`;
}

function outerAddress(interfaces: Interfaces): string {
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // A link-local address is of no use without the name of its interface.
    .filter(({ address, internal }) => !internal && !/^(fe80:|169\.254\.)/i.test(address));
  const best = outer.find(({ family }) => family === 'IPv4') ?? outer[0];
  return best?.address ?? '127.0.0.1';
}
