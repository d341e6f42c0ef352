import { constants } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../../../shared/errors.js';
import { BROKEN } from '../broken.js';
import type {
  Engine,
  EngineKind,
  EngineOptions,
  FixedResponses,
  Handler,
  PreparedTls,
  TlsFiles,
} from '../engine.js';
import { rawResponse } from '../raw-response.js';
import { LINGER_MS, NodeExchange } from './node-exchange.js';
import { WRITE_SIZES } from './node-stream.js';
import { CONNECT_REFUSED, unreadable } from './refusals.js';

/** How often Node checks for late requests, in ms. */
const CHECK_EVERY_MS = 1000;
/** Connections that the system may queue until they are accepted; it has its own limit too. */
const BACKLOG = 4096;
/** How long close() lets connections send what is written, in ms. */
const CLOSE_MS = 1000;

/** Unsent bytes of responses to a client that keeps sending requests and does not read. Above this it is disconnected. */
const MOST_UNSENT = 1_048_576;
/**
 * Requests of one connection that may wait for the response to an earlier one. A further one ends the connection after the
 * responses to those before it. Node reads on, but of the last body no more than its own buffer holds (64 KiB).
 */
const MOST_WAITING = 32;

interface Connection {
  /** The request that was handled last. Those before it have their responses. */
  last: NodeExchange | undefined;
  /** Requests behind it, while its response is pending. */
  readonly waiting: NodeExchange[];
  /** Ends the connection after the last response. */
  end: (() => void) | undefined;
  /** Whether further bytes on it are ignored. */
  isRefused: boolean;
  /** Bytes of earlier responses that the system has not accepted. */
  unsent: number;
}

/** Runs in a front thread. Owns the server on node:http, for systems without a binary of uWebSockets.js. */
class NodeEngine implements Engine {
  readonly #server: http.Server;
  readonly #handler: Handler;
  readonly #options: EngineOptions;
  /** Every counted connection, including those in the TLS handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #connections = new WeakMap<Socket, Connection>();

  constructor(handler: Handler, options: EngineOptions) {
    this.#handler = handler;
    this.#options = options;
    const { tls, ciphers, headerTimeoutMs } = options;
    const settings: http.ServerOptions = {
      maxHeaderSize: options.maxHeaderBytes,
      headersTimeout: headerTimeoutMs,
      requestTimeout: headerTimeoutMs + options.bodyTimeoutMs,
      keepAliveTimeout: options.idleTimeoutMs,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      // Node's response to a missing Host has no body.
      requireHostHeader: false,
    };
    this.#server = tls
      ? https.createServer({
          ...settings,
          ...tlsSettings(tls, ciphers),
          handshakeTimeout: headerTimeoutMs,
        })
      : http.createServer(settings);
    // Node would drop headers silently: headRefusal() counts instead.
    this.#server.maxHeadersCount = 0;
    this.#server
      .prependListener('connection', (socket: Socket) => this.#connected(socket))
      .on('request', (request, response) => this.#handle(request, response, false))
      .on('checkContinue', (request, response) => this.#handle(request, response, true))
      // Other expectations are ignored.
      .on('checkExpectation', (request, response) => this.#handle(request, response, false))
      .on('connect', (_, socket) => {
        // Node has removed its listeners, and an unhandled error would end the thread.
        socket.on('error', () => {});
        socket.end(rawResponse(CONNECT_REFUSED));
        (socket as Socket).destroySoon();
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket) =>
        this.#unreadable(error, socket as Socket),
      );
  }

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    const server = this.#server;
    // `exclusive` is about processes of a cluster; `reusePort` is what the types of Node 20 do not know yet.
    const options: ListenOptions & { reusePort: boolean } = {
      host,
      port,
      backlog: BACKLOG,
      exclusive: true,
      reusePort: shared,
    };
    await new Promise<void>((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void =>
        reject(new Error(LISTEN_ERRORS[error.code ?? ''] ?? messageOf(error)));
      server.once('error', failed);
      server.listen(options, () => {
        server.off('error', failed);
        // Later errors are about single connections that could not be accepted.
        server.on('error', () => {});
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  stopListening(): void {
    if (this.#server.listening) this.#server.close();
  }

  prepareTls(named: TlsFiles): PreparedTls {
    if (!this.#options.tls) throw new Error('there is no certificate in use');
    const settings = tlsSettings(named, this.#options.ciphers);
    createSecureContext(settings);
    return {
      commit: () => (this.#server as https.Server).setSecureContext(settings),
      rollback: () => {},
    };
  }

  close(): void {
    this.stopListening();
    for (const socket of this.#sockets) {
      if (socket.writableLength === 0) socket.destroy();
      else socket.destroySoon();
    }
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, CLOSE_MS);
    timer.unref();
  }

  #connected(socket: Socket): void {
    socket.on('error', () => {});
    const address = socket.remoteAddress;
    // Already closed.
    if (address === undefined) return;
    const { connections, tls } = this.#options;
    const refusal = connections.entered(address);
    if (refusal) {
      this.#connection(socket).isRefused = true;
      if (!tls) socket.write(rawResponse(refusal));
      socket.destroySoon();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      connections.left(address);
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const { socket } = request;
    const connection = this.#connection(socket);
    if (connection.isRefused || connection.last?.responded === 'closing') return;
    const settled = (): void => this.#settled(connection, socket);
    const exchange = new NodeExchange(request, response, this.#options, expectsContinue, settled);
    switch (connection.last?.responded) {
      case 'streaming':
        // A stream has no end after which this request could get its response.
        socket.destroy();
        break;
      case 'no':
        if (connection.waiting.length < MOST_WAITING) connection.waiting.push(exchange);
        else {
          connection.isRefused = true;
          connection.end = () => socket.end();
        }
        break;
      default:
        this.#begin(connection, exchange, socket);
    }
  }

  #begin(connection: Connection, exchange: NodeExchange, socket: Socket): void {
    if (!keepsUp(connection)) {
      socket.destroy();
      return;
    }
    connection.last = exchange;
    try {
      const pending = this.#handler(exchange);
      if (pending) exchange.respondLater(pending);
    } catch {
      exchange.respond(BROKEN);
    }
  }

  /** The last request of the connection has its response, or has become a stream. */
  #settled(connection: Connection, socket: Socket): void {
    const { last, waiting, end } = connection;
    if (last?.responded === 'closing') {
      waiting.length = 0;
    } else if (last?.responded === 'streaming') {
      if (waiting.length > 0 || end) socket.destroy();
    } else {
      const next = waiting.shift();
      if (next) this.#begin(connection, next, socket);
      else if (end) last?.whenSent(end);
    }
  }

  #connection(socket: Socket): Connection {
    let connection = this.#connections.get(socket);
    if (!connection) {
      connection = {
        last: undefined,
        waiting: [],
        end: undefined,
        isRefused: false,
        unsent: 0,
      };
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  /** The request is not HTTP, or too late. Node calls this again for each piece that still arrives. */
  #unreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.#connection(socket);
    if (connection.isRefused) return;
    connection.isRefused = true;
    // Ignores bytes after a request with `Connection: close`: only that request gets a response.
    if (error.code === 'HPE_CLOSED_CONNECTION') return;
    const { last } = connection;
    if (last?.responded === 'closing') {
      last.endLinger();
      return;
    }
    // Sends no response when the client cannot read one, or when one is half sent.
    if (!socket.writable || error.code === 'ECONNRESET' || last?.responded === 'streaming') {
      socket.destroy();
      return;
    }
    const newest = connection.waiting.at(-1) ?? last;
    // The body of the newest request cannot be read.
    if (newest?.responded === 'no' && !newest.isComplete) {
      if (newest === last) {
        last.respond(unreadable(error));
        return;
      }
      connection.waiting.pop();
    }
    connection.end = () => {
      socket.end(rawResponse(unreadable(error)));
      socket.resume();
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(timer));
    };
    // Earlier requests on the connection get their responses first.
    if (!last) connection.end();
    else if (last.responded === 'yes') last.whenSent(connection.end);
  }
}

/** Adds the unsent bytes of the last response. @returns false above the limit. */
function keepsUp(connection: Connection): boolean {
  const { last } = connection;
  if (!last || last.isSent) return true;
  connection.unsent += last.bytes;
  last.whenSent(() => {
    connection.unsent -= last.bytes;
  });
  return connection.unsent <= MOST_UNSENT;
}

const NOT_OURS = 'the port is taken or the address is not of this machine';
const LISTEN_ERRORS: Record<string, string> = {
  EADDRINUSE: NOT_OURS,
  EADDRNOTAVAIL: NOT_OURS,
  ENOTSUP: 'this system cannot share a port between several fronts; start with --fronts 1',
};

/** The ciphers of TLS 1.3, as BoringSSL has them. Node turns TLS 1.3 off when the list names none of them. */
const TLS_1_3 = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];

function tlsSettings({ cert, key }: TlsFiles, ciphers: readonly string[]): SecureContextOptions {
  return {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ciphers: [...TLS_1_3, ...ciphers].join(':'),
    minVersion: 'TLSv1.2',
    // Lets the client choose from the list, as BoringSSL does.
    honorCipherOrder: false,
    // Refuses renegotiation, as BoringSSL does: new handshakes cost the service more than the client.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

export const nodeEngine: EngineKind = {
  knowsAddresses: true,
  writeSizes: (tls) => (tls ? WRITE_SIZES.tls : WRITE_SIZES.plain),
  sharesWrites: true,
  create: (handler: Handler, _: FixedResponses, options: EngineOptions) =>
    new NodeEngine(handler, options),
};

/** Whether several threads can share a port here: `reusePort` came with Node 22.12 and 23.1. */
export function canSharePort(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}
