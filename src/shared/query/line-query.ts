// Decides which events of the log a query lets through.

import { withoutEscapes } from '../contract/escapes.js';
import type { Kind } from '../contract/event-kinds.js';
import type { LogEvent } from '../contract/events.js';
import { type BotTest, botTest, isOneOf, type QueriedBot } from './bot-query.js';
import { FIELDS, type FieldName } from './fields.js';
import { lowerCase, lowerCaseJson } from './lower-case.js';
import { Regex } from './regex.js';
import { requiredTexts } from './required-texts.js';
import type { FieldTerm, Query, Term } from './term.js';

/** The properties of an event that a query can ask about. Null where it has none. */
export interface QueriedLine {
  event: Kind;
  level: string | null;
  scope: string | null;
  bot: string | null;
  node: string | null;
  transport: string | null;
  direction: string | null;
  /** Of an activity. */
  actor?: string | null;
  activity?: string | null;
  /** The message of a line without terminal escapes; of another event, its JSON. */
  text: string;
  /** The text in lower case (lower-case.ts), when that is kept: many queries look at one event. */
  lowerText?: string;
}

/** A query for lines, taken apart: what the event itself answers, and what the snapshot of its bot does. */
export interface LineQuery {
  line: Query;
  bot: Query;
}

export function lineQuery(query: Query): LineQuery {
  const isAboutBot = (term: Term): boolean =>
    term.type === 'field' && FIELDS[term.field].of === 'bot';
  return { line: query.filter((term) => !isAboutBot(term)), bot: query.filter(isAboutBot) };
}

export type LineTest = (line: QueriedLine) => boolean;

/** Whether an event has all terms, none of which is about its bot. */
export function lineTest(line: Query): LineTest {
  // Cheap ones first: the text is read only of what has the rest.
  const tests = [...line].sort((a, b) => costOf(a) - costOf(b)).map(testOf);
  return (line) => tests.every((test) => test(line));
}

/** Terms about a bot, for events. */
export interface BotCondition {
  test: BotTest;
  /** An event without a bot, or of one that is not known, passes: everything is excluded, nothing is required. */
  isOpen: boolean;
}

/** @returns undefined without such terms. */
export function botCondition(bot: Query): BotCondition | undefined {
  if (bot.length === 0) return undefined;
  return { test: botTest(bot), isOpen: bot.every(({ isNot }) => isNot) };
}

/** The properties of an event of which only the text is known. */
export const NO_FIELDS = {
  level: null,
  scope: null,
  bot: null,
  node: null,
  transport: null,
  direction: null,
} as const;

/** Whether an event has all terms. @param bot the event's; undefined when it has none, or it is not known. */
export type EventTest = (event: QueriedLine, bot: QueriedBot | undefined) => boolean;

export function eventTest(query: Query): EventTest {
  const { line, bot: ofBot } = lineQuery(query);
  const test = lineTest(line);
  const condition = botCondition(ofBot);
  // No term about an event compares with the time.
  const fits = (bot: QueriedBot | undefined): boolean =>
    !condition || (bot ? condition.test(bot, 0) : condition.isOpen);
  return (event, bot) => fits(bot) && test(event);
}

/** A line as queries see it. @param node it does not say from which one it is: in a cluster nearly always that of its bot. */
export function queriedLog(
  { level, scope, session_id, transport, direction, message }: LogEvent,
  node: string | undefined,
): QueriedLine {
  return {
    ...NO_FIELDS,
    event: 'log',
    level,
    scope,
    bot: session_id,
    node: node ?? null,
    transport,
    direction,
    get text() {
      return withoutEscapes(message);
    },
  };
}

const COSTS: Partial<Record<FieldName, number>> = { event: 0, level: 0, node: 0 };

function costOf(term: Term): number {
  if (term.type === 'regex') return 3;
  if (term.type === 'text') return 2;
  return COSTS[term.field] ?? 1;
}

function testOf(term: Term): (line: QueriedLine) => boolean {
  const test = plainTest(term);
  return term.isNot ? (line) => !test(line) : test;
}

function plainTest(term: Term): (line: QueriedLine) => boolean {
  if (term.type === 'field') return fieldTest(term);
  if (term.type === 'regex') {
    const regex = new Regex(term.source, term.ignoreCase);
    // Most texts lack what it requires, and to look for that takes a fifth of the time.
    const required = requiredTexts([{ ...term, isNot: false }]).map((texts) =>
      texts.map(lowerCase),
    );
    return (line) => {
      const { text } = line;
      if (required.length === 0) return regex.test(text);
      const lower = line.lowerText ?? lowerCase(text);
      return (
        required.every((texts) => texts.some((one) => lower.includes(one))) && regex.test(text)
      );
    };
  }
  const wanted = lowerCase(term.text);
  // Other events are JSON: a quote is one inside a string.
  const inJson = lowerCaseJson(term.text);
  return (line) =>
    (line.lowerText ?? lowerCase(line.text)).includes(line.event === 'log' ? wanted : inJson);
}

function fieldTest(term: FieldTerm): (line: QueriedLine) => boolean {
  const { field } = term;
  switch (field) {
    case 'event':
    case 'level':
    case 'scope':
    case 'bot':
    case 'node':
    case 'transport':
    case 'direction':
    case 'actor':
    case 'activity':
      return (line) => {
        const value = line[field];
        return value !== null && value !== undefined && isOneOf(term, value);
      };
    default:
      // Terms about bots are taken out before.
      return () => false;
  }
}
