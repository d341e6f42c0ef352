// A filtered stream with few events that the bench itself reads.

import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** An event, and when it came by performance.now(). */
export interface Probed {
  at: number;
  /** Its sequence number. */
  seq: number;
  message: EventSourceMessage;
}

export class Probe {
  readonly events: Probed[] = [];
  readonly #abort = new AbortController();
  #waiting: (() => void) | undefined;

  /** @param path with the filter, such as `/events?snapshot=0&scope=dispatch`. */
  static async open(url: string, path: string, authorization: string): Promise<Probe> {
    const probe = new Probe();
    const response = await fetch(url + path, {
      headers: { authorization },
      signal: probe.#abort.signal,
    });
    if (!response.ok || response.body === null) {
      throw new Error(`${path} was answered ${response.status}`);
    }
    void probe.#read(response.body).catch(() => {});
    return probe;
  }

  /** The next event that was not there when this was called. @throws Error when none comes. */
  next(withinMs: number): Promise<Probed> {
    return this.after(1, withinMs);
  }

  /**
   * The last of the `count` events that come after this call and that `isWanted`. One call at a time.
   * @throws Error when they do not come.
   */
  async after(
    count: number,
    withinMs: number,
    isWanted: (probed: Probed) => boolean = () => true,
  ): Promise<Probed> {
    const from = this.events.length;
    const wanted = (): Probed[] => this.events.slice(from).filter(isWanted);
    return new Promise<Probed>((resolve, reject) => {
      const timer = setTimeout(() => {
        const came = wanted().length;
        reject(new Error(`${came} of ${count} events came within ${withinMs / 1000} s`));
      }, withinMs);
      this.#waiting = () => {
        const last = wanted()[count - 1];
        if (!last) return;
        this.#waiting = undefined;
        clearTimeout(timer);
        resolve(last);
      };
    });
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: (message) => {
        const seq = Number(message.id?.split('-')[1] ?? Number.NaN);
        this.events.push({ at: performance.now(), seq, message });
        this.#waiting?.();
      },
    });
    for await (const bytes of body) parser.feed(decoder.decode(bytes, { stream: true }));
  }
}
