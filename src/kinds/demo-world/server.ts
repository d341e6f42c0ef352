// Runs in the demo world's thread. Owns its two listening sockets and everyone connected to them.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { authorityOf } from '../../shared/contract/addresses.js';
import { createLoginServer, Tickets } from './http-login.js';
import { Session, type World } from './player-session.js';
import { Rooms } from './room.js';
import { startShepherd } from './shepherd.js';

export interface DemoWorldOptions {
  /** Address to listen on; must be a loopback address. */
  host?: string;
  /** More players than this are refused. */
  maxPlayers?: number;
  /** Milliseconds that a TCP client has for its `Login`. */
  loginWithinMs?: number;
  /** Milliseconds between two visits of the Shepherd to a room. */
  shepherdRoundMs?: number;
}

export interface DemoWorld {
  /** Origin of the HTTP login, without a path. */
  httpUrl: string;
  tcpPort: number;
  /** Disconnects everyone; resolves when both ports are free again. */
  close(): Promise<void>;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** Connections beyond the players, which have not logged in yet. One more is closed as soon as it is accepted. */
const MAX_WAITING = 1_000;

/** Thousands of bots connect at once when the service starts; the default of 511 lets them wait for a second try. */
const BACKLOG = 4096;

/**
 * Starts the demo world on two free ports.
 * @throws Error when the host is no loopback address or cannot be listened on
 */
export async function startDemoWorld(options: DemoWorldOptions = {}): Promise<DemoWorld> {
  const { host = '127.0.0.1', maxPlayers = 20_000 } = options;
  const { loginWithinMs = 10_000, shepherdRoundMs = 20_000 } = options;
  // Anyone who can reach it can play: there are no passwords.
  if (!LOOPBACK.test(host))
    throw new Error(`the demo world listens on loopback only, not on ${host}`);

  const tickets = new Tickets();
  const rooms = new Rooms();
  const world: World = { tickets, rooms, players: new Map(), maxPlayers, loginWithinMs };

  const sockets = new Set<Socket>();
  // Without noDelay a line waits for the acknowledgement of the line before it.
  const tcp = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    new Session(socket, world);
  });
  tcp.maxConnections = maxPlayers + MAX_WAITING;
  const tcpPort = await listen(tcp, host);

  const http = createLoginServer(tickets, { host, port: tcpPort });
  http.maxConnections = tcp.maxConnections;
  const httpPort = await listen(http, host).catch((error: unknown) => {
    tcp.close();
    throw error;
  });

  const stopShepherd = startShepherd(rooms, shepherdRoundMs);
  return {
    httpUrl: `http://${authorityOf(host, httpPort)}`,
    tcpPort,
    async close() {
      stopShepherd();
      const closed = Promise.all([once(tcp.close(), 'close'), once(http.close(), 'close')]);
      http.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Listens on a free port and returns it. */
async function listen(server: Server, host: string): Promise<number> {
  server.listen({ host, port: 0, backlog: BACKLOG });
  await once(server, 'listening');
  // From now on an error means that a connection could not be accepted, for want of file descriptors. Its client sees it
  // closed; the other connections are not affected.
  server.on('error', () => {});
  return (server.address() as AddressInfo).port;
}
