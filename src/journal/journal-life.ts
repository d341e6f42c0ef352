/** Where the journal's file stands. */
export const STATES = [
  /** The file is being examined and opened for the first time. */
  'opening',
  /** Frames are written as they come. */
  'on',
  /** The file was taken away or found broken while it was in use: a new one is being opened. */
  'replacing',
  /** A write has failed: the file is being closed, and opened again unless it is corrupt. */
  'reopening',
  /** The file is open for reading; the next write comes after a pause. */
  'stalled',
  /** No file is open; the next attempt to open it comes after a pause. */
  'waiting',
  /** The file is being opened again after a failure. */
  'retrying',
  /** The service ends: what is on the ring is written once more, if the file is open. */
  'closing',
] as const;
export type LifeState = (typeof STATES)[number];

export const EVENTS = [
  'opened',
  'openFailed',
  'written',
  'writeFailed',
  /** LMDB has reported that the file is broken, or that it cannot be used as it is open now. */
  'corrupted',
  /** The check in the background has found the open file broken. */
  'foundBroken',
  /** Somebody has removed or renamed the open file. */
  'fileMissing',
  /** After a failed write the file is open again, */
  'reopened',
  /** or it stays closed. */
  'closed',
  'retryDue',
  'close',
] as const;
export type LifeEvent = (typeof EVENTS)[number];

export type Effect =
  /** Examine the file and open it. */
  | 'open'
  /** Close the file and open it again: an LMDB environment in which a write has failed may refuse all others. */
  | 'reopen'
  | 'closeFile'
  /** Examine the whole file before it is opened the next time. */
  | 'distrustFile'
  /** Open a new file in place of the one that is missing. */
  | 'replaceMissing'
  /** Close the broken file, set it aside, and open a new one. */
  | 'replaceBroken'
  | 'startPause'
  /** Double the pause, up to its limit. */
  | 'lengthenPause'
  | 'resetPause'
  /** Write what is pending now. */
  | 'write'
  /** Read the ring soon. */
  | 'wake'
  | 'reportOn'
  | 'reportFailure'
  | 'reportRecovery'
  /** End the timers, and an examination under way. */
  | 'stop';

export interface Transition {
  readonly to: LifeState;
  readonly effects: readonly Effect[];
}

const CLOSE: Transition = { to: 'closing', effects: ['stop'] };
const OPENED: Transition = { to: 'on', effects: ['resetPause', 'reportOn', 'wake'] };
const WRITE_FAILED: Transition = { to: 'reopening', effects: ['reopen', 'reportFailure'] };
const WRITE_CORRUPTED: Transition = {
  to: 'reopening',
  effects: ['distrustFile', 'closeFile', 'reportFailure'],
};
/** The outcome of an attempt to open the file. */
const OPENING = {
  opened: OPENED,
  openFailed: { to: 'waiting', effects: ['reportFailure', 'startPause'] },
  corrupted: { to: 'waiting', effects: ['distrustFile', 'reportFailure', 'startPause'] },
  close: CLOSE,
} as const satisfies Partial<Record<LifeEvent, Transition>>;

const TABLE: Readonly<Record<LifeState, Readonly<Partial<Record<LifeEvent, Transition>>>>> = {
  opening: OPENING,
  on: {
    writeFailed: WRITE_FAILED,
    corrupted: WRITE_CORRUPTED,
    foundBroken: { to: 'replacing', effects: ['replaceBroken'] },
    fileMissing: { to: 'replacing', effects: ['replaceMissing'] },
    close: CLOSE,
  },
  replacing: OPENING,
  reopening: {
    reopened: { to: 'stalled', effects: ['startPause'] },
    closed: { to: 'waiting', effects: ['startPause'] },
    close: CLOSE,
  },
  stalled: {
    retryDue: { to: 'stalled', effects: ['write'] },
    written: { to: 'on', effects: ['resetPause', 'reportRecovery', 'wake'] },
    writeFailed: WRITE_FAILED,
    corrupted: WRITE_CORRUPTED,
    close: CLOSE,
  },
  waiting: {
    retryDue: { to: 'retrying', effects: ['lengthenPause', 'open'] },
    close: CLOSE,
  },
  retrying: OPENING,
  closing: {},
};

/** The next state, and what to do, in that order. An event without an entry changes nothing. */
export function transition(state: LifeState, event: LifeEvent): Transition {
  return TABLE[state][event] ?? { to: state, effects: [] };
}
