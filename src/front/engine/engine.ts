import type { DroverError } from '../../shared/errors.js';
import type { BodyShare } from './body-room.js';
import type { InFlightSlot } from './in-flight-limiter.js';

export interface Response {
  status: number;
  /** Names and values, alternating. The engine adds Content-Length. */
  headers: readonly string[];
  body: string | Uint8Array;
  /** Close the connection after the response: further bytes on it are not trusted or not wanted, and never answered. */
  close?: boolean;
}

/** One request and its response. The front knows the HTTP server only by this interface and {@link Engine}. */
export interface Exchange {
  /** In upper case, as sent. */
  readonly method: string;
  /** Raw path, before any `?`. */
  readonly path: string;
  /** Raw query, without the `?`. */
  readonly query: string;
  /** The client has disconnected; responses are dropped. */
  readonly aborted: boolean;
  readonly address: string;
  /** Why its head is refused, regardless of the route. The connection has to be closed then. */
  readonly refusal: DroverError | undefined;
  /** Set by the front: the request's place in the limiter of its route. */
  slot: InFlightSlot | undefined;
  /** Set by the front: the id of its token; undefined until it is known. */
  token: string | undefined;
  /** Set by the front: the number of its route, for {@link EngineOptions.responded}. 0 until it is known. */
  route: number;
  /** A header's value, '' when there is none. `name` in lower case. Only before the handler's first await. */
  header(name: string): string;
  /** The values of all headers of this name, in their order. Otherwise like {@link header}. */
  headers(name: string): string[];
  /**
   * The whole body. To be called before the handler's first await.
   * @param share accounts for each piece.
   * @throws DroverError `too_large` above `maxBytes`, `timeout` after `timeoutMs` or when the client disconnects; what
   * `share` throws.
   */
  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array>;
  /**
   * Aborts when the client disconnects before the response. To be called before the handler's first await, or after the
   * body.
   */
  gone(): AbortSignal;
  /** Calls `left` instead of aborting a signal, which costs several µs to make. For one listener, and as {@link gone} otherwise. */
  onGone(left: () => void): void;
  /** Sends the response; for HEAD without the body. Does nothing if the client has disconnected. */
  respond(response: Response): void;
  /**
   * Begins a response without an end, status 200.
   * @param closed is called once, when the client disconnects or the stream is closed, but not after end().
   */
  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink;
}

/** The sending end of an open stream. */
export interface StreamSink {
  /**
   * Sends bytes; {@link EngineKind.writeSizes} are best. They are copied or sent before this returns.
   * The same array object must always have the same bytes: an engine may cache what it derived from it.
   * @returns false on backpressure: send nothing more until `writable` is called.
   */
  write(bytes: Uint8Array): boolean;
  /** Ends the stream as a complete response. */
  end(): void;
  /** Cuts the connection. */
  close(): void;
}

/** Handles a request. A rejection is a bug and becomes 500. */
export type Handler = (exchange: Exchange) => void | Promise<void>;

/** An HTTP server. */
export interface Engine {
  /**
   * Binds host and port.
   * @param shared lets other fronts bind the same port; otherwise the port must be free.
   * @returns the real port. @throws Error if it cannot be bound.
   */
  listen(host: string, port: number, shared: boolean): Promise<number>;
  /** Accepts no more connections. */
  stopListening(): void;
  /**
   * Loads another certificate and its key, without using them yet.
   * @throws Error if they cannot be used.
   */
  prepareTls(files: TlsFiles): PreparedTls;
  /** Closes every connection after its written bytes are sent, and at once if the client does not read. */
  close(): void;
}

/** A response that never changes. */
export interface FixedResponse extends Response {
  route: number;
}

/** Responses, with status 200, by path. An engine may give them without the handler to a GET that it does not refuse, of at most `maxUrlBytes`. */
export type FixedResponses = ReadonlyMap<string, FixedResponse>;

/** Counts connections and refuses those above the limits. */
export interface ConnectionGate {
  /**
   * @param address null if the engine will not know it at the end: then it counts in total only.
   * @returns the response to close the connection with; do not call {@link left} for it then.
   */
  entered(address: string | null): Response | undefined;
  left(address: string | null): void;
  /** Whether any address is over its limit. If not, which is the usual case, the two methods below need not be called. */
  readonly hasCrowd: boolean;
  /** The response to close a connection from this address with; do not count it then. */
  refusalFor(address: ArrayBuffer): Response | undefined;
  /** Whether to close a connection from this address with its next response. */
  mustLeave(address: ArrayBuffer): boolean;
}

/** A loaded certificate. Call one of the methods, once. */
export interface PreparedTls {
  /**
   * Uses the certificate for new connections; open ones keep theirs.
   * @throws Error if that fails: then nothing has changed.
   */
  commit(): void;
  rollback(): void;
}

/** Paths of PEM files. */
export interface TlsFiles {
  cert: string;
  key: string;
}

/** Limits of an engine. Times in ms. docs/ENGINES.md says which limits an engine has instead. */
export interface EngineOptions {
  /** Called for each response and each start of a stream, with the exchange's route. */
  responded: (route: number, status: number) => void;
  tls: TlsFiles | null;
  /** Ciphers of TLS 1.2 by their OpenSSL names. TLS 1.3 is on, older versions are off. */
  ciphers: readonly string[];
  connections: ConnectionGate;
  /** Longest path with query that gets a fixed response; the handler refuses longer ones. */
  maxUrlBytes: number;
  /** Request line and headers together. */
  maxHeaderBytes: number;
  /** Limit for a request's head, and for a connection that has sent nothing. */
  headerTimeoutMs: number;
  /** Limit for a body that no handler reads. */
  bodyTimeoutMs: number;
  /** Limit between two requests, and for a response that the client does not read. */
  idleTimeoutMs: number;
}

export interface EngineKind {
  /** Whether it knows the address of a closed connection; otherwise it has to use {@link ConnectionGate.refusalFor}. */
  readonly knowsAddresses: boolean;
  /**
   * Sizes of writes to a stream, in bytes, ascending. The larger ones cost less per byte; what a blocked stream leaves in
   * the process is at most its last write.
   */
  writeSizes(tls: boolean): readonly number[];
  /** Whether streams that get the same array share what they buffer of it. */
  readonly sharesWrites: boolean;
  /** @param handler responds to every request, also to those of `fixed`. */
  create(handler: Handler, fixed: FixedResponses, options: EngineOptions): Engine;
}
