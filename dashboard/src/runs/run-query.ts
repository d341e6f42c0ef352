// Runs in the worker of a run. Tests the lines of a recording against a query, as the service does with those of its journal.

import type { BotSnapshot, Level } from '../../../src/client/index.js';
import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import {
  eventTest,
  lineQuery,
  lineTest,
  NO_FIELDS,
  type QueriedLine,
  queriedLog,
} from '../../../src/shared/query/line-query.js';
import { finderOf, requiredTexts } from '../../../src/shared/query/required-texts.js';
import { checkedQuery } from '../query/checked-query.js';
import type { FileLine } from './file-lines.js';
import type { RecordedLine } from './log-line.js';

/** Bots whose snapshots are held, for terms about bots. */
const MAX_BOTS = 20_000;

/** Escapes but those of quotes, backslashes and line breaks: a text may be written with them, or interrupted by them. */
const UNUSUAL = /\\[^"\\nrt]/;
const ASCII = /^[ -~]*$/;

/** For tests that look at the level only. */
const NOTHING: QueriedLine = { ...NO_FIELDS, event: 'log', text: '' };

export interface EventTest {
  /** It has terms about bots, so {@link see} must be called with their snapshots, in order. */
  needsBots: boolean;
  see(snapshot: BotSnapshot): void;
  /** Whether a line of this level can pass, by how it is written in the file: most need not be read for that. */
  mayPass(level: Level, line: FileLine): boolean;
  passes(line: RecordedLine['data']): boolean;
}

/** @returns undefined for a query that lets everything through, also one that cannot be read. */
export function runTest(query: string): EventTest | undefined {
  const terms = checkedQuery(query, 'lines').terms.map(({ term }) => term);
  if (terms.length === 0) return undefined;
  const { line: ofLine, bot: ofBot } = lineQuery(terms);
  const test = eventTest(terms);
  const needsBots =
    ofBot.length > 0 || terms.some((term) => term.type === 'field' && term.field === 'node');
  const levelTest = lineTest(
    ofLine.filter((term) => term.type === 'field' && term.field === 'level'),
  );
  const levels = new Set(LEVELS.filter((level) => levelTest({ ...NOTHING, level })));
  // Other characters may be written in several ways.
  const texts = requiredTexts(ofLine).filter((all) => all.every((text) => ASCII.test(text)));
  const needles = texts.map((alternatives) => finderOf(alternatives, 'i'));
  const bots = new Map<string, BotSnapshot>();
  return {
    needsBots,
    see: (snapshot) => {
      if (bots.size < MAX_BOTS || bots.has(snapshot.id)) bots.set(snapshot.id, snapshot);
    },
    mayPass: (level, { text = '', isAscii }) =>
      levels.has(level) &&
      (!isAscii || needles.every((needle) => needle.test(text)) || UNUSUAL.test(text)),
    passes: (line) => {
      const bot = line.session_id === null ? undefined : bots.get(line.session_id);
      return test(queriedLog(line, bot?.node), bot);
    },
  };
}
