// The parts of a stream that are written for one subscriber and are not on the ring.

import type { ClusterStreamState } from '../contract/nodes.js';
import { eventId, gapJson, sseFrame } from './frame.js';

// A blank line only ends a block that has data: some clients (@microsoft/fetch-event-source) report every other block as an
// event without data.

/** Keeps an idle stream alive; a comment in the event-stream grammar. */
export const HEARTBEAT = Buffer.from(':\n');

/**
 * Tells a browser how long to wait before it reconnects: `ms` with a random deviation of up to 25 %, and up to `spreadMs` more.
 * The square root bounds how many of a crowd come back in any second to twice the average: of clients that were all told the
 * same spread, and of those that were told one which grew while they came.
 * @param random gives numbers from 0 to 1.
 */
export function retryLine(ms: number, spreadMs: number, random: () => number): string {
  return `retry: ${Math.round(ms * (0.75 + 0.5 * random()) + spreadMs * Math.sqrt(random()))}\n`;
}

/** A `session` frame without an id: a snapshot at the start of a stream. */
export function snapshotFrame(eventJson: string): string {
  return `event: session\ndata: ${eventJson}\n\n`;
}

/** The position of a stream without an event. Only drover/client reads it (src/client/sse-parser.ts); to others it is a comment. */
export function positionComment(epoch: string, next: number): string {
  return `: position ${eventId(epoch, next - 1)}\n`;
}

/** Says how the stream stands in the cluster. Without an id: it is no place in the stream. */
export function clusterBlock(state: ClusterStreamState): Uint8Array {
  return Buffer.from(`event: cluster\ndata: ${JSON.stringify(state)}\n\n`);
}

/** Declares a loss up to the frame before `next`. @param from id of the first lost event. @param dropped null when not known. */
export function gapFrame(
  epoch: string,
  from: string,
  next: number,
  dropped: number | null,
): string {
  const to = eventId(epoch, next - 1);
  return sseFrame(to, 'gap', gapJson(from, to, dropped));
}

/** Where a client continues that has received `lastEventId`. */
export type ResumePoint =
  | { kind: 'live' }
  | { kind: 'at'; next: number }
  | { kind: 'lost'; from: string };

const EVENT_ID = /^([0-9a-f]{1,32})-(0|[1-9][0-9]{0,15})$/;

/** The numbering of an id; null when it is none. */
export function epochOf(eventId: string): string | null {
  return EVENT_ID.exec(eventId)?.[1] ?? null;
}

/** Reads a Last-Event-ID. A malformed id is ignored; an id of another numbering cannot be resumed. */
export function resumePoint(lastEventId: string, epoch: string, head: number): ResumePoint {
  const match = EVENT_ID.exec(lastEventId);
  if (!match) return { kind: 'live' };
  const next = Number(match[2]) + 1;
  if (match[1] !== epoch || next > head) return { kind: 'lost', from: lastEventId };
  return { kind: 'at', next };
}
