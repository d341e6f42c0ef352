// Imported by every thread. Owns the shape of what flows from a bot to the stream. The schemas are apart, in
// event-schemas.ts: threads that check nothing need not load TypeBox.

import type { BotSnapshot, GapEvent, LogEvent, SessionEvent } from './event-schemas.js';

export type { BotSnapshot, GapEvent, LogEvent, SessionEvent };

/** Levels of a log event (interface-seed §2.5). The order is that of the `level` code in the ring's index. */
export const LEVELS = ['info', 'warn', 'error', 'state'] as const;
export type Level = (typeof LEVELS)[number];

/** Kinds of SSE frames. `log` and `session` are interface-seed §6; `gap` declares a loss (docs/API.md). */
export const KINDS = ['log', 'session', 'gap'] as const;
export type Kind = (typeof KINDS)[number];

/** A JSON value, as it can appear in a snapshot's `data`, in command arguments and in results. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Statuses that the service itself gives; while a bot runs, the bot names its own. */
export const SERVICE_STATUSES = [
  'stopped',
  'starting',
  'stopping',
  'backoff',
  'failed',
  'deleted',
] as const;

/** One logger line on its way to the broadcaster: its message is JSON already (line-text.ts). */
export interface LogItem extends Omit<LogEvent, 'message'> {
  kind: 'log';
  message_json: string;
}

/**
 * A change of a bot's snapshot on its way to the broadcaster, which holds the whole snapshot and merges:
 * the bot's host owns `status`, `since_ms` and `data` while the bot runs, main owns the rest.
 */
export interface SessionItem {
  kind: 'session';
  id: string;
  patch: Partial<BotSnapshot>;
}

/** What a batch holds. The order in a batch is the order on the stream. */
export type Item = LogItem | SessionItem;
