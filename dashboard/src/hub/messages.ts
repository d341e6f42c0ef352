// The messages between tabs and the hub. The hub holds the browser's one stream. Each tab is a cursor into the hub's state, not
// a queue: at most one update is in flight to a tab, and the next is built when the tab has drawn it. A frozen tab takes no
// updates and gets the full state when it wakes.

import type { BotSnapshot, Level, Operation, Rule } from '../../../src/client/index.js';
import type { Alarm } from './alerts.js';

/** A log line or a gap. */
export interface Line {
  /** Sequence number within this hub. */
  n: number;
  /** The event id. */
  id: string;
  /** Unix epoch ms, by the service's clock. */
  at: number;
  level: Level | 'gap';
  scope: string;
  bot: string | null;
  transport: 'tcp' | 'http' | null;
  dir: 'in' | 'out' | null;
  /** Of a wire message that names what it belongs to. */
  correlation?: string;
  /** Empty of a gap: the tab says what is missing. */
  text: string;
  gap?: { dropped: number | null; from: string; to: string };
}

/** A bot's new status. */
export interface StatusChange {
  n: number;
  bot: string;
  status: string;
  at: number;
}

/** Event counts of one second; `at` in Unix epoch s. */
export type Second = [
  at: number,
  events: number,
  info: number,
  warn: number,
  error: number,
  state: number,
  other: number,
];

/** The state of the stream. */
export type Connection =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'waiting'; retryAtMs: number; reason: string }
  /** Not retried, for example because the token lacks the scope `read`. */
  | { state: 'refused'; reason: string };

/** How late the newest lines came. */
export interface Lag {
  ms: number;
  /** When it was measured, by this machine's clock. */
  atMs: number;
}

export interface Update {
  /** The update is the full state; the tab discards its own. */
  reset: boolean;
  connection: Connection;
  /** How far this machine's clock is ahead of the service's, in ms. */
  clockAheadMs: number;
  /** Null while no line has come. */
  lag: Lag | null;
  /** Whether the hub has everything that existed when the stream started: until then, what is missing is unknown. */
  isComplete: boolean;
  lines: Line[];
  /** Number of the hub's oldest line; the tab drops older ones too. */
  firstLine: number;
  changes: StatusChange[];
  bots: BotSnapshot[];
  gone: string[];
  /** Those that have changed, as they are now. */
  operations: Operation[];
  /** Starts with the tab's last second, which may have been incomplete. */
  seconds: Second[];
  /** The first second that was counted completely, in Unix epoch s; null before the stream is open. */
  countedSince: number | null;
}

/** The state with which a new hub continues after another: that of the tab it runs in. */
export interface Handover
  extends Pick<Update, 'lines' | 'changes' | 'bots' | 'seconds' | 'countedSince'> {
  token: string;
}

/** The session: sent to a tab that says hello, and to all tabs when it changes. */
export interface SessionMessage {
  type: 'session';
  token: string | null;
  /** Whether the service has ended the session. */
  isEnded: boolean;
}

export type ToTab =
  | SessionMessage
  | { type: 'update'; update: Update }
  /** The rules that fire. */
  | { type: 'firing'; rules: readonly Rule[] }
  /** To one tab: tell the user. It answers with `told`, or another tab is asked. */
  | { type: 'alarm'; alarm: Alarm }
  /** A hidden tab takes no updates, but answers this. */
  | { type: 'ping' };

export type ToHub =
  /**
   * The first message of a tab, also sent on sign-in. A new token is valid and becomes the token of all tabs; a stored one is
   * used only if they have none. Null asks for theirs.
   */
  | { type: 'hello'; token: string | null; isNew: boolean }
  /** The last update is drawn; the tab is ready for the next. */
  | { type: 'taken' }
  /** The user was told, or does not want to be. */
  | { type: 'told'; tag: string }
  /** Answer to a ping. */
  | { type: 'here' }
  | { type: 'retry' }
  | { type: 'sign-out' }
  | { type: 'bye' };

/** The hub's end of a connection to a tab, and the tab's to the hub. */
export interface Port<Out, In> {
  send(message: Out): void;
  /** Set once, before the first message is expected. */
  receive: (message: In) => void;
}
