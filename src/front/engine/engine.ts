// Imported by the front. Owns the interface between the front and the HTTP server below it: small enough that any server
// can stand behind it. uws.ts and node.ts are the two that there are; docs/ENGINES.md says where they differ.

import type { BodyShare } from '../body-room.js';
import type { InFlightSlot } from '../in-flight-limiter.js';

/** A whole response. */
export interface Response {
  status: number;
  /** Names and values in turn. Content-Length is the engine's. */
  headers: readonly string[];
  body: string | Uint8Array;
  /** Close the connection after it: what is still to come on it cannot be trusted or is not wanted. */
  close?: boolean;
}

/** One request and the way to answer it. */
export interface Exchange {
  /** In upper case, as sent. */
  readonly method: string;
  /** Raw path, before any `?`. */
  readonly path: string;
  /** Raw query, without the `?`. */
  readonly query: string;
  /** The client has gone; answers are dropped. */
  readonly aborted: boolean;
  /** Address of the client, in text. */
  readonly address: string;
  /** The front's own: its place among the requests of its route. */
  slot: InFlightSlot | undefined;
  /** The front's own: the number of its route, for {@link EngineOptions.responded}. 0 until it is known. */
  route: number;
  /** A header's value, '' when there is none. `name` in lower case. Only before the handler's first await. */
  header(name: string): string;
  /**
   * The whole body. To be called before the handler's first await.
   * @param share is asked about each piece.
   * @throws DroverError `too_large` above `maxBytes`, `timeout` after `timeoutMs`, or when the client goes; what `share`
   * throws.
   */
  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array>;
  /**
   * Aborted when the client goes before it is answered. To be asked for before the handler's first await, or behind the
   * body.
   */
  gone(): AbortSignal;
  /** Answers. A HEAD request gets the same without the body. Nothing happens when the client has gone. */
  respond(response: Response): void;
  /**
   * Begins an answer without an end, status 200.
   * @param closed is called once, when the client has gone or the stream was closed, but not after end().
   */
  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink;
}

/** The sending end of an open stream. */
export interface StreamSink {
  /**
   * Sends all of it, at most 64 KiB; up to {@link EngineKind.maxWriteBytes} is best. The bytes are copied or sent before
   * this returns. One array object always stands for the same bytes: an engine may keep what it has made of the last.
   * @returns false when the client does not keep up: send nothing more until `writable` is called.
   */
  write(bytes: Uint8Array): boolean;
  /** Ends the stream as the protocol ends a complete answer. */
  end(): void;
  /** Cuts the connection. */
  close(): void;
}

/** Handles a request. A rejection is a fault of the front's own and is answered with 500. */
export type Handler = (exchange: Exchange) => void | Promise<void>;

/** An HTTP server. */
export interface Engine {
  /**
   * Binds host and port.
   * @param shared lets other fronts bind the same port; otherwise a port that is taken in any way is refused.
   * @returns the real port. @throws Error when it cannot be bound.
   */
  listen(host: string, port: number, shared: boolean): Promise<number>;
  /** Accepts no more connections. */
  stopListening(): void;
  /**
   * Reads another certificate and its key. Nothing changes by it.
   * @throws Error when they cannot be used.
   */
  prepareTls(files: TlsFiles): PreparedTls;
  /** Closes every connection, once what was written to it is sent, and at once where a client does not take it. */
  close(): void;
}

/** One that is always the same. */
export interface FixedResponse extends Response {
  route: number;
}

/** By path: what a GET without `Transfer-Encoding`, of at most `maxUrlBytes`, is always answered with, status 200. The engine may do so by itself. */
export type FixedResponses = ReadonlyMap<string, FixedResponse>;

/** Counts connections and refuses those that are too many. */
export interface ConnectionGate {
  /**
   * @param address null where the engine does not know it again at the end: then it counts in total only.
   * @returns the answer that the connection is to be closed with, and then {@link left} is not to be called for it.
   */
  entered(address: string | null): Response | undefined;
  left(address: string | null): void;
  /** Where nobody has too many, which is nearly always, the two below need not be asked. */
  readonly hasCrowd: boolean;
  /** The answer that a connection from this address is to be closed with; it is not to be counted then. */
  refusalFor(address: ArrayBuffer): Response | undefined;
  /** Whether a connection from this address is to be closed with its next answer. */
  mustLeave(address: ArrayBuffer): boolean;
}

/** A certificate and its key that are read and can be used. One of the two is to be called, once. */
export interface PreparedTls {
  /**
   * Uses them for connections that come from now on; those that are open stay as they are.
   * @throws Error when that cannot be: then nothing has changed.
   */
  commit(): void;
  rollback(): void;
}

/** Paths of PEM files. */
export interface TlsFiles {
  cert: string;
  key: string;
}

/** What an engine is to hold to. Times in ms. docs/ENGINES.md says what an engine has of its own instead. */
export interface EngineOptions {
  /** Counts an answer, or the beginning of a stream; called for each, with its exchange's route. */
  responded: (route: number, status: number) => void;
  tls: TlsFiles | null;
  connections: ConnectionGate;
  /** Longest path with its query that gets a fixed answer; the handler refuses what is longer. */
  maxUrlBytes: number;
  /** Request line and headers together. */
  maxHeaderBytes: number;
  /** How long a request's head may take, and a connection that has sent nothing. */
  headerTimeoutMs: number;
  /** How long a body may take that no handler reads. */
  bodyTimeoutMs: number;
  /** How long a connection stays open between two requests, and an answer that is not taken. */
  idleTimeoutMs: number;
}

/** One of the engines that there are. */
export interface EngineKind {
  /** Whether it knows of a connection that has gone whose it was; else {@link ConnectionGate.refusalFor} has to be asked. */
  readonly knowsAddresses: boolean;
  /** The most bytes that one write to a stream sends in one piece. */
  readonly maxWriteBytes: number;
  /** Makes an engine that answers every request with `handler`, which knows the fixed answers too. */
  create(handler: Handler, fixed: FixedResponses, options: EngineOptions): Engine;
}
