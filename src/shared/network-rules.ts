// The targets that bots may connect to: the list `network.allow` of the configuration.

import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { addressBytes } from './contract/addresses.js';
import { Networks } from './contract/networks.js';

interface Rule {
  allows(host: string, port: number): boolean;
}

/** A rule's host, then its port: `irc.example:6697`, `10.0.0.0/8`, `[2001:db8::/32]:443`, `2001:db8::1`. */
const RULE = /^(?:\[([^\]]+)\]|([^:]+)|((?=[^:]*:[^:]*:)[0-9a-f:./]+))(?::(\d{1,5}))?$/i;
const NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
/**
 * Characters that no name has. domainToASCII() reads a URL and cuts the name there, while the resolver would ask for
 * all of it.
 */
const NO_NAME = /[^\p{L}\p{M}\p{N}.。．｡_*-]/u;

export class NetworkRules {
  readonly #rules: readonly Rule[] | null;

  /** @param allow null allows everything. @throws RangeError that names the first invalid entry. */
  constructor(allow: readonly string[] | null) {
    this.#rules = allow?.map(parseRule) ?? null;
  }

  /** A name is compared as it is given, and never resolved: only an address matches a network. */
  allows(host: string, port: number): boolean {
    if (this.#rules === null) return true;
    const plain = plainHost(host);
    return this.#rules.some((rule) => rule.allows(plain, port));
  }
}

function parseRule(entry: string): Rule {
  const [, bracketed, plain, bare, port] = RULE.exec(entry) ?? [];
  const host = bracketed ?? plain ?? bare;
  const matches = host === undefined ? undefined : hostRule(host);
  const number = Number(port ?? 1);
  if (!matches || number < 1 || number > 65_535) {
    throw new RangeError(
      `${JSON.stringify(entry)} is no host, *.domain, address or network, with or without a port`,
    );
  }
  return {
    allows: (asked, askedPort) => (port === undefined || askedPort === number) && matches(asked),
  };
}

function hostRule(text: string): ((host: string) => boolean) | undefined {
  if (text === '*') return () => true;
  const [address = '', length] = text.split('/', 2);
  if (isIP(address)) return networkRule(text);
  const name = plainHost(text);
  if (length !== undefined || !NAME.test(name)) return;
  if (!name.startsWith('*.')) return (host) => host === name;
  return (host) => !isIP(host) && host.endsWith(name.slice(1));
}

function networkRule(text: string): ((host: string) => boolean) | undefined {
  try {
    const networks = new Networks([text]);
    return (host) => isIP(host) !== 0 && networks.has(addressBytes(host));
  } catch {
    return undefined;
  }
}

/**
 * In the form in which hosts are compared: lower case, ASCII, without brackets, zone and final dot. Empty for what is neither
 * an address nor a name.
 */
function plainHost(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  // Only addresses have zones: a name with a percent sign is another name.
  if (isIP(bare)) return bare.split('%', 1)[0] as string;
  if (NO_NAME.test(bare)) return '';
  const name = bare.replace(/\.$/, '');
  return (
    (name.startsWith('*.') ? `*.${domainToASCII(name.slice(2))}` : domainToASCII(name)) ||
    name.toLowerCase()
  );
}
