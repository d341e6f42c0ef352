import uws, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
} from 'uWebSockets.js';
import { Deadlines } from '../../../shared/deadlines.js';
import { BROKEN } from '../broken.js';
import type {
  Engine,
  EngineKind,
  EngineOptions,
  FixedResponses,
  Handler,
  PreparedTls,
  Response,
  TlsFiles,
} from '../engine.js';
import { RequestHead } from '../request-head.js';
import { statusLine } from '../status-line.js';
import { type BodyDeadlines, UwsExchange } from './uws-exchange.js';
import { inOneHeader, writeHeaders } from './uws-headers.js';
import { WRITE_SIZES } from './uws-stream.js';

/** uWebSockets' LIBUS_LISTEN_EXCLUSIVE_PORT; its enum is not exported at run time by all versions. */
const EXCLUSIVE_PORT = 1;
const SHARED_PORT = 0;
/**
 * Sockets that listen on the port. Each has an accept queue of 512 connections, a number in uWebSockets' binary, and the kernel
 * spreads new connections over them: it drops what comes while a queue is full. docs/decisions/0067.
 */
const QUEUES = 4;
const TAKEN = 'the port is taken or the address is not of this machine';

/** An app and its number of connections. */
interface App {
  readonly app: TemplatedApp;
  open: number;
}

/** Runs in a front thread. Owns the uWebSockets.js apps; docs/ENGINES.md has the facts about it. */
class UwsEngine implements Engine {
  readonly #handler: Handler;
  readonly #fixed: FixedResponses;
  readonly #options: EngineOptions;
  readonly #head = new RequestHead();
  /** The last one listens. Earlier ones have connections with previous certificates. */
  #apps: App[];
  /** {@link QUEUES} while it listens. */
  #sockets: us_listen_socket[] = [];
  #bound: { host: string; port: number } | undefined;
  /** Deadlines of bodies by the time that these may take, in ms. The configuration gives one or two times. */
  readonly #deadlines = new Map<number, Deadlines<() => void>>();
  /** Connections that were refused and are not closed yet. */
  #refused = 0;

  constructor(handler: Handler, fixed: FixedResponses, options: EngineOptions) {
    this.#handler = handler;
    this.#fixed = fixed;
    this.#options = options;
    this.#apps = [this.#createApp(options.tls)];
  }

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    const { app } = this.#apps.at(-1) as App;
    const real = shared ? port : freePort(app, host, port);
    this.#sockets = listenOn(app, host, real);
    const [first] = this.#sockets;
    if (!first) throw new Error(TAKEN);
    this.#bound = { host, port: uws.us_socket_local_port(first) };
    return this.#bound.port;
  }

  stopListening(): void {
    for (const socket of this.#sockets) uws.us_listen_socket_close(socket);
    this.#sockets = [];
  }

  /**
   * A TLS context cannot change its certificate, and one for a server name would not apply to clients that connect by
   * address. So another app takes over the port, within one turn of the event loop.
   */
  prepareTls(files: TlsFiles): PreparedTls {
    const app = this.#createApp(files);
    return { commit: () => this.#takeOver(app), rollback: () => app.app.close() };
  }

  #takeOver(next: App): void {
    const before = this.#apps.at(-1) as App;
    if (this.#sockets.length === 0 || !this.#bound) throw new Error('the front does not listen');
    const sockets = listenOn(next.app, this.#bound.host, this.#bound.port);
    if (sockets.length === 0) {
      next.app.close();
      throw new Error('the port could not be bound again');
    }
    this.stopListening();
    this.#sockets = sockets;
    this.#apps.push(next);
    this.#dropIfIdle(before);
  }

  /** Closes an app that no longer listens after its last connection. Not at once: that connection is just being closed. */
  #dropIfIdle(entry: App): void {
    if (entry.open > 0 || entry === this.#apps.at(-1)) return;
    setImmediate(() => {
      if (!this.#apps.includes(entry)) return;
      this.#apps = this.#apps.filter((other) => other !== entry);
      entry.app.close();
    });
  }

  close(): void {
    this.stopListening();
    const apps = this.#apps;
    this.#apps = [];
    for (const { app } of apps) app.close();
  }

  #createApp(tls: TlsFiles | null): App {
    const { maxUrlBytes, responded, ciphers } = this.#options;
    const app = tls ? sslApp(tls, ciphers) : uws.App();
    const entry: App = { app, open: 0 };
    const handle = (res: HttpResponse, req: HttpRequest): void => {
      const exchange = new UwsExchange(
        res,
        req,
        this.#read(req),
        this.#mustLeave(res),
        responded,
        this.#deadlinesOf,
      );
      try {
        const pending = this.#handler(exchange);
        if (pending) exchange.respondLater(pending);
      } catch {
        exchange.respond(BROKEN);
      }
    };
    app.filter((res, count) => this.#count(entry, res, Number(count)));
    for (const [path, { headers, body, status, route }] of this.#fixed) {
      const [name, value] = inOneHeader(headers);
      app.get(path, (res, req) => {
        const head = this.#read(req);
        // Everything else goes to the handler.
        if (head.isLast || head.refusal('GET')) return handle(res, req);
        if (path.length + (req.getQuery()?.length ?? 0) > maxUrlBytes) return handle(res, req);
        if (this.#mustLeave(res)) return handle(res, req);
        res.writeHeader(name, value);
        res.end(body);
        responded(route, status);
      });
    }
    // One catch-all route: the front's router decides, so that all engines behave alike.
    app.any('/*', handle);
    return entry;
  }

  /** A connection was opened (1) or closed (-1). Nothing is known about a closed one, not even its address. */
  #count(entry: App, res: HttpResponse, change: number): void {
    entry.open += Math.sign(change);
    if (change < 0) this.#dropIfIdle(entry);
    const { connections, tls } = this.#options;
    if (change < 0) {
      if (this.#refused > 0) this.#refused -= 1;
      else connections.left(null);
      return;
    }
    const crowd = connections.hasCrowd ? connections.refusalFor(res.getRemoteAddress()) : undefined;
    const refusal = crowd ?? connections.entered(null);
    if (!refusal) return;
    this.#refused += 1;
    // Before the TLS handshake a response is impossible.
    if (tls) res.close();
    else res.cork(() => writeRefusal(res, refusal));
  }

  readonly #deadlinesOf: BodyDeadlines = (timeoutMs) => {
    let deadlines = this.#deadlines.get(timeoutMs);
    if (!deadlines) {
      deadlines = new Deadlines(timeoutMs, (late) => late());
      this.#deadlines.set(timeoutMs, deadlines);
    }
    return deadlines;
  };

  #read(req: HttpRequest): RequestHead {
    this.#head.begin();
    req.forEach(this.#head.add);
    return this.#head;
  }

  #mustLeave(res: HttpResponse): boolean {
    const { connections } = this.#options;
    return connections.hasCrowd && connections.mustLeave(res.getRemoteAddress());
  }
}

/** The engine itself turns off versions below TLS 1.2, and BoringSSL has its own ciphers for TLS 1.3. */
function sslApp({ cert, key }: TlsFiles, ciphers: readonly string[]): TemplatedApp {
  try {
    return uws.SSLApp({
      cert_file_name: cert,
      key_file_name: key,
      ssl_ciphers: ciphers.join(':'),
    });
  } catch {
    // uWebSockets gives no reason. Main has checked that Node's OpenSSL can read the files.
    throw new Error(`BoringSSL cannot use the certificate ${cert} with the key ${key}`);
  }
}

/** @returns the port, which nobody else has. @throws Error */
function freePort(app: TemplatedApp, host: string, port: number): number {
  const socket = listenOnce(app, host, port, EXCLUSIVE_PORT);
  if (!socket) throw new Error(TAKEN);
  const real = uws.us_socket_local_port(socket);
  uws.us_listen_socket_close(socket);
  return real;
}

/** @returns the sockets that listen; none when the port is taken or the address is not of this machine. */
function listenOn(app: TemplatedApp, host: string, port: number): us_listen_socket[] {
  const sockets: us_listen_socket[] = [];
  let on = port;
  while (sockets.length < QUEUES) {
    const socket = listenOnce(app, host, on, SHARED_PORT);
    if (!socket) break;
    on = uws.us_socket_local_port(socket);
    sockets.push(socket);
  }
  return sockets;
}

function listenOnce(
  app: TemplatedApp,
  host: string,
  port: number,
  options: number,
): us_listen_socket | undefined {
  let socket: us_listen_socket | undefined;
  // The types lack listen() with both a host and options.
  const untyped = app as unknown as {
    listen(
      host: string,
      port: number,
      options: number,
      bound: (socket: us_listen_socket | false) => void,
    ): void;
  };
  untyped.listen(host, port, options, (bound) => {
    socket = bound || undefined;
  });
  return socket;
}

function writeRefusal(res: HttpResponse, { status, headers, body }: Response): void {
  res.writeStatus(statusLine(status));
  writeHeaders(res, headers);
  res.end(body, true);
}

export const uwsEngine: EngineKind = {
  knowsAddresses: false,
  writeSizes: () => WRITE_SIZES,
  sharesWrites: false,
  create: (handler, fixed, options) => new UwsEngine(handler, fixed, options),
};
