import type { ActionOutcome } from '../shared/contract/bots.js';
import type { BotSnapshot } from '../shared/contract/events.js';
import type { BOTS_QUERY } from '../shared/contract/queries.js';
import { reaches } from '../shared/contract/rights.js';
import type { Reach } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';
import { queryPairs } from './query-string.js';
import type { SnapshotMirror } from './snapshot-mirror.js';

/** Snapshots as REST shows them. To be called when the mirror is current. */
export class BotList {
  readonly #mirror: SnapshotMirror;
  #version = -1;
  #body: Uint8Array = new Uint8Array();

  constructor(mirror: SnapshotMirror) {
    this.#mirror = mirror;
  }

  /** @throws DroverError `not_found`, also if the bot exists but `reach` excludes it. */
  one(id: string, reach: Reach): string {
    const session = this.#mirror.get(id);
    if (!session || !reaches(reach, id, session.snapshot.labels)) {
      throw new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
    }
    return JSON.stringify(session.snapshot);
  }

  /** Replaces the statuses by those of the mirror: main does not know the status of a running bot. */
  withStatuses(results: Record<string, ActionOutcome>): Record<string, ActionOutcome> {
    const current = Object.entries(results).map(([id, outcome]): [string, ActionOutcome] => {
      const shown = 'status' in outcome ? this.#mirror.get(id)?.snapshot : undefined;
      return [id, shown ? { status: shown.status } : outcome];
    });
    return Object.fromEntries(current);
  }

  /** `?status=` and `?kind=`, each repeated or comma-separated. */
  list(query: string, reach: Reach): Uint8Array {
    const pairs = queryPairs(query);
    const statuses = wanted(pairs, 'status');
    const kinds = wanted(pairs, 'kind');
    if (!statuses && !kinds && reach === null) {
      if (this.#version !== this.#mirror.version) {
        this.#body = this.#build(() => true);
        this.#version = this.#mirror.version;
      }
      return this.#body;
    }
    return this.#build(
      ({ id, status, kind, labels }) =>
        (statuses?.has(status) ?? true) && (kinds?.has(kind) ?? true) && reaches(reach, id, labels),
    );
  }

  #build(matches: (snapshot: Shown) => boolean): Uint8Array {
    const shown: string[] = [];
    for (const { snapshot, eventJson } of this.#mirror.all()) {
      // A session event is `{"snapshot":…}`.
      if (matches(snapshot)) shown.push(eventJson.slice('{"snapshot":'.length, -1));
    }
    return Buffer.from(`{"bots":[${shown.join(',')}]}`);
  }
}

type Shown = Pick<BotSnapshot, 'id' | 'status' | 'kind' | 'labels'>;

function wanted(
  pairs: readonly (readonly [string, string])[],
  name: keyof typeof BOTS_QUERY,
): Set<string> | undefined {
  const values = pairs.filter(([key]) => key === name).flatMap(([, value]) => value.split(','));
  return values.length === 0 ? undefined : new Set(values);
}
