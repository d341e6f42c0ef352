// Runs in the journal thread. Owns the semaphores of requests from fronts (pages, statistics, past states, and parts for streams that
// resume), and a cache of their filters.

import type {
  Asked,
  FieldHistoryRequest,
  JournalStatus,
  Page,
  PageRequest,
  ReplayPart,
  ReplayRequest,
  StatesRequest,
  StatsRequest,
} from '../shared/contract/journal-messages.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import { DroverError } from '../shared/errors.js';
import { Semaphore } from '../shared/semaphore.js';
import { Filter } from '../shared/stream/filter.js';
import { nowRuns } from '../shared/turn.js';
import { readCounts } from './event-counts.js';
import { page } from './event-pages.js';
import { isIndexed, type QueryParts } from './event-search.js';
import { fieldHistory } from './field-history.js';
import type { JournalMemory, OpenJournal } from './open-journal.js';
import { readStates } from './past-states.js';
import { Slices } from './slices.js';
import { readStats } from './stats.js';

/** Searches by an index. Each running one may hold a page; the fronts bound how many arrive. */
const INDEXED = { permits: 4, maxQueued: 1000 };
/**
 * Searches that may have to read everything, for up to 1.5 s each: separate, so that they delay only each other. A longer
 * queue would wait longer than the fronts do.
 */
const SCANS = { permits: 2, maxQueued: 24 };
/** Parts for streams that resume are read one at a time. The fronts bound how many are requested. */
const REPLAYS = { permits: 1, maxQueued: 1000 };
/** Cached filters; each may name 1,000 bots. */
const MAX_FILTERS = 100;

/** The journal that is read: its file may be replaced at any time. */
export interface AnswerSource {
  epoch: string;
  /** Name of the node that its frames are from; null for a single service. */
  node: string | null;
  status(): JournalStatus;
  /** The open journal, if any. */
  opened(): OpenJournal | undefined;
  /** Waits for the open journal. Rejects with `unavailable`. */
  ready(): Promise<OpenJournal>;
  /** Writes everything that is on the ring now, or a little later. Never rejects. */
  sync(): Promise<void>;
}

export class Answers {
  readonly #source: AnswerSource;
  readonly #names: NameHasher;
  readonly #labels: JournalMemory['labels'];
  readonly #filters = new Map<string, Filter>();
  readonly #indexed = new Semaphore(INDEXED);
  readonly #scans = new Semaphore(SCANS);
  readonly #replays = new Semaphore(REPLAYS);
  readonly #replaySlices: Slices;

  constructor(source: AnswerSource, names: NameHasher, labels: JournalMemory['labels']) {
    this.#source = source;
    this.#names = names;
    this.#labels = labels;
    this.#replaySlices = new Slices({ isOpen: () => source.opened() !== undefined });
  }

  /** Rejects with `unavailable` while the journal cannot say what it holds. */
  async replay(request: ReplayRequest, cancelled?: AbortSignal): Promise<ReplayPart> {
    const part = await this.#replay(request, cancelled);
    if (part.first !== null) return part;
    await this.#source.sync();
    const later = await this.#replay(request, cancelled);
    // The range is in memory, because the disk refuses writes now.
    if (later.first === null && request.from < (this.#source.opened()?.recorder.next ?? 0)) {
      throw new DroverError('unavailable', 'the journal is not written');
    }
    return later;
  }

  /** Reads parts one at a time, with other work in between: each takes a few ms, and many requests come at once. */
  async #replay(request: ReplayRequest, cancelled?: AbortSignal): Promise<ReplayPart> {
    await this.#source.ready();
    return this.#replays.run(async () => {
      if (this.#replaySlices.isOver) await this.#replaySlices.turn();
      nowRuns(request);
      const opened = this.#source.opened();
      if (!opened) throw new DroverError('unavailable', 'the journal was closed');
      const { reader, recorder } = opened;
      const filter = this.#filter(request.filter);
      return reader.replay(request, filter, (sessions) => recorder.unposted(sessions));
    }, cancelled);
  }

  /** Rejects with `overloaded` when too many search and the token has its share, and with `no_answer` when it is cancelled. */
  page(request: Asked<PageRequest>, cancelled?: AbortSignal): Promise<Page> {
    const filter = this.#filter(request.filter);
    const searches = isIndexed(filter) ? this.#indexed : this.#scans;
    const read = (parts: QueryParts) => page(parts, request, filter);
    // A further page has older events, which are written already.
    const end = request.beforeSeq ?? undefined;
    return searches.run(
      () => this.#search(request, read, cancelled, end),
      cancelled,
      request.token,
    );
  }

  stats(request: Asked<StatsRequest>, cancelled?: AbortSignal): Promise<{ body: Uint8Array }> {
    const { search, token } = request;
    const { status } = this.#source;
    const filter = this.#filter(search?.filter ?? null);
    const read = async (parts: QueryParts) => ({
      body: Buffer.from(
        search
          ? await readCounts(parts, request, filter, status)
          : await readStats(parts, request, status),
      ),
    });
    const searches = search && !isIndexed(filter) ? this.#scans : this.#indexed;
    return searches.run(() => this.#search(request, read, cancelled), cancelled, token);
  }

  /** The state of each bot at a moment. */
  states(
    { token, ...request }: Asked<StatesRequest>,
    cancelled?: AbortSignal,
  ): Promise<{ body: Uint8Array }> {
    const read = async (parts: QueryParts) => ({
      body: Buffer.from(JSON.stringify(await readStates(parts, request))),
    });
    return this.#indexed.run(() => this.#search(request, read, cancelled), cancelled, token);
  }

  fieldHistory(
    request: Asked<FieldHistoryRequest>,
    cancelled?: AbortSignal,
  ): Promise<{ body: Uint8Array }> {
    const filter = this.#filterOf(request.filter);
    const read = async (parts: QueryParts) => ({
      body: Buffer.from(JSON.stringify(await fieldHistory(parts, request, filter))),
    });
    return this.#indexed.run(
      () => this.#search(request, read, cancelled),
      cancelled,
      request.token,
    );
  }

  /** Runs a search over what there is now, below frame `end`. */
  async #search<T>(
    work: object,
    task: (parts: QueryParts) => Promise<T>,
    cancelled: AbortSignal | undefined,
    end = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const source = this.#source;
    const { state } = await source.ready();
    if (end > state.next) await source.sync();
    const { tables, reader, recorder } = await source.ready();
    const isOpen = (): boolean => source.opened()?.tables === tables;
    const unposted: QueryParts['unposted'] = (sessions) => recorder.unposted(sessions);
    nowRuns(work);
    return task({ epoch: source.epoch, tables, reader, unposted, isOpen, cancelled, work });
  }

  #filter(key: string | null): Filter | null {
    return key === null ? null : this.#filterOf(key);
  }

  #filterOf(key: string): Filter {
    let filter = this.#filters.get(key);
    if (!filter) {
      const { node } = this.#source;
      const nodeNames = node === null ? undefined : { name: () => node };
      filter = Filter.ofKey(key, this.#names, this.#labels.history, nodeNames);
      if (this.#filters.size >= MAX_FILTERS) this.#filters.clear();
      this.#filters.set(key, filter);
    }
    return filter;
  }
}

/** A request for the operator. */
export function describeRequest(request: object): string {
  const { memory: _, ...shown } = request as Record<string, unknown>;
  return `the search ${JSON.stringify(shown)}`;
}
