// The types of events. Their schemas are in event-schemas.ts, so that threads which validate nothing do not load TypeBox.

import type {
  ActivityEvent,
  BotSnapshot,
  BotUsage,
  GapEvent,
  LogEvent,
  SessionEvent,
} from './event-schemas.js';
import type { Operation } from './operations.js';
import type { AlertEvent } from './rules.js';

export type {
  ActivityEvent,
  AlertEvent,
  BotSnapshot,
  BotUsage,
  GapEvent,
  LogEvent,
  /** Data of an `operation` frame. */
  Operation as OperationEvent,
  SessionEvent,
};

/** Statuses that the service itself gives; while a bot runs, the bot names its own. */
export const SERVICE_STATUSES = [
  'stopped',
  'starting',
  'stopping',
  'backoff',
  'failed',
  'deleted',
  'moved',
  'lost',
] as const;

/** Fields of the snapshot of a bot that does not run. */
export const AT_REST = {
  started_at_ms: null,
  host: null,
  usage: null,
  over_quota: [],
  next_try: null,
  version: null,
};

/** Whether a bot with this status is not there any more: it was deleted, or another node of the cluster has it. */
export function hasLeft(status: string): boolean {
  return status === 'deleted' || status === 'moved';
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

/** An item of a batch. The order in a batch is the order on the stream. */
export type Item = LogItem | SessionItem;

/** A rule fires, or stops. */
export interface AlertItem {
  kind: 'alert';
  event: AlertEvent;
}

/** A client has done something, or could not. */
export interface ActivityItem {
  kind: 'activity';
  event: ActivityEvent;
}

/** An operation has begun, continued, or ended. */
export interface OperationItem {
  kind: 'operation';
  event: Operation;
}

/** An item that main publishes. */
export type MainItem = Item | AlertItem | ActivityItem | OperationItem;
