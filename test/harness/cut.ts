// Test harness. Owns the connections from one process to one server, which a test cuts and repairs.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `open`. `silent`: as a broken network, connections stay and nothing comes through; what was sent arrives when it is open again.
 * `refused`: as a server that has ended, connections break and new ones are refused.
 */
export type CutState = 'open' | 'silent' | 'refused';

interface Pair {
  near: Socket;
  far: Socket | null;
}

export class Cut {
  readonly port: number;
  readonly #target: { host: string; port: number };
  readonly #pairs = new Set<Pair>();
  #server: Server;
  #state: CutState = 'open';

  private constructor(server: Server, target: { host: string; port: number }) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    this.#accept();
  }

  static async before(port: number, host = '127.0.0.1'): Promise<Cut> {
    return new Cut(await listen(0), { host, port });
  }

  get state(): CutState {
    return this.#state;
  }

  async set(state: CutState): Promise<void> {
    const was = this.#state;
    this.#state = state;
    if (state === 'refused') {
      this.#server.close();
      this.#breakAll();
    } else if (was === 'refused') {
      this.#server = await listen(this.port);
      this.#accept();
    }
    for (const pair of this.#pairs) {
      if (state === 'silent') hold(pair);
      else if (state === 'open') this.#flow(pair);
    }
  }

  /** Connections break once; new ones are accepted. */
  reset(): void {
    this.#breakAll();
  }

  close(): void {
    this.#server.close();
    this.#breakAll();
  }

  #breakAll(): void {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy();
      far?.resetAndDestroy();
    }
    this.#pairs.clear();
  }

  #accept(): void {
    this.#server.on('connection', (near) => {
      const pair: Pair = { near, far: null };
      this.#pairs.add(pair);
      near.setNoDelay(true);
      near.on('error', () => {});
      near.on('close', () => {
        this.#pairs.delete(pair);
        pair.far?.destroy();
      });
      if (this.#state === 'open') this.#flow(pair);
      else near.pause();
    });
  }

  #flow(pair: Pair): void {
    pair.far ??= this.#dial(pair);
    pair.near.pipe(pair.far);
    pair.far.pipe(pair.near);
  }

  #dial({ near }: Pair): Socket {
    const far = connect(this.#target);
    far.setNoDelay(true);
    far.on('error', () => {});
    far.on('close', () => near.destroy());
    return far;
  }
}

function hold({ near, far }: Pair): void {
  for (const socket of [near, far]) socket?.unpipe().pause();
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
