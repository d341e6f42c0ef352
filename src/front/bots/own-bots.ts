import type { MirroredSession, SnapshotMirror } from './snapshot-mirror.js';

/** Snapshots of bots by id. */
export type Snapshots = Pick<SnapshotMirror, 'get' | 'all' | 'ids'>;

/**
 * Runs in a front thread. The bots of the cluster as a node shows them that is cut off: its own as they are now, which its own stream
 * knows, and the others as they were.
 */
export class OwnBots implements Snapshots {
  readonly #cluster: Snapshots;
  readonly #own: Snapshots;

  constructor(cluster: Snapshots, own: Snapshots) {
    this.#cluster = cluster;
    this.#own = own;
  }

  get(id: string): MirroredSession | undefined {
    const shared = this.#cluster.get(id);
    const own = this.#own.get(id);
    if (!shared || !own) return own ?? shared;
    // A bot that has moved to another node has a higher term there.
    return (own.snapshot.term ?? Infinity) >= (shared.snapshot.term ?? 0) ? own : shared;
  }

  *ids(): IterableIterator<string> {
    yield* this.#cluster.ids();
    for (const id of this.#own.ids()) if (!this.#cluster.get(id)) yield id;
  }

  *all(): IterableIterator<MirroredSession> {
    for (const id of this.ids()) yield this.get(id) as MirroredSession;
  }
}
