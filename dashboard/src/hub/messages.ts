// Imported by tabs and by the hub. Owns what they say to each other. The hub holds the browser's one stream; each tab is a
// cursor into what the hub keeps, never a queue: there is at most one update on its way to a tab, and the next one is put
// together when the tab has taken it. A tab that sleeps takes nothing, and gets a fresh state when it wakes.

import type { BotSnapshot, Level } from '../../../src/client/index.js';

/** A line of the log, or the mark of a gap. */
export interface Line {
  /** Counts up by one in this hub. */
  n: number;
  /** Its id on the stream. */
  id: string;
  /** Unix epoch ms, by the service's clock. */
  at: number;
  level: Level | 'gap';
  scope: string;
  bot: string | null;
  transport: 'tcp' | 'http' | null;
  dir: 'in' | 'out' | null;
  text: string;
}

/** A bot's status from a moment on. */
export interface StatusChange {
  n: number;
  bot: string;
  status: string;
  at: number;
}

/** What came in one second: `at` in s, then events, info, warn, error, state, other. */
export type Second = [
  at: number,
  events: number,
  info: number,
  warn: number,
  error: number,
  state: number,
  other: number,
];

/** How the stream is. */
export type Connection =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'waiting'; retryAtMs: number; reason: string }
  /** It is not tried again: the token may not read, say. */
  | { state: 'refused'; reason: string };

export interface Update {
  /** What the tab has is to be forgotten first. */
  reset: boolean;
  connection: Connection;
  /** How far this machine's clock is ahead of the service's, in ms. */
  clockAheadMs: number;
  lines: Line[];
  /** Number of the oldest line that the hub keeps: its bounds are the tab's too. */
  firstLine: number;
  changes: StatusChange[];
  bots: BotSnapshot[];
  gone: string[];
  /** From the last one that the tab had, which may not have been over. */
  seconds: Second[];
}

/** What a hub goes on with that takes over from another: what the tab has that it runs in. */
export interface Inheritance extends Pick<Update, 'lines' | 'changes' | 'bots' | 'seconds'> {
  token: string;
}

/** Who is signed in: told to a tab that asks, and to all when it changes. */
export interface SessionMessage {
  type: 'session';
  token: string | null;
  /** Why nobody is. */
  reason: string | null;
}

export type ToTab =
  | SessionMessage
  | { type: 'update'; update: Update }
  /** Is it still there? A tab that is not seen takes no updates, but answers this. */
  | { type: 'ping' };

export type ToHub =
  /**
   * First message of a tab, and whoever signs in. A new token, which is good, is taken by all tabs; one that the tab has had
   * from before only when they have none. Null asks for theirs.
   */
  | { type: 'hello'; token: string | null; isNew: boolean }
  /** The last update is drawn. */
  | { type: 'taken' }
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
