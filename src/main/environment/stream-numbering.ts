import { join } from 'node:path';
import type { Config } from '../../shared/contract/config.js';
import type { PreviousShutdown } from '../../shared/contract/threads.js';
import { messageOf } from '../../shared/errors.js';
import { type Identity, Numbering, newIdentity } from '../../shared/stream/numbering.js';

/** First sequence number of a numbering, so that 0 can stand for "nothing yet". */
const FIRST_SEQ = 1;
const DIRECTORY = 'journal';

/** How the stream is numbered in this run. */
export interface StreamNumbering extends Identity {
  first: number;
  previousShutdown: PreviousShutdown;
  /** Why the numbering could not be read from the journal, which therefore does not know it. */
  fault: string | null;
}

export function journalDir(dataDir: string): string {
  return join(dataDir, DIRECTORY);
}

/** Continues the journal's numbering, or begins one that lasts for this run. */
export function beginNumbering(dataDir: string, { enabled }: Config['journal']): StreamNumbering {
  if (!enabled)
    return { ...newIdentity(), first: FIRST_SEQ, previousShutdown: 'clean', fault: null };
  try {
    const { numbering, first, previousShutdown } = Numbering.begin(journalDir(dataDir));
    return { ...numbering.identity, first, previousShutdown, fault: null };
  } catch (thrown) {
    return {
      ...newIdentity(),
      first: FIRST_SEQ,
      previousShutdown: 'unexamined',
      fault: messageOf(thrown),
    };
  }
}
