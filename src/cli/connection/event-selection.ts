// Which events of a stream or a recording a command uses. The service filters by kind, level, bot and scope. It cannot filter by
// --status, --kind and --label of bots, so with these the command reads everything and selects by the snapshots that it sees.

import type { BotSnapshot, EventFilter, StreamEvent } from '../../client/index.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { type BotSelectors, isSelected, isSelecting } from '../flags/bot-selectors.js';
import {
  type FilterFlags,
  filterOf,
  type RecordedFilter,
  selectorsOf,
} from '../flags/filter-flags.js';

/** Most ids in a query: the service takes as many values, and URLs of 8 KiB by default. More are selected here. */
const MAX_QUERY_BOTS = 1000;
const MAX_QUERY_UNITS = 4096;

export interface PastSelection {
  /** What the service is asked for; null for nothing. */
  request: EventFilter | null;
  /** Which of what it answers is used. */
  fits: (event: StreamEvent) => boolean;
}

/** One run of a command. Owns the set of bots that are selected now. */
export class EventSelection {
  readonly #filter: EventFilter;
  readonly #selectors: BotSelectors;
  /** The ids of bots whose latest snapshot is selected. */
  readonly #selected = new Set<string>();

  /** @param kinds of events, by default. */
  constructor(flags: FilterFlags, kinds?: readonly ('log' | 'session')[]) {
    this.#filter = filterOf(flags, kinds);
    this.#selectors = selectorsOf(flags);
    if (flags.query !== undefined && this.selectsBots) {
      throw new CliError(
        EXIT.usage,
        '--query cannot be used with --status, --label or a kind of bots; write them in the query: status:failed label:team=a kind:demo',
      );
    }
  }

  /** It depends on the snapshots of bots. */
  get selectsBots(): boolean {
    return isSelecting(this.#selectors);
  }

  /** What the service is asked for. Which node an event is from, only the service knows. */
  get request(): EventFilter {
    return this.selectsBots ? { node: this.#filter.node } : this.#filter;
  }

  /** The service sends everything. */
  get readsAll(): boolean {
    return Object.values(this.request).every((values) => values === undefined);
  }

  /** What a recording says about itself; null when it has everything. */
  get recorded(): RecordedFilter | null {
    if (this.selectsBots) return { ...this.#filter, bots: this.#selectors };
    return this.readsAll ? null : this.#filter;
  }

  /** The latest snapshot of a bot. @returns whether it is selected. */
  see(bot: BotSnapshot): boolean {
    const is = isSelected(bot, this.#selectors);
    // A deleted bot writes nothing more; without this, the set would grow with every bot that there ever was.
    if (is && bot.status !== 'deleted') this.#selected.add(bot.id);
    else this.#selected.delete(bot.id);
    return is;
  }

  /** Whether the event is used; to be called with each, in order. A gap always is. */
  readonly fits = (event: StreamEvent): boolean => {
    if (event.event === 'gap') return true;
    if (!this.selectsBots) return passes(event, this.#filter);
    const bot = botOf(event);
    const was = bot !== null && this.#selected.has(bot);
    const is = event.event === 'session' && this.see(event.data.snapshot);
    // The snapshot with which a bot stops to match is used too: it tells why nothing follows.
    return (was || is) && passes(event, this.#filter);
  };

  /** For past events: those of the bots that are selected now. */
  past(): PastSelection {
    const all = { request: this.#filter, fits: () => true };
    if (!this.selectsBots) return all;
    const { session } = this.#filter;
    const bots = [...this.#selected].filter((id) => session?.includes(id) ?? true);
    if (bots.length === 0) return { request: null, fits: () => false };
    const wanted = new Set(bots);
    if (fitsQuery(wanted)) return { ...all, request: { ...this.#filter, session: bots } };
    return {
      ...all,
      fits: (event) => event.event === 'gap' || wanted.has(botOf(event) ?? ''),
    };
  }
}

/** Whether the service takes so many ids in a query. */
export function fitsQuery(ids: ReadonlySet<string>): boolean {
  return ids.size <= MAX_QUERY_BOTS && [...ids].join().length <= MAX_QUERY_UNITS;
}

/** The bot that an event is about. */
function botOf(event: StreamEvent): string | null {
  if (event.event === 'session') return event.data.snapshot.id;
  return event.event === 'log' ? event.data.session_id : null;
}

/** Does what the service does with this filter. */
function passes(event: StreamEvent, { event: kinds, level, session, scope }: EventFilter): boolean {
  const has = (values: readonly string[] | undefined, value: string | null): boolean =>
    values === undefined || (value !== null && values.includes(value));
  const log = event.event === 'log' ? event.data : undefined;
  return (
    has(kinds, event.event) &&
    has(level, log?.level ?? null) &&
    has(session, botOf(event)) &&
    has(scope, log?.scope ?? null)
  );
}
