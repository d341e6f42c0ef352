// Runs in main. Owns what is checked of certificate and key before a front may use them.

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Config } from './contract/config.js';
import { messageOf, StartupError } from './errors.js';

/**
 * Makes sure that there are both files or neither, that they can be read, and that they belong together.
 * @throws StartupError
 */
export function checkTls({ cert, key }: Config['tls']): void {
  if (cert === null && key === null) return;
  if (cert === null || key === null) {
    throw new StartupError('tls.cert and tls.key are of use together only; set both or neither');
  }
  try {
    createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) });
  } catch (thrown) {
    throw new StartupError(
      `TLS cannot use the certificate ${cert} with the key ${key}: ${messageOf(thrown)}`,
    );
  }
}

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
