// Runs in a front thread. Owns the index of filters: the newest frames that each of them lets through.
//
// Each frame is examined once for all filters: its session, scope or node leads to the filters that name it. So the cost grows
// with what matches, and a filter costs nothing while nothing matches. A scan of the ring for each filter costs streams x
// events. The index covers the frames that the last call of examine() has examined, the window; for frames before it, which
// only a subscriber that is behind needs, its group scans the ring.

import type { NodeNames } from '../../shared/memory/node-names.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import type { Filter, FilterNames } from '../../shared/stream/filter.js';
import { KIND_CODE } from '../../shared/stream/frame.js';

/** Most frames of a window, so that a call does not block the front: some 0.2 ms. The next window has the rest. */
const MAX_EXAMINED = 8192;
/**
 * Most hits of a window, a hit being a frame for a filter; 4 bytes each. When they are used up the window ends early, and the
 * next one has the rest. Also the most filters: the hits of one frame must fit a window. Further filters scan the ring.
 */
const MAX_HITS = 65_535;
/** Most names of all filters together, about 50 bytes each. A filter whose names do not fit scans the ring. */
const MAX_NAMES = 262_144;

export interface FilterIndexBounds {
  examined: number;
  hits: number;
  names: number;
}

/** A filter in the index. A hit is named by its number in the window; 0 is none. */
export class IndexedFilter {
  readonly #index: FilterIndex;
  readonly filter: Filter;
  /** Called when a frame passes, at the first one of a window. */
  readonly matched: () => void;
  /** The first frame that was examined with it. */
  readonly since: number;
  /** The window of its hits, and the first and the last of them. */
  window = 0;
  first = 0;
  last = 0;

  constructor(index: FilterIndex, filter: Filter, matched: () => void) {
    this.#index = index;
    this.filter = filter;
    this.matched = matched;
    this.since = index.examined;
  }

  /** Sequence number after the window. */
  get examined(): number {
    return this.#index.examined;
  }

  /** Whether the window has all hits from frame `from` on, and no frame from `head` on. */
  covers(from: number, head: number): boolean {
    return from >= this.since && from >= this.#index.from && head >= this.examined;
  }

  /** The first hit at or after frame `from`. */
  firstHit(from: number): number {
    let hit = this.window === this.#index.window ? this.first : 0;
    while (hit !== 0 && this.seqOf(hit) < from) hit = this.nextHit(hit);
    return hit;
  }

  /** The hit after this one. */
  nextHit(hit: number): number {
    return this.#index.nextHit(hit);
  }

  /** The sequence number of a hit's frame. */
  seqOf(hit: number): number {
    return this.#index.seqOf(hit);
  }
}

export class FilterIndex {
  readonly #reader: RingReader;
  readonly #bounds: FilterIndexBounds;
  readonly #filters = new Set<IndexedFilter>();
  // Filters by the low word of a name's hash as a signed integer: a Map takes larger numbers as objects. Filter.matches
  // compares both.
  readonly #bySession = new Map<number, IndexedFilter[]>();
  readonly #byScope = new Map<number, IndexedFilter[]>();
  readonly #byNode = new Map<string, IndexedFilter[]>();
  readonly #nodeNames: NodeNames | undefined;
  /** Filters without names. There are at most some hundred different ones: they differ in kinds and levels only. */
  readonly #unnamed: IndexedFilter[] = [];
  #names = 0;
  /** The number of the window, and its first frame. */
  #window = 0;
  #from = 0;
  #examined = 0;
  // For each hit, from 1 on: its frame's place in the window, and the next hit of the same filter, 0 after the last.
  #places = new Uint16Array();
  #following = new Uint16Array();
  #hits = 0;

  /** @param nodeNames of the stream, if its frames have nodes. */
  constructor(reader: RingReader, nodeNames?: NodeNames, bounds: Partial<FilterIndexBounds> = {}) {
    this.#reader = reader;
    this.#nodeNames = nodeNames;
    this.#bounds = { examined: MAX_EXAMINED, hits: MAX_HITS, names: MAX_NAMES, ...bounds };
  }

  /** The number of the window. */
  get window(): number {
    return this.#window;
  }

  /** Sequence number of the first frame of the window. */
  get from(): number {
    return this.#from;
  }

  /** Sequence number after the window. */
  get examined(): number {
    return this.#examined;
  }

  /** Adds a filter. @returns undefined if it must scan the ring: it cannot be judged at once, or the index is full. */
  add(filter: Filter, matched: () => void): IndexedFilter | undefined {
    // Labels may be known later than the frame is there, and a frame that is examined is not looked at again. A query reads
    // texts: each group does that in its own time.
    if (filter.isLabelled || filter.hasQuery || this.#filters.size >= this.#bounds.hits)
      return undefined;
    const names = filter.names;
    if (names && this.#names + names.values.length > this.#bounds.names) return undefined;
    if (this.#filters.size === 0) this.#begin();
    const indexed = new IndexedFilter(this, filter, matched);
    this.#filters.add(indexed);
    if (!names) {
      this.#unnamed.push(indexed);
      return indexed;
    }
    this.#names += names.values.length;
    this.#eachList(names, (list) => list.push(indexed));
    return indexed;
  }

  remove(indexed: IndexedFilter): void {
    if (!this.#filters.delete(indexed)) return;
    const { names } = indexed.filter;
    if (!names) {
      drop(this.#unnamed, indexed);
      return;
    }
    this.#names -= names.values.length;
    this.#eachList(names, (list) => drop(list, indexed));
  }

  /**
   * Examines the frames below `head` that were not examined yet, as far as the bounds allow: a new window. Protects the ring.
   * Without new frames the window stays.
   * @returns whether all were examined.
   */
  examine(head: number): boolean {
    if (this.#filters.size === 0 || this.#examined >= head) return true;
    if (!this.#reader.protect(this.#examined)) {
      this.#lapped(head);
      return true;
    }
    this.#window += 1;
    this.#from = this.#examined;
    this.#hits = 0;
    const end = Math.min(head, this.#from + this.#bounds.examined);
    let seq = this.#from;
    while (seq < end && this.#examineOne(seq)) seq += 1;
    this.#examined = seq;
    return seq === head;
  }

  /** The next hit of the same filter, 0 after the last. */
  nextHit(hit: number): number {
    return this.#following[hit] as number;
  }

  /** The sequence number of a hit's frame. */
  seqOf(hit: number): number {
    return this.#from + (this.#places[hit] as number);
  }

  /** The first filter: without one, frames are not examined. The memory stays, because streams come and go. */
  #begin(): void {
    this.#examined = this.#reader.head();
    if (this.#places.length > 0) return;
    this.#places = new Uint16Array(this.#bounds.hits + 1);
    this.#following = new Uint16Array(this.#bounds.hits + 1);
  }

  /** The writer has overtaken the front. Each subscriber has lost frames, and must find out by itself which. */
  #lapped(head: number): void {
    for (const indexed of this.#filters) indexed.matched();
    this.#window += 1;
    this.#from = head;
    this.#examined = head;
  }

  /** @returns false if the hits that are left may be too few for this frame. */
  #examineOne(seq: number): boolean {
    const reader = this.#reader;
    const room = this.#bounds.hits - this.#hits;
    if (reader.kind(seq) === KIND_CODE.gap) {
      if (this.#filters.size > room) return false;
      for (const indexed of this.#filters) this.#hit(indexed, seq);
      return true;
    }
    const bySession = this.#bySession.get(reader.sessionLow(seq) | 0);
    const byScope =
      this.#byScope.size > 0 ? this.#byScope.get(reader.scopeLow(seq) | 0) : undefined;
    const byNode =
      this.#byNode.size > 0
        ? this.#byNode.get(this.#nodeNames?.name(reader.node(seq)) ?? '')
        : undefined;
    const most =
      (bySession?.length ?? 0) +
      (byScope?.length ?? 0) +
      (byNode?.length ?? 0) +
      this.#unnamed.length;
    if (most > room) return false;
    if (bySession) this.#offer(bySession, seq);
    if (byScope) this.#offer(byScope, seq);
    if (byNode) this.#offer(byNode, seq);
    if (this.#unnamed.length > 0) this.#offer(this.#unnamed, seq);
    return true;
  }

  #offer(filters: readonly IndexedFilter[], seq: number): void {
    for (const indexed of filters) {
      if (indexed.filter.matches(this.#reader, seq)) this.#hit(indexed, seq);
    }
  }

  #hit(indexed: IndexedFilter, seq: number): void {
    this.#hits += 1;
    const hit = this.#hits;
    this.#places[hit] = seq - this.#from;
    this.#following[hit] = 0;
    if (indexed.window === this.#window) {
      this.#following[indexed.last] = hit;
    } else {
      indexed.window = this.#window;
      indexed.first = hit;
      indexed.matched();
    }
    indexed.last = hit;
  }

  /** Calls `change` with the list of filters of each name; a list that is empty then is removed. */
  #eachList(names: FilterNames, change: (list: IndexedFilter[]) => void): void {
    if (names.field === 'node') {
      for (const name of names.values) changeList(this.#byNode, name, change);
      return;
    }
    const byName = names.field === 'session' ? this.#bySession : this.#byScope;
    for (const word of names.values) changeList(byName, word | 0, change);
  }
}

function changeList<K>(
  lists: Map<K, IndexedFilter[]>,
  name: K,
  change: (list: IndexedFilter[]) => void,
): void {
  const list = lists.get(name) ?? [];
  change(list);
  if (list.length === 0) lists.delete(name);
  else lists.set(name, list);
}

/** Removes an element; the last one takes its place. */
function drop(filters: IndexedFilter[], indexed: IndexedFilter): void {
  const last = filters.pop();
  if (last && last !== indexed) filters[filters.indexOf(indexed)] = last;
}
