// Unit tests. A journal as its thread has it, on a real ring and a real directory.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { Broadcaster } from '../../src/broadcast/broadcaster.js';
import type { Item } from '../../src/contract/events.js';
import type { PageRequest } from '../../src/contract/journal.js';
import { messageJson } from '../../src/contract/line-text.js';
import { Journal } from '../../src/journal/journal.js';
import { Numbering } from '../../src/journal/numbering.js';
import { createRing } from '../../src/shm/layout.js';
import { createLags } from '../../src/shm/loop-lag.js';

const READER = 0;

/** A page of everything. */
export const PAGE: PageRequest = {
  filter: null,
  order: 'newest',
  afterSeq: null,
  beforeSeq: null,
  afterMs: null,
  beforeMs: null,
  text: null,
  limit: 1000,
  maxBytes: 1_000_000,
  lines: true,
};

/** The key of a filter that lets these bots through. */
export const keyOfSessions = (...ids: string[]): string =>
  JSON.stringify([null, null, ids, null, null]);

export const logLine = (session_id: string, message: string): Item => ({
  kind: 'log',
  timestamp_ms: Date.now(),
  level: 'info',
  scope: 'bot',
  session_id,
  transport: null,
  direction: null,
  message_json: messageJson(message),
});

export function testJournal() {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-journal-'));
  const { numbering, first } = Numbering.begin(dir);
  const ring = createRing({ bytes: 64 * 1024 * 1024, slots: 262_144, fronts: 1 }, first);
  const stream = { ring, ...numbering.identity };
  const broadcaster = new Broadcaster(stream, () => journal.wake());
  const journal = new Journal(
    {
      config: {
        enabled: true,
        max_bytes: 1024 ** 3,
        max_age_hours: 1,
        flush_ms: 50,
        fsync: 'never',
      },
      dir,
      stream,
      reader: READER,
      first,
      fault: null,
      left: 'ended',
      lag: { buffer: createLags(1), block: 0 },
    },
    { status: () => {}, baseline: async () => broadcaster.baseline() },
  );
  onTestFinished(async () => {
    await journal.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const publish = (items: readonly Item[]): void => {
    broadcaster.publish(items);
  };
  return { journal, publish };
}
