// Test harness. Owns the connections between clients and one service: a test takes the service away from its client, and
// the service runs on for the next test.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export class Relay {
  readonly url: string;
  /** Of clients, since the beginning. */
  connections = 0;
  /** From the service to its clients. */
  bytes = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #hangs = false;
  #bytesPerSecond = Number.POSITIVE_INFINITY;

  private constructor(server: Server, servicePort: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (client) => this.#join(client, connect(servicePort, '127.0.0.1')));
  }

  /** Ends with the test. */
  static async before(servicePort: number): Promise<Relay> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const relay = new Relay(server, servicePort);
    onTestFinished(() => relay.cut());
    return relay;
  }

  /** As when the service is killed: its connections break, and new ones are refused. */
  cut(): void {
    this.#server.close();
    this.disconnect();
  }

  /** As when the network fails for a moment: its connections break, and new ones are accepted. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** As when the service is suspended: connections are accepted and stay open, but nothing comes back. */
  hang(): void {
    this.#hangs = true;
    for (const socket of this.#sockets) socket.unpipe();
  }

  /** As when the network is back: what was connected before breaks, and new connections are served. */
  wake(): void {
    this.#hangs = false;
    this.disconnect();
  }

  /** As a slow network: so much comes back in a second. */
  slow(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  #join(client: Socket, service: Socket): void {
    this.connections += 1;
    for (const socket of [client, service]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        service.destroy();
      });
    }
    if (this.#hangs) return;
    service.on('data', ({ length }) => {
      this.bytes += length;
      const ms = (length / this.#bytesPerSecond) * 1000;
      if (ms < 1) return;
      service.pause();
      setTimeout(() => service.resume(), ms);
    });
    client.pipe(service);
    service.pipe(client);
  }
}
