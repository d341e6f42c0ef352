// Runs in a front thread. Owns which streams are open by which token, so that they end with it.

/** Closes one stream. */
type Close = () => void;

export class TokenStreams {
  readonly #byToken = new Map<string, Set<Close>>();

  /** @returns what is to be called when the stream is gone. */
  add(token: string, close: Close): () => void {
    const streams = this.#byToken.get(token) ?? new Set();
    this.#byToken.set(token, streams.add(close));
    return () => {
      streams.delete(close);
      if (streams.size === 0 && this.#byToken.get(token) === streams) this.#byToken.delete(token);
    };
  }

  /** Closes all streams of a token. */
  end(token: string): void {
    for (const close of [...(this.#byToken.get(token) ?? [])]) close();
  }
}
