// Test harness. Owns ports that can be bound again at once.

import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A free port below those that the system gives to outgoing connections. Not 0: uWebSockets.js then leaves SO_REUSEADDR
 * out, and the port could not be bound again while connections of the first service are in TIME_WAIT.
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
