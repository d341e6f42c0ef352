// Runs in tabs. Owns the states of a past moment, which the herd shows instead of the present ones.

import { computed, signal } from '@preact/signals';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import type { BotSnapshot, BotState, PastStates } from '../../../src/client/index.js';
import { recorded } from '../model/event-source.js';
import { heldHosts } from '../model/hosts.js';
import { bots, botsVersion, connection } from '../model/live.js';
import { eventSource } from '../model/session.js';
import { shownMoment } from '../model/time-range.js';
import { UNKNOWN } from './cells.js';

export interface Past extends Omit<PastStates, 'states'> {
  bots: ReadonlyMap<string, BotSnapshot>;
}

/** While the moment is moved, its states are requested at most this often, in ms. */
const WAIT_MS = 120;
const NOBODY: ReadonlyMap<string, BotSnapshot> = new Map();
const NO_HOSTS: ReadonlySet<string> = new Set();

const found = signal<Past | undefined>(undefined);
/** Why the states of the moment cannot be shown. */
export const pastError = signal<Error | undefined>(undefined);
/** The states of the moment, or, until they have arrived, of the last one that was shown; undefined while the page shows the present. */
export const past = computed(() => (shownMoment.value === undefined ? undefined : found.value));

/** The bots that the herd shows. */
export function herdBots(): ReadonlyMap<string, BotSnapshot> {
  return shownMoment.value === undefined ? bots : (past.value?.bots ?? NOBODY);
}

/** Changes with {@link herdBots}. */
export const herdVersion = computed<unknown>(() =>
  shownMoment.value === undefined ? botsVersion.value : past.value,
);

/** The hosts that hang now; of the past that is not known. */
export const herdHeld = computed(() =>
  shownMoment.value === undefined ? heldHosts.value : NO_HOSTS,
);

/** Loads the states of the moment that the page shows. */
export function usePast(): void {
  const moment = shownMoment.value;
  const source = recorded.value;
  const isOpen = source !== undefined || connection.value.state === 'open';
  // The answer of another source does not count.
  useLayoutEffect(
    () => () => {
      found.value = undefined;
    },
    [source],
  );
  useEffect(() => {
    if (moment === undefined) {
      found.value = undefined;
      pastError.value = undefined;
      return;
    }
    if (!isOpen) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        eventSource()
          .states(Math.round(moment), { signal: abort.signal })
          .then(
            (answer) => {
              if (abort.signal.aborted) return;
              found.value = pastOf(answer);
              pastError.value = undefined;
            },
            (thrown: Error) => {
              if (abort.signal.aborted) return;
              // An answer for another moment does not count.
              found.value = undefined;
              pastError.value = thrown;
            },
          );
      },
      found.peek() ? WAIT_MS : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [moment, isOpen, source]);
}

function pastOf({ states, ...rest }: PastStates): Past {
  const of = new Map(states.map((state) => [state.id, snapshotOf(state)]));
  // The present bots say to which group each belongs.
  for (const id of rest.unknown) of.set(id, { ...(bots.get(id) ?? nameless(id)), status: UNKNOWN });
  return { ...rest, bots: of };
}

/** A snapshot, without what the journal does not keep. */
function snapshotOf(state: BotState): BotSnapshot {
  return {
    started_at_ms: null,
    last_error: null,
    data: {},
    usage: null,
    over_quota: [],
    ...state,
  };
}

function nameless(id: string): BotSnapshot {
  const known = {
    id,
    kind: '',
    status: UNKNOWN,
    desired: 'stopped',
    since_ms: 0,
    restarts: 0,
  } as const;
  return snapshotOf({ ...known, host: null, labels: {} });
}
