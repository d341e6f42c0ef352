// The payloads as the contract defines them, independent of the service's code.

import { expect } from 'vitest';
import type { ActivityEvent, OperationEvent } from '../../src/shared/contract/events.js';
import { TEST_NATS } from './service.js';
import type { Frame, SseStream } from './sse.js';

export interface Log {
  timestamp_ms: number;
  level: string;
  scope: string;
  session_id: string | null;
  transport: string | null;
  direction: string | null;
  message: string;
}

export interface Snapshot {
  id: string;
  kind: string;
  status: string;
  desired: string;
  since_ms: number;
  started_at_ms: number | null;
  restarts: number;
  host: number | null;
  last_error: string | null;
  labels: Record<string, string>;
  data: Record<string, unknown>;
  usage: Record<string, number | null> | null;
  over_quota: string[];
  next_try: { at_ms: number; attempt: number | null; limit: number | null } | null;
  version: string | null;
}

const SNAPSHOT_FIELDS = [
  ...(TEST_NATS === undefined ? [] : ['failover', 'node', 'term']),
  'data',
  'desired',
  'host',
  'id',
  'kind',
  'labels',
  'last_error',
  'next_try',
  'over_quota',
  'restarts',
  'since_ms',
  'started_at_ms',
  'status',
  'usage',
  'version',
].sort();

/** The payload of a log frame. Undefined for any other frame. */
export function logOf(frame: Frame): Log | undefined {
  return frame.event === 'log' ? (frame.json as Log) : undefined;
}

/** The snapshot of a session frame. Undefined for any other frame. */
export function snapshotOf(frame: Frame): Snapshot | undefined {
  return frame.event === 'session' ? (frame.json as { snapshot: Snapshot }).snapshot : undefined;
}

/** What an activity frame says. Undefined for any other frame. */
export function activityOf(frame: Frame): ActivityEvent | undefined {
  return frame.event === 'activity' ? (frame.json as ActivityEvent) : undefined;
}

/** What an operation frame says. Undefined for any other frame. */
export function operationOf(frame: Frame): OperationEvent | undefined {
  return frame.event === 'operation' ? (frame.json as OperationEvent) : undefined;
}

export function logs(stream: SseStream): Log[] {
  return stream.frames.flatMap((frame) => logOf(frame) ?? []);
}

export function snapshots(stream: SseStream, id: string): Snapshot[] {
  return stream.frames.flatMap((frame) => snapshotOf(frame) ?? []).filter((s) => s.id === id);
}

/** Waits for a log line that matches. */
export async function waitForLog(
  stream: SseStream,
  fits: (log: Log) => boolean,
  timeoutMs?: number,
): Promise<Log> {
  const frame = await stream.waitFor((candidate) => {
    const log = logOf(candidate);
    return log !== undefined && fits(log);
  }, timeoutMs);
  return frame.json as Log;
}

/** Waits until the bot has this status on the stream. */
export async function waitForStatus(
  stream: SseStream,
  id: string,
  status: string,
  timeoutMs?: number,
): Promise<Snapshot> {
  const frame = await stream.waitFor((candidate) => {
    const snapshot = snapshotOf(candidate);
    return snapshot?.id === id && snapshot.status === status;
  }, timeoutMs);
  return (frame.json as { snapshot: Snapshot }).snapshot;
}

/** Expects exactly the fields of a BotSnapshot. */
export function expectSnapshot(value: unknown): Snapshot {
  const snapshot = value as Snapshot;
  expect(Object.keys(snapshot).sort()).toEqual(SNAPSHOT_FIELDS);
  expect(snapshot.id).toBeTypeOf('string');
  expect(snapshot.kind).toBeTypeOf('string');
  expect(snapshot.status).toMatch(/^[a-z][a-z0-9_]*$/);
  expect(['running', 'stopped']).toContain(snapshot.desired);
  expect(snapshot.since_ms).toSatisfy(Number.isSafeInteger);
  expect(snapshot.started_at_ms).toSatisfy(nullOr(Number.isSafeInteger));
  expect(snapshot.restarts).toSatisfy(Number.isSafeInteger);
  expect(snapshot.host).toSatisfy(nullOr(Number.isSafeInteger));
  expect(snapshot.last_error).toSatisfy(nullOr((error) => typeof error === 'string'));
  expect(snapshot.labels).toSatisfy(isObject);
  for (const label of Object.values(snapshot.labels)) expect(label).toBeTypeOf('string');
  expect(snapshot.data).toSatisfy(isObject);
  return snapshot;
}

function nullOr(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === null || check(value);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
