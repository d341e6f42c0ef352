// Runs in main. Owns the events that the service itself puts on the stream.

import type { Level } from '../shared/contract/event-kinds.js';
import type { BotSnapshot, Item } from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import type { Rpc } from '../shared/contract/rpc.js';
import type { BroadcasterMethods } from '../shared/contract/threads.js';
import { DroverError } from '../shared/errors.js';

/** The application-level scope (interface-seed §2.5). */
export const SERVICE_SCOPE = 'drover';

/** A line of the service; `session` when it is about one bot. */
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

/** Where main's events go: to the broadcaster, whichever there is now. */
export interface EventSink {
  /** The present one. It may be dead already, or not restored yet: what is told to a dead one is lost. */
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
   * Resolves when the items are on the ring: whoever asks a front after this sees them. When the broadcaster dies over
   * it they are part of the loss that its successor declares, and this resolves when that one is ready.
   */
  async publish(...items: Item[]): Promise<number> {
    for (;;) {
      const broadcaster = await this.#sink.ready;
      try {
        const { head } = await broadcaster.call('publish', { items });
        return head;
      } catch (thrown) {
        if (!(thrown instanceof DroverError) || thrown.code !== 'unavailable') throw thrown;
        // The lines are part of the loss. States are not: a `deleted` that is lost would leave a bot on the stream for good.
        items = items.filter(({ kind }) => kind === 'session');
      }
    }
  }

  /** The last lines of these bots, oldest first; none when the broadcaster dies over it. */
  async lastLines(bots: string[]): Promise<string[]> {
    const broadcaster = await this.#sink.ready;
    return broadcaster.call('lastLines', { bots }).then(
      ({ lines }) => lines,
      () => [],
    );
  }

  /** Publishes without waiting. */
  tell(...items: Item[]): void {
    // What it can reject with is a fault of an item, and nobody waits for it.
    this.publish(...items).catch(() => {});
  }
}
