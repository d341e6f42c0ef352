import { isIP } from 'node:net';

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
