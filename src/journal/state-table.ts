// Runs in the journal thread. Owns the states that bots have had, in their table: a row with each change of a bot's state, so that
// the states of a past moment are found without reading what was on the stream before it.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { BotState } from '../shared/contract/journal-messages.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import { BotChanges } from './bot-changes.js';
import type { NameKey, StateKey, Tables } from './tables.js';

/** Most rows that are checked in one transaction. */
const PRUNE_STEP = 100;
/** A key after every frame number. */
const END = Number.MAX_SAFE_INTEGER;
/** Key in the table of the journal's state: the frame from which on the states are recorded. */
const SINCE = 'states';

/** The frame from which on the states of all bots are known. */
export interface KnownFrom {
  seq: number;
  ms: number;
}

export class JournalStates {
  readonly #changes: BotChanges<BotState>;
  /** Set for a new table, until it is written. */
  #since: KnownFrom | undefined;
  /** A pass over the rows, a step at a time: the last one that was checked. */
  #checked: StateKey | undefined;

  constructor(names: NameHasher) {
    this.#changes = new BotChanges(names, stateOf);
  }

  /** Loads the present states. @param next the frame from which on it records, when the table is new. */
  load(tables: Tables, next: number): void {
    if (sinceOf(tables) === undefined) this.#since = { seq: next, ms: Date.now() };
    for (const key of botsIn(tables)) {
      this.#changes.load(key, stateAt(tables, key, END) ?? null);
    }
  }

  /** A session frame has passed. */
  saw(seq: number, snapshot: BotSnapshot): void {
    this.#changes.saw(seq, snapshot);
  }

  /** After missed frames: these are the snapshots as of just before frame `seq`. */
  rebase(seq: number, snapshots: readonly BotSnapshot[]): void {
    this.#changes.rebase(seq, snapshots);
  }

  /** Adds the changes to the table. In a transaction; call {@link written} after its commit. */
  write({ states, state }: Tables): void {
    if (this.#since) state.putSync(SINCE, this.#since as never);
    for (const { seq, key, value } of this.#changes.fresh) states.putSync([...key, seq], value);
  }

  written(): void {
    this.#changes.written();
    this.#since = undefined;
  }

  /** Adds all present states as changes: for a new journal. */
  renew(seq: number): void {
    this.#since = { seq, ms: Date.now() };
    this.#changes.renew(seq);
  }

  /**
   * Removes some of the rows that say nothing of frame `oldest` and later. In a transaction. The last row of each bot
   * up to `oldest` stays, unless the bot had left.
   */
  prune({ states }: Tables, oldest: number): void {
    const after = this.#checked;
    const range = after ? { start: after, exclusiveStart: true } : {};
    const rows = [...states.getRange({ ...range, limit: PRUNE_STEP })];
    for (const [at, { key, value }] of rows.entries()) {
      const following = rows[at + 1]?.key;
      // The row after the last is not known here: the next pass begins with this one.
      if (!following) break;
      const isOver = isSameBot(key, following) && following[2] <= oldest;
      if (isOver || (value === null && key[2] < oldest)) states.removeSync(key);
    }
    this.#checked = rows.length === PRUNE_STEP ? rows.at(-2)?.key : undefined;
  }
}

/** The frame from which on the table has the states; undefined for an empty table. */
export function sinceOf({ state }: Pick<Tables, 'state'>): KnownFrom | undefined {
  return state.get(SINCE) as KnownFrom | undefined;
}

/** The keys of all bots in the table. */
export function* botsIn({ states }: Pick<Tables, 'states'>): Generator<NameKey> {
  let start: StateKey = [0, 0, 0];
  for (;;) {
    // Each look-up has its own cursor: one that stays open would keep LMDB from reusing old pages.
    const [next] = [...states.getKeys({ start, limit: 1 })];
    if (!next) return;
    const [low, high] = next;
    yield [low, high];
    start = [low, high, END];
  }
}

/** The state of a bot with frame `seq`: null when it had left, undefined when there is no row. */
export function stateAt(
  { states }: Pick<Tables, 'states'>,
  [low, high]: NameKey,
  seq: number,
): BotState | null | undefined {
  const range = { start: [low, high, seq] as StateKey, end: [low, high, -1] as StateKey };
  const [row] = [...states.getRange({ ...range, reverse: true, limit: 1 })];
  return row?.value;
}

function stateOf(snapshot: BotSnapshot): BotState {
  const { id, kind, status, desired, since_ms, restarts, host, labels, node } = snapshot;
  return {
    id,
    kind,
    status,
    desired,
    since_ms,
    restarts,
    host,
    labels,
    ...(node === undefined ? {} : { node }),
  };
}

function isSameBot(one: StateKey, other: StateKey): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
