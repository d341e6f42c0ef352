// The format of a batch from a bot host to the broadcaster: one msgpackr document, an array of items packed as records, so
// that field names are sent once per batch.

import type { Item } from './events.js';
import { Packr } from './packr.js';

// No `structures` option: with it, record definitions would live in the encoder and a batch could not be
// decoded by itself. Each document must carry its own definitions, because a restarted broadcaster joins midway.
const packr = new Packr({ useRecords: true });

/** A batch as it crosses a MessagePort: transferred, never copied. */
export interface Batch {
  bytes: Uint8Array<ArrayBuffer>;
  /** A batch of a process, as src/shared/pipe/event-text.ts packs it. It is not validated yet. */
  isText?: true;
  /** Bots that the process may publish about from this batch on (true), or no longer (false). */
  speakers?: readonly (readonly [id: string, speaks: boolean])[];
}

/** The broadcaster's report to the relay about a batch of a process. */
export type BatchAnswer =
  /** Something that no host sends; `isRead` when it could be read. */
  | { fault: string; isRead: boolean }
  /** An event of a bot that the process may not speak of. It is not published. */
  | { stranger: string };

/** Packs items into a new buffer that can be transferred. */
export function encodeBatch(items: readonly Item[]): Uint8Array<ArrayBuffer> {
  // Copied: pack() returns a view on a buffer that it reuses, and a transfer would detach that buffer.
  return new Uint8Array(packr.pack(items));
}

/**
 * Unpacks a batch of {@link encodeBatch}.
 * @throws Error when the bytes are not one whole batch.
 */
export function decodeBatch(bytes: Uint8Array): Item[] {
  const items: unknown = packr.unpack(bytes);
  if (!Array.isArray(items)) throw new Error('a batch must be an array of items');
  return items as Item[];
}
