// Imported by every thread. Owns the shape of what flows from a bot to the stream.

/** Levels of a log event (interface-seed §2.5). The order is that of the `level` code in the ring's index. */
export const LEVELS = ['info', 'warn', 'error', 'state'] as const;
export type Level = (typeof LEVELS)[number];

/** Kinds of SSE frames. `log` and `session` are interface-seed §6; `gap` declares a loss (docs/API.md). */
export const KINDS = ['log', 'session', 'gap'] as const;
export type Kind = (typeof KINDS)[number];

/** Data of a `log` frame (interface-seed §2.5). */
export interface LogEvent {
  timestamp_ms: number;
  level: Level;
  scope: string;
  session_id: string | null;
  transport: 'tcp' | 'http' | null;
  direction: 'outgoing' | 'incoming' | null;
  message: string;
}

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

/** State of one bot: body of `GET /api/bots/{id}` and `snapshot` of a `session` frame (interface-seed §2.6). */
export interface BotSnapshot {
  id: string;
  kind: string;
  status: string;
  desired: 'running' | 'stopped';
  since_ms: number;
  started_at_ms: number | null;
  restarts: number;
  host: number | null;
  last_error: string | null;
  labels: Record<string, string>;
  data: JsonObject;
}

/** Data of a `session` frame (interface-seed §2.6). */
export interface SessionEvent {
  snapshot: BotSnapshot;
}

/** Data of a `gap` frame: ids of the first and the last lost event, and how many, null when that is not known. */
export interface GapEvent {
  from: string;
  to: string;
  dropped: number | null;
}

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
