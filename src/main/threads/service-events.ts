import type { Level } from '../../shared/contract/event-kinds.js';
import type { BotSnapshot, Item, MainItem } from '../../shared/contract/events.js';
import { messageJson } from '../../shared/contract/line-text.js';
import type { BroadcasterPeer, LastLine } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';

/** A log line of the service. @param session the bot that it is about, null for none. */
export function logItem(
  level: Level,
  scope: string,
  message: string,
  session: string | null = null,
): Item {
  return {
    kind: 'log',
    timestamp_ms: Date.now(),
    level,
    scope,
    session_id: session,
    transport: null,
    direction: null,
    message_json: messageJson(message),
  };
}

/** A change of a bot's snapshot. */
export function sessionItem(id: string, patch: Partial<BotSnapshot>): Item {
  return { kind: 'session', id, patch };
}

/** The channel to the present broadcaster. */
export interface EventSink {
  /** The present broadcaster. It may be lost already, or not restored yet. Messages to a lost one are lost too. */
  readonly peer: BroadcasterPeer;
  /** Resolves with a broadcaster that has been restored. */
  readonly ready: Promise<BroadcasterPeer>;
}

/** Items that a message to the broadcaster has at most: it holds up the lines of the hosts while it publishes them. */
const BATCH_ITEMS = 256;

/** Items that share a message. */
interface Gathered {
  items: MainItem[];
  head: Deferred<number>;
}

/**
 * Runs in main. Owns the items that main publishes in this turn of its loop: they share a message to the broadcaster, because
 * thousands of bots may be created or started at once.
 */
export class ServiceEvents {
  readonly #sink: EventSink;
  /** Sent at the end of the turn, or when it has {@link BATCH_ITEMS}. */
  #gathered: Gathered | undefined;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /**
   * Resolves with the ring's head when the items are on the ring: a request to a front after that sees them. When the
   * broadcaster is lost meanwhile, so are the lines, which its successor declares; this resolves when that one is ready.
   */
  publish(...items: MainItem[]): Promise<number> {
    const gathered = this.#gathered ?? this.#begin();
    for (const item of items) gathered.items.push(item);
    if (gathered.items.length >= BATCH_ITEMS) this.#send();
    return gathered.head.promise;
  }

  /** The last lines of these bots, oldest first; none when the broadcaster is lost meanwhile. */
  async lastLines(bots: string[]): Promise<LastLine[]> {
    this.#send();
    const broadcaster = await this.#sink.ready;
    return broadcaster.call('lastLines', { bots }).then(
      ({ lines }) => lines,
      () => [],
    );
  }

  /** A bot as the stream shows it, after everything until now. @throws DroverError when the broadcaster is lost meanwhile. */
  async snapshot(bot: string): Promise<BotSnapshot | null> {
    this.#send();
    const broadcaster = await this.#sink.ready;
    return (await broadcaster.call('snapshot', { bot })).snapshot;
  }

  /** Publishes without waiting, at once: what is asked of a host after this has its lines after these. */
  tell(...items: MainItem[]): void {
    // It rejects only because of a faulty item, and no caller waits for it.
    this.publish(...items).catch(() => {});
    this.#send();
  }

  #begin(): Gathered {
    const gathered: Gathered = { items: [], head: new Deferred() };
    this.#gathered = gathered;
    setImmediate(() => {
      if (this.#gathered === gathered) this.#send();
    });
    return gathered;
  }

  #send(): void {
    const gathered = this.#gathered;
    if (!gathered) return;
    this.#gathered = undefined;
    gathered.head.resolve(this.#publish(gathered.items));
  }

  async #publish(items: MainItem[]): Promise<number> {
    for (;;) {
      const broadcaster = await this.#sink.ready;
      try {
        const { head } = await broadcaster.call('publish', { items });
        return head;
      } catch (thrown) {
        if (!(thrown instanceof DroverError) || thrown.code !== 'unavailable') throw thrown;
        // Only lines are dropped: a lost `deleted` would leave a bot on the stream for good, and nobody would notice a lost alert.
        items = items.filter(({ kind }) => kind !== 'log');
      }
    }
  }
}
