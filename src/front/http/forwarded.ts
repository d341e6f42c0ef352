// The headers in which proxies report for whom they forward a request.

import { isIP } from 'node:net';

export type Scheme = 'http' | 'https';

/** One proxy's report: who connected to it, and how. Undefined where it does not say, or hides it. */
export interface Hop {
  address: string | undefined;
  scheme: Scheme | undefined;
}

/** Reports by `X-Forwarded-For`, the client's first. All have the scheme that the last proxy reports in `X-Forwarded-Proto`. */
export function xForwardedHops(addresses: readonly string[], schemes: readonly string[]): Hop[] {
  const scheme = schemeOf(schemes.join(',').split(',').at(-1));
  return addresses
    .join(',')
    .split(',')
    .map((text) => ({ address: addressOf(text.trim()), scheme }));
}

/**
 * A pair of `Forwarded`, and what separates it from the next. Spaces can match in one place only: an expression that tries two
 * takes quadratic time.
 */
const PAIR = /\s*(?:([\w!#$%&'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[^\s",;=]*)\s*)?([,;]|$)/gy;

/** Reports by `Forwarded` (RFC 7239), the client's first. A line that cannot be read counts as one report that says nothing. */
export function forwardedHops(lines: readonly string[]): Hop[] {
  return lines.flatMap((line) => {
    const hops: Hop[] = [{ address: undefined, scheme: undefined }];
    let read = 0;
    for (const [whole, name = '', value = '', separator] of line.matchAll(PAIR)) {
      read += whole.length;
      const hop = hops.at(-1) as Hop;
      const plain = value.replace(/^"(.*)"$/, '$1').replace(/\\(.)/g, '$1');
      if (name.toLowerCase() === 'for') hop.address = addressOf(plain);
      if (name.toLowerCase() === 'proto') hop.scheme = schemeOf(plain);
      if (separator === ',') hops.push({ address: undefined, scheme: undefined });
      if (separator === '') break;
    }
    return read === line.length ? hops : [{ address: undefined, scheme: undefined }];
  });
}

function schemeOf(text = ''): Scheme | undefined {
  const name = text.trim().toLowerCase();
  return name === 'http' || name === 'https' ? name : undefined;
}

/** An address, which may have a port, and as IPv6 brackets. Undefined for anything else: names and identifiers of proxies. */
function addressOf(text: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(text) ?? [];
  const address = bracketed ?? dotted ?? text;
  return isIP(address) === 0 ? undefined : address;
}
