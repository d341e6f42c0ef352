import type { ActionOutcome } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import { reaches } from '../../shared/contract/rights.js';
import type { QueryOf } from '../../shared/contract/routes/table.js';
import type { Reach } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { BotOrder } from './bot-order.js';
import type { Snapshots } from './own-bots.js';
import type { MirroredSession, SnapshotMirror } from './snapshot-mirror.js';

/** Snapshots as REST shows them. To be called when the mirror is current. */
export class BotList {
  readonly #mirror: SnapshotMirror;
  #version = -1;
  #body: Uint8Array = new Uint8Array();
  #members = -1;
  #ids: readonly string[] = [];

  constructor(mirror: SnapshotMirror) {
    this.#mirror = mirror;
  }

  /**
   * @param snapshots other ones than those of the mirror (Views.whenCurrent).
   * @throws DroverError `not_found`, also if the bot exists but `reach` excludes it.
   */
  one(id: string, reach: Reach, snapshots: Snapshots = this.#mirror): string {
    const session = snapshots.get(id);
    if (!session) throw noBot(id);
    return shownBot(session.snapshot, reach);
  }

  /** Replaces the statuses by those of the mirror: main does not know the status of a running bot. */
  withStatuses(results: Record<string, ActionOutcome>): Record<string, ActionOutcome> {
    const current = Object.entries(results).map(([id, outcome]): [string, ActionOutcome] => {
      const shown = 'status' in outcome ? this.#mirror.get(id)?.snapshot : undefined;
      return [id, shown ? { status: shown.status } : outcome];
    });
    return Object.fromEntries(current);
  }

  /**
   * With `?sort=` in this order; with `?limit=` a page.
   * @param snapshots other ones than those of the mirror (Views.whenCurrent).
   * @param selected ids of those that the request selects; undefined for all.
   * @throws DroverError `bad_request`.
   */
  list(
    { limit, cursor, sort }: Pick<QueryOf<'GET /api/bots'>, 'limit' | 'cursor' | 'sort'>,
    reach: Reach,
    snapshots: Snapshots = this.#mirror,
    selected?: ReadonlySet<string>,
  ): Uint8Array {
    if (limit === undefined && cursor !== undefined) {
      throw new DroverError('bad_request', 'cursor needs limit: without it all bots are returned');
    }
    const isAll = !selected && reach === null && snapshots === this.#mirror;
    if (isAll && limit === undefined && sort === undefined) {
      if (this.#version !== this.#mirror.version) {
        this.#body = this.#build(snapshots, () => true);
        this.#version = this.#mirror.version;
      }
      return this.#body;
    }
    const matches: Matches = (bot) =>
      (selected?.has(bot.id) ?? true) && reaches(reach, bot.id, bot.labels);
    if (sort !== undefined) return ordered(new BotOrder(sort), snapshots, matches, limit, cursor);
    return limit === undefined
      ? this.#build(snapshots, matches)
      : this.#page(snapshots, matches, limit, cursor);
  }

  #build(snapshots: Snapshots, matches: Matches): Uint8Array {
    const shown: string[] = [];
    for (const session of snapshots.all()) {
      if (matches(session.snapshot)) shown.push(snapshotJson(session));
    }
    return Buffer.from(`{"bots":[${shown.join(',')}]}`);
  }

  /** Pages are ordered by id, because the order of appearance differs between nodes, and after a restart. */
  #page(
    snapshots: Snapshots,
    matches: Matches,
    limit: number,
    after: string | undefined,
  ): Uint8Array {
    const ids = snapshots === this.#mirror ? this.#sorted() : [...snapshots.ids()].sort();
    const shown: string[] = [];
    let last: string | undefined;
    let isMore = false;
    for (let at = after === undefined ? 0 : firstAfter(ids, after); at < ids.length; at++) {
      const session = snapshots.get(ids[at] as string);
      if (!session || !matches(session.snapshot)) continue;
      if (shown.length === limit) {
        isMore = true;
        break;
      }
      shown.push(snapshotJson(session));
      last = session.snapshot.id;
    }
    return pageJson(shown, isMore ? (last ?? null) : null);
  }

  /** All ids in order. Sorted again only when bots came or went. */
  #sorted(): readonly string[] {
    if (this.#members !== this.#mirror.members) {
      this.#ids = [...this.#mirror.ids()].sort();
      this.#members = this.#mirror.members;
    }
    return this.#ids;
  }
}

type Matches = (snapshot: BotSnapshot) => boolean;

/** @throws DroverError `not_found` if `reach` excludes it: the same as if it did not exist. */
export function shownBot(snapshot: BotSnapshot, reach: Reach): string {
  if (!reaches(reach, snapshot.id, snapshot.labels)) throw noBot(snapshot.id);
  return JSON.stringify(snapshot);
}

function noBot(id: string): DroverError {
  return new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
}

/** @param limit undefined for all, which is no page. */
function ordered(
  order: BotOrder,
  snapshots: Snapshots,
  matches: Matches,
  limit: number | undefined,
  cursor: string | undefined,
): Uint8Array {
  const found = [...snapshots.all()].filter(({ snapshot }) => matches(snapshot));
  const { bots, next } = order.page(found, limit, cursor);
  const shown = bots.map(snapshotJson);
  return limit === undefined ? Buffer.from(`{"bots":[${shown.join(',')}]}`) : pageJson(shown, next);
}

function pageJson(shown: readonly string[], next: string | null): Uint8Array {
  return Buffer.from(`{"bots":[${shown.join(',')}],"next":${JSON.stringify(next)}}`);
}

function snapshotJson({ eventJson }: MirroredSession): string {
  // A session event is `{"snapshot":…}`.
  return eventJson.slice('{"snapshot":'.length, -1);
}

/** Index of the first id that comes after this one. */
function firstAfter(ids: readonly string[], after: string): number {
  let from = 0;
  let to = ids.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ids[middle] as string) <= after) from = middle + 1;
    else to = middle;
  }
  return from;
}
