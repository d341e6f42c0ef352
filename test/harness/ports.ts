import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/**
 * A free port below the system's range for outgoing connections, which can be bound again at once. Not 0:
 * uWebSockets.js then omits SO_REUSEADDR, and the port stays blocked while old connections are in TIME_WAIT.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (free) return port;
  }
}

/** Sockets that listen on a port of IPv4, by inode: several with SO_REUSEPORT. Linux only. */
export function listeners(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(`:${hex}`) && state === '0A')
    .map((fields) => fields[9] ?? '');
}
