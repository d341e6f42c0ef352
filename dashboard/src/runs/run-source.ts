// Runs in tabs. Owns the state of the searches of one recording, which it asks the worker of the run.

import { signal } from '@preact/signals';
import type {
  CallOptions,
  EventsPage,
  EventsQuery,
  IncidentGroups,
  IncidentGroupsQuery,
  PastStates,
  StatsQuery,
} from '../../../src/client/index.js';
import type { Counted, Recorded } from '../model/event-source.js';
import type { RecordingFacts } from './run-facts.js';
import type { RunLink } from './run-link.js';
import type { RunCall, RunCalls } from './run-messages.js';

/** A search that takes longer than this, in ms, shows its progress. */
const SLOW_MS = 300;

/** A search that takes long, or was cancelled. */
export interface Search {
  /** Share of the rows that were tested, from 0 to 1. */
  share: number;
  isCancelled: boolean;
}

export class RunSource implements Recorded {
  readonly range: Recorded['range'];
  /** Undefined while a search is quick, and when it has tested every row. */
  readonly search = signal<Search | undefined>(undefined);
  /** Changes when everything must be requested again. */
  readonly round = signal(0);
  readonly #link: RunLink;
  #asked = 0;

  constructor(link: RunLink, { startedAtMs, lengthMs }: RecordingFacts) {
    this.#link = link;
    this.range = { fromMs: startedAtMs, toMs: startedAtMs + lengthMs + 1 };
  }

  events({ signal, ...query }: EventsQuery & CallOptions): Promise<EventsPage> {
    return this.#ask('events', [query], signal);
  }

  stats({ signal, ...query }: StatsQuery & CallOptions): Promise<Counted> {
    return this.#ask('stats', [query], signal);
  }

  states(atMs: number, { signal }: CallOptions = {}): Promise<PastStates> {
    return this.#ask('states', [atMs], signal);
  }

  incidentGroups({ signal, ...query }: IncidentGroupsQuery & CallOptions): Promise<IncidentGroups> {
    return this.#ask('incidentGroups', [query], signal);
  }

  /** Ends the search: what was found stays. */
  cancel(): void {
    const { share = 0 } = this.search.peek() ?? {};
    this.search.value = { share, isCancelled: true };
    void this.#link.ask('stop', []);
  }

  again(): void {
    // It was asked for with the button that has cancelled it, which keeps the focus: it says at once how far it is.
    this.search.value = { share: 0, isCancelled: false };
    void this.#link.ask('again', []);
    this.round.value += 1;
  }

  /** Another query is asked: what the last one came to is not said of it. */
  forget(): void {
    this.search.value = undefined;
  }

  async #ask<C extends RunCall>(
    call: C,
    args: Parameters<RunCalls[C]>,
    signal: CallOptions['signal'],
  ): Promise<ReturnType<RunCalls[C]>> {
    const { search } = this;
    let share = 0;
    let isSlow = search.peek() !== undefined;
    const say = (): void => {
      isSlow = true;
      if (!search.peek()?.isCancelled) search.value = { share, isCancelled: false };
    };
    const slow = setTimeout(say, SLOW_MS);
    this.#asked += 1;
    try {
      const answer = await this.#link.ask(call, args, (part) => {
        share = part.share;
        if (isSlow) say();
      });
      signal?.throwIfAborted();
      return answer;
    } finally {
      clearTimeout(slow);
      this.#asked -= 1;
      if (this.#asked === 0 && !search.peek()?.isCancelled) search.value = undefined;
    }
  }
}
