import type { StreamSink } from '../engine/engine.js';

/** Runs in a front thread. Owns the open streams by token, so that they are closed with it. */
export class TokenStreams {
  readonly #byToken = new Map<string, Set<StreamSink>>();

  add(token: string, sink: StreamSink): void {
    const streams = this.#byToken.get(token) ?? new Set();
    this.#byToken.set(token, streams.add(sink));
  }

  /** Forgets a stream that has closed. */
  remove(token: string, sink: StreamSink): void {
    const streams = this.#byToken.get(token);
    streams?.delete(sink);
    if (streams?.size === 0) this.#byToken.delete(token);
  }

  /** Ids of the tokens that have an open stream. */
  tokens(): Iterable<string> {
    return this.#byToken.keys();
  }

  /** Cuts all streams of a token. */
  end(token: string): void {
    // A copy: each is removed when it is closed.
    for (const sink of [...(this.#byToken.get(token) ?? [])]) sink.close();
  }
}
