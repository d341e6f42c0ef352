import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { DroverError } from '../../shared/errors.js';
import type { Exchange } from '../engine/engine.js';

/** Longest name that a message repeats, in characters. */
const MAX_SHOWN = 253;

/**
 * Which pages may use the PIN. A page of any site can make its own name resolve to this service (DNS rebinding); for the browser
 * its requests then stay on one origin, so CORS does not stop them. Such a request has the page's name as its Host.
 */
export class PinPages {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** @param hosts names of the service beside those of this machine. @param origins pages that may use the API. */
  constructor(hosts: readonly string[], origins: readonly string[], machine = hostname()) {
    this.#hosts = new Set([...ownNames(machine), ...hosts].map((name) => name.toLowerCase()));
    this.#origins = new Set(origins);
  }

  /** A request without an `Origin` is not from a page. @throws DroverError `forbidden`. */
  check(exchange: Pick<Exchange, 'header'>): void {
    const origin = exchange.header('origin');
    if (origin === '') return;
    const host = exchange.header('host');
    const name = nameOf(host);
    if (name === undefined || !(isIP(name) || this.#hosts.has(name))) {
      const named = JSON.stringify((name ?? host).slice(0, MAX_SHOWN));
      throw new DroverError(
        'forbidden',
        `pages at ${named} cannot use the PIN: add the name to http.allowed_hosts, or open the page by the IP address`,
      );
    }
    if (this.#origins.has(origin) || isOwn(origin, host)) return;
    const named = JSON.stringify(origin.slice(0, MAX_SHOWN));
    throw new DroverError(
      'forbidden',
      `pages of ${named} cannot use the PIN: add the origin to http.cors_origins, or let the proxy keep the header Host`,
    );
  }
}

function ownNames(machine: string): string[] {
  const [short = ''] = machine.split('.', 1);
  return ['localhost', machine, short, `${short}.local`];
}

/** The name or address in a Host header, without port, brackets and final dot; undefined when it is no Host. */
function nameOf(host: string): string | undefined {
  const url = urlOf('http', host);
  return url?.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Whether the page was loaded from this Host. A proxy may have ended TLS, so the scheme is that of the page. */
function isOwn(origin: string, host: string): boolean {
  const [, scheme, authority] = /^(https?):\/\/(.+)$/.exec(origin) ?? [];
  if (scheme === undefined || authority === undefined) return false;
  const page = urlOf(scheme, authority)?.host;
  return page !== undefined && page === urlOf(scheme, host)?.host;
}

/** The URL parser normalizes names, addresses and default ports. It must not find anything else in the text. */
function urlOf(scheme: string, authority: string): URL | undefined {
  const text = `${scheme}://${authority}`;
  return /^[^\s/\\?#@]+$/.test(authority) && URL.canParse(text) ? new URL(text) : undefined;
}
