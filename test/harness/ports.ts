import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Below the system's range for outgoing connections, in a part for each of the files that run at the same time. */
const FIRST_PORT = 20_000;
const PORTS_OF_FILE = 1500;
const FILES = 8;
/** A port that was given is not bound yet, and looks free. */
const given = new Set<number>();

/**
 * A free port, another one for each call, which can be bound again at once. Not 0: uWebSockets.js then omits SO_REUSEADDR, and the
 * port stays blocked while old connections are in TIME_WAIT.
 */
export async function freePort(): Promise<number> {
  const part = Number(process.env['VITEST_POOL_ID'] ?? 0) % FILES;
  for (;;) {
    const port = FIRST_PORT + part * PORTS_OF_FILE + Math.floor(Math.random() * PORTS_OF_FILE);
    if (given.has(port)) continue;
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (!free) continue;
    given.add(port);
    return port;
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
