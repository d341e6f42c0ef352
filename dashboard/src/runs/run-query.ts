// Runs in the worker of a run. Judges the lines of a recording by a query, as the service judges those of its journal.

import type { BotSnapshot, LogEvent } from '../../../src/client/index.js';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import { botCondition, lineQuery, lineTest } from '../../../src/shared/query/line-query.js';
import { checkedQuery } from '../query/checked-query.js';

/** Bots whose snapshots are held, for terms about bots. */
const MAX_BOTS = 20_000;

export interface EventTest {
  /** It has terms about bots, so {@link see} must be called with their snapshots, in order. */
  needsBots: boolean;
  see(snapshot: BotSnapshot): void;
  passes(line: LogEvent): boolean;
}

/** @returns undefined for a query that lets everything through, also one that cannot be read. */
export function runTest(query: string): EventTest | undefined {
  const terms = checkedQuery(query, 'lines').terms.map(({ term }) => term);
  if (terms.length === 0) return undefined;
  const { line: ofLine, bot: ofBot } = lineQuery(terms);
  const test = lineTest(ofLine);
  const condition = botCondition(ofBot);
  const needsBots =
    condition !== undefined || terms.some((term) => term.type === 'field' && term.field === 'node');
  const bots = new Map<string, BotSnapshot>();
  return {
    needsBots,
    see: (snapshot) => {
      if (bots.size < MAX_BOTS || bots.has(snapshot.id)) bots.set(snapshot.id, snapshot);
    },
    passes: ({ level, scope, session_id, transport, direction, message, timestamp_ms }) => {
      const bot = session_id === null ? undefined : bots.get(session_id);
      if (condition && !(bot ? condition.test(bot, timestamp_ms) : condition.isOpen)) return false;
      return test({
        event: 'log',
        level,
        scope,
        bot: session_id,
        node: bot?.node ?? null,
        transport,
        direction,
        get text() {
          return withoutEscapes(message);
        },
      });
    },
  };
}
