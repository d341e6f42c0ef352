// Pure. The cursor of a page of all nodes: where each of them continues. Clients take it as it is.

import type { PageRequest } from '../../shared/contract/journal-messages.js';
import { DroverError } from '../../shared/errors.js';

export interface Cursor {
  /** Of the stream of the cluster. */
  epoch: string;
  order: PageRequest['order'];
  /** Numbers of the stream from this one on are left out. */
  cut: number;
  /** Where each node continues, in its own numbering, exclusive; null at its end. */
  at: Record<string, number | null>;
  /** Time of the last event, in Unix epoch ms: nodes that have not answered before continue there. */
  ms: number | null;
}

export function encodeCursor({ epoch, order, cut, at, ms }: Cursor): string {
  return Buffer.from(JSON.stringify([epoch, order, cut, at, ms])).toString('base64url');
}

/** @throws DroverError `bad_request` */
export function decodeCursor(text: string, epoch: string, order: PageRequest['order']): Cursor {
  const cursor = parse(text);
  if (cursor?.epoch !== epoch) {
    throw new DroverError('bad_request', 'cursor is not one of the stream of this cluster');
  }
  if (cursor.order !== order) {
    throw new DroverError('bad_request', `cursor is one of order=${cursor.order}`);
  }
  return cursor;
}

function parse(text: string): Cursor | null {
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
  if (!Array.isArray(values) || values.length !== 5) return null;
  const [epoch, order, cut, at, ms] = values as unknown[];
  const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
  if (typeof epoch !== 'string' || (order !== 'newest' && order !== 'oldest')) return null;
  if (!isNumber(cut) || (ms !== null && !isNumber(ms))) return null;
  if (at === null || typeof at !== 'object' || Array.isArray(at)) return null;
  const places = Object.entries(at) as [string, unknown][];
  if (!places.every(([, place]) => place === null || isNumber(place))) return null;
  return { epoch, order, cut, ms, at: Object.fromEntries(places) as Cursor['at'] };
}
