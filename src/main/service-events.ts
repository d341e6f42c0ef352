import type { Level } from '../shared/contract/event-kinds.js';
import type { BotSnapshot, Item } from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import type { Rpc } from '../shared/contract/rpc.js';
import type { BroadcasterMethods } from '../shared/contract/threads.js';
import { DroverError } from '../shared/errors.js';

/** The application-level scope (interface-seed §2.5). */
export const SERVICE_SCOPE = 'drover';

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

export type BroadcasterPeer = Rpc<never, BroadcasterMethods>;

/** The channel to the present broadcaster. */
export interface EventSink {
  /** The present one. It may be lost already, or not restored yet. What a lost one is told is lost too. */
  readonly peer: BroadcasterPeer;
  /** Resolves with one that has been restored. */
  readonly ready: Promise<BroadcasterPeer>;
}

export class ServiceEvents {
  readonly #sink: EventSink;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /**
   * Resolves with the ring's head when the items are on the ring: a request to a front after that sees them. When the
   * broadcaster is lost meanwhile, so are the lines, which its successor declares; this resolves when that one is ready.
   */
  async publish(...items: Item[]): Promise<number> {
    for (;;) {
      const broadcaster = await this.#sink.ready;
      try {
        const { head } = await broadcaster.call('publish', { items });
        return head;
      } catch (thrown) {
        if (!(thrown instanceof DroverError) || thrown.code !== 'unavailable') throw thrown;
        // States are published again: a lost `deleted` would leave a bot on the stream for good.
        items = items.filter(({ kind }) => kind === 'session');
      }
    }
  }

  /** The last lines of these bots, oldest first; none when the broadcaster is lost meanwhile. */
  async lastLines(bots: string[]): Promise<string[]> {
    const broadcaster = await this.#sink.ready;
    return broadcaster.call('lastLines', { bots }).then(
      ({ lines }) => lines,
      () => [],
    );
  }

  /** Publishes without waiting. */
  tell(...items: Item[]): void {
    // It rejects only because of a faulty item, and no caller waits for it.
    this.publish(...items).catch(() => {});
  }
}
