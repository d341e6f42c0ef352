import { createServer } from 'node:net';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { Engine, PreparedTls, TlsFiles } from '../engine/engine.js';

/** How to bind the port. */
export interface ListenRequest {
  port: number;
  /** Other fronts bind the same port. */
  shared: boolean;
  /** Bind it exclusively first: another process that shares the port too would otherwise go unnoticed. */
  probe: boolean;
}

/**
 * Runs in a front thread. Owns the listening address and the certificate that is prepared for it. Its errors are
 * `internal`: clients never see them, and only a DroverError keeps its message on the way to the operator.
 */
export class Listener {
  readonly #engine: Engine;
  readonly #host: string;
  readonly #explain: typeof listenFault;
  #port = 0;
  #nextTls: PreparedTls | undefined;

  /** @param explain finds the reason why an address cannot be bound. */
  constructor(engine: Engine, host: string, explain = listenFault) {
    this.#engine = engine;
    this.#host = host;
    this.#explain = explain;
  }

  /** The port that clients use; 0 before {@link listen}. */
  get port(): number {
    return this.#port;
  }

  /** @returns the real port. @throws DroverError `internal` with the reason. */
  async listen({ port, shared, probe }: ListenRequest): Promise<number> {
    const engine = this.#engine;
    try {
      if (probe) {
        this.#port = await engine.listen(this.#host, port, false);
        if (shared) engine.stopListening();
      }
      if (!probe || shared) {
        this.#port = await engine.listen(this.#host, probe ? this.#port : port, shared);
      }
    } catch (thrown) {
      const reason = (await this.#explain(this.#host, port)) ?? messageOf(thrown);
      throw new DroverError('internal', reason);
    }
    return this.#port;
  }

  /** Loads a certificate for {@link commitTls}; one that was prepared before is dropped. @throws DroverError `internal`. */
  prepareTls(files: TlsFiles): void {
    this.rollbackTls();
    this.#nextTls = internally(() => this.#engine.prepareTls(files));
  }

  /** Uses the prepared certificate for new connections. @throws DroverError `internal`; then the old one stays. */
  commitTls(): void {
    const prepared = this.#nextTls;
    this.#nextTls = undefined;
    internally(() => prepared?.commit());
  }

  /** Drops the prepared certificate. */
  rollbackTls(): void {
    this.#nextTls?.rollback();
    this.#nextTls = undefined;
  }

  stop(): void {
    this.#engine.stopListening();
  }

  close(): void {
    this.rollbackTls();
    this.#engine.close();
  }
}

function internally<T>(task: () => T): T {
  try {
    return task();
  } catch (thrown) {
    throw new DroverError('internal', messageOf(thrown));
  }
}

/** Explanations by error code. */
const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'the address is not of this machine',
  EINVAL: 'the address is not of this machine',
  EACCES: 'this user may not listen on the port',
  ENOTFOUND: 'the host name cannot be resolved',
  EAI_AGAIN: 'the host name cannot be resolved',
};

/**
 * Finds the reason why an address cannot be bound, by trying it: engines do not report one.
 * @returns undefined if it works this time.
 */
export function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = '', message }: NodeJS.ErrnoException) =>
      resolve(WORDS[code] ?? message),
    );
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
