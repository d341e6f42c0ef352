import type { BotSnapshot } from '../../shared/contract/events.js';
import type { SnapshotMirror } from '../bots/snapshot-mirror.js';
import type { Views } from './views.js';

/** Interval of polling, in ms. The ring has only one doorbell, and the streams use it. */
const LOOK_MS = 5;
/**
 * Longest wait, in ms; then the call is answered anyway. A block reaches the stream of the cluster within some 30 ms.
 */
const GIVE_UP_MS = 1000;

type Shows = (mirror: SnapshotMirror) => boolean;

/**
 * Runs in a front thread. Waits until the stream of the cluster shows what a call has changed: a client that reads after its call was
 * answered finds the change, on each front of this node. At most a second, and not while the node is cut off.
 */
export class ClusterCatchUp {
  readonly #views: Pick<Views, 'cluster' | 'isCurrent'>;

  constructor(views: Pick<Views, 'cluster' | 'isCurrent'>) {
    this.#views = views;
  }

  /** Waits until the stream shows the bot as it was when the call was answered, or later. */
  bot(after: BotSnapshot): Promise<void> {
    return this.#until((mirror) => {
      const shown = mirror.get(after.id)?.snapshot;
      return shown !== undefined && isAsNew(shown, after);
    });
  }

  /** Waits until the stream does not show these bots any more. */
  gone(ids: readonly string[]): Promise<void> {
    return this.#until((mirror) => ids.every((id) => mirror.get(id) === undefined));
  }

  async #until(shows: Shows): Promise<void> {
    const { cluster } = this.#views;
    if (!cluster) return;
    const end = performance.now() + GIVE_UP_MS;
    while (this.#views.isCurrent && !cluster.isClosed && performance.now() < end) {
      if (cluster.mirror.sync() && shows(cluster.mirror)) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

/** Compares only fields that do not change while a bot runs. */
function isAsNew(shown: BotSnapshot, after: BotSnapshot): boolean {
  const [term, wanted] = [shown.term ?? 0, after.term ?? 0];
  if (term !== wanted) return term > wanted;
  return (
    shown.since_ms >= after.since_ms &&
    shown.desired === after.desired &&
    JSON.stringify(shown.labels) === JSON.stringify(after.labels)
  );
}
