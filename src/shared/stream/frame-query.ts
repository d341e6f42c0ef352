// The part of a query for events that the ring's index does not answer.

import type { BotSnapshot } from '../contract/events.js';
import type { NodeNaming } from '../memory/node-names.js';
import type { FieldName } from '../query/fields.js';
import { type BotCondition, botCondition, lineQuery, lineTest } from '../query/line-query.js';
import { parseQuery } from '../query/parse-query.js';
import { printQuery, printTerm } from '../query/print-query.js';
import { requiredTexts } from '../query/required-texts.js';
import type { Query } from '../query/term.js';
import { literal } from '../query/values.js';
import { FrameLine, type IndexedFrames, snapshotLine } from './frame-line.js';
import type { HashSet } from './hash-set.js';
import { KnownNames } from './known-names.js';

/** Of all queries of this thread: as many would take half a megabyte each. Hashes of 64 bits differ, also of other streams. */
const NAMES = new KnownNames();

/** Which bots match now: those that are named, or all others and events without a bot. */
export interface BotsNow {
  areOthers: boolean;
  ids: readonly string[];
}

/** Judges the bots of frames for one query. Used between begin() and end(), by a group of subscribers. */
export interface BotJudge {
  begin(): void;
  end(): void;
  /** Frames before `since` and from `known` on cannot be judged. */
  readonly since: number;
  readonly known: number;
  /** Whether the bot of frame `seq` matched then. */
  had(low: number, high: number, seq: number): boolean;
  matches(snapshot: BotSnapshot): boolean;
  now(): BotsNow;
}

/** @param key equal for equal conditions. */
export type MakeJudge = (key: string, condition: BotCondition) => BotJudge;

export class FrameQuery {
  /** Equal for equal queries. */
  readonly key: string;
  /** Of the terms that need no bot. */
  readonly lineKey: string;
  readonly judge: BotJudge | undefined;
  /** Of the terms that need no bot. */
  readonly #line: Query;
  readonly #test: ReturnType<typeof lineTest> | undefined;
  readonly #nodeNames: NodeNaming | undefined;
  readonly #except: HashSet | undefined;

  /** @param except sessions that do not match. */
  constructor(
    query: Query,
    makeJudge: MakeJudge | undefined,
    nodeNames: NodeNaming | undefined,
    except?: HashSet,
  ) {
    const { line, bot } = lineQuery(query);
    this.#line = line;
    this.lineKey = keyOf(line);
    this.key = keyOf(query);
    this.#test = line.length > 0 ? lineTest(line) : undefined;
    const condition = botCondition(bot);
    this.judge = condition && makeJudge?.(keyOf(bot), condition);
    this.#nodeNames = nodeNames;
    this.#except = except;
  }

  /** The query of this {@link lineKey}, in another thread. */
  static ofKey(
    key: string,
    nodeNames: NodeNaming | undefined,
    except: HashSet | undefined,
  ): FrameQuery {
    return new FrameQuery(parseQuery(key, 'lines'), undefined, nodeNames, except);
  }

  /** Texts that are in everything that matches: required-texts.ts. */
  get texts(): string[] {
    return requiredTexts(this.#line);
  }

  /** Of a frame that is no gap. */
  matches(frames: IndexedFrames, seq: number): boolean {
    const low = frames.sessionLow(seq);
    const high = frames.sessionHigh(seq);
    if (this.#except?.has(low, high)) return false;
    if (this.judge && !this.judge.had(low, high, seq)) return false;
    if (!this.#test) return true;
    try {
      return this.#test(new FrameLine(frames, seq, this.#nodeNames, NAMES));
    } catch (thrown) {
      // Journals of earlier builds have lines that are no JSON (src/journal/block.ts).
      if (thrown instanceof SyntaxError) return false;
      throw thrown;
    }
  }

  matchesSnapshot(snapshot: BotSnapshot): boolean {
    if (this.judge && !this.judge.matches(snapshot)) return false;
    return this.#test?.(snapshotLine(snapshot)) ?? true;
  }
}

/** The order of terms, and that some are there twice, does not matter. */
function keyOf(query: Query): string {
  const printed = new Map(query.map((term) => [printTerm(term), term]));
  return printQuery([...printed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, term]) => term));
}

/** The parameter of a filter that a field is. */
const PARAMETERS = {
  event: 'kind',
  level: 'level',
  bot: 'session',
  scope: 'scope',
  node: 'node',
} as const satisfies Partial<Record<FieldName, string>>;
export type QueryParameter = (typeof PARAMETERS)[keyof typeof PARAMETERS];

/** A query as parameters that the index answers, and the rest. */
export interface SplitQuery {
  /** For each parameter, lists of which a frame must have one value each. */
  parameters: { name: QueryParameter; values: ReadonlySet<string> }[];
  rest: Query;
}

export function splitQuery(query: Query): SplitQuery {
  const parameters: SplitQuery['parameters'] = [];
  const rest = query.filter((term) => {
    if (term.type !== 'field' || term.isNot || !Object.hasOwn(PARAMETERS, term.field)) return true;
    const values = term.values.map(literal);
    if (values.includes(undefined)) return true;
    const name = PARAMETERS[term.field as keyof typeof PARAMETERS];
    parameters.push({ name, values: new Set(values as string[]) });
    return false;
  });
  return { parameters, rest };
}
