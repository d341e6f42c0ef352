// The part of a query for events that the ring's index does not answer.

import type { BotSnapshot } from '../contract/events.js';
import type { NodeNaming } from '../memory/node-names.js';
import type { FieldName } from '../query/fields.js';
import {
  type BotCondition,
  botCondition,
  type LineTest,
  lineQuery,
  lineTest,
} from '../query/line-query.js';
import { parseQuery } from '../query/parse-query.js';
import { printQuery, printTerm } from '../query/print-query.js';
import { Regex } from '../query/regex.js';
import { type Alternatives, requiredTexts } from '../query/required-texts.js';
import type { FieldTerm, Query, Term } from '../query/term.js';
import { literal } from '../query/values.js';
import { fieldStart } from './frame.js';
import { FrameLine, type IndexedFrames, type SampledFrames, snapshotLine } from './frame-line.js';
import type { HashSet } from './hash-set.js';
import { KnownNames } from './known-names.js';

/**
 * Shared by all queries of this thread, because each would need half a megabyte. Hashes of 64 bits differ, also of
 * other streams.
 */
const NAMES = new KnownNames();

/** A key is longer than the request: it has all quotes and escapes, and the text of `q`. */
const KEY_TIMES = 4;

/** The frame that was read last in this thread: rules read the same one, one after the other. */
let lastLine: FrameLine | undefined;

function lineOf(frames: IndexedFrames, seq: number, nodeNames: NodeNaming | undefined): FrameLine {
  if (!lastLine?.is(frames, seq, nodeNames)) {
    lastLine = new FrameLine(frames, seq, nodeNames, NAMES);
  }
  return lastLine;
}

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
  /** Undefined where the past is not asked for. */
  now?(): Promise<BotsNow>;
}

/** @param key equal for equal conditions. */
export type MakeJudge = (key: string, condition: BotCondition) => BotJudge;

export class FrameQuery {
  /** Equal for equal queries. */
  readonly key: string;
  /** The key of the terms that need no bot. */
  readonly lineKey: string;
  readonly judge: BotJudge | undefined;
  /** The terms that need no bot. */
  readonly #line: Query;
  readonly #test: LineTest | undefined;
  /** Tests of the terms about the scope, and about the bot's id. */
  readonly #scopeTest: LineTest | undefined;
  readonly #botTest: LineTest | undefined;
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
    this.#test = testOf(line);
    this.#scopeTest = testOf(line.filter((term) => isAbout(term, 'scope')));
    this.#botTest = testOf(line.filter((term) => isAbout(term, 'bot')));
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
    return new FrameQuery(parseQuery(key, 'lines', KEY_TIMES), undefined, nodeNames, except);
  }

  /** Texts of which one each is in everything that matches: required-texts.ts. */
  get texts(): Alternatives[] {
    return requiredTexts(this.#line);
  }

  /** Regular expressions that everything matches that does. */
  get regexes(): Regex[] {
    return this.#line.flatMap((term) =>
      term.type === 'regex' && !term.isNot ? [new Regex(term.source, term.ignoreCase)] : [],
    );
  }

  /** Pieces of JSON that are in everything that matches. */
  get pieces(): string[] {
    return this.#line.flatMap((term) => {
      const isWire = isAbout(term, 'transport') || isAbout(term, 'direction');
      return isWire && !term.isNot ? [pieceOf(term)] : [];
    });
  }

  /** Whether some frame can match that is no gap, by the names that there are. */
  mayHaveNames(frames: SampledFrames): boolean {
    const has = (test: LineTest | undefined, samples: 'scopeFrames' | 'sessionFrames'): boolean =>
      test === undefined || frames[samples].some((seq) => this.#passes(test, frames, seq, true));
    return has(this.#scopeTest, 'scopeFrames') && has(this.#botTest, 'sessionFrames');
  }

  /** Whether a frame that is no gap matches. */
  matches(frames: IndexedFrames, seq: number): boolean {
    const low = frames.sessionLow(seq);
    const high = frames.sessionHigh(seq);
    if (this.#except?.has(low, high)) return false;
    if (this.judge && !this.judge.had(low, high, seq)) return false;
    return this.#test === undefined || this.#passes(this.#test, frames, seq, false);
  }

  /** @param ifBroken the answer for a line that is no JSON: journals of earlier builds have some (src/journal/block.ts). */
  #passes(test: LineTest, frames: IndexedFrames, seq: number, ifBroken: boolean): boolean {
    try {
      return test(lineOf(frames, seq, this.#nodeNames));
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return ifBroken;
      throw thrown;
    }
  }

  matchesSnapshot(snapshot: BotSnapshot): boolean {
    if (this.judge && !this.judge.matches(snapshot)) return false;
    return this.#test?.(snapshotLine(snapshot)) ?? true;
  }
}

function isAbout<F extends FieldName>(term: Term, field: F): term is FieldTerm & { field: F } {
  return term.type === 'field' && term.field === field;
}

function testOf(terms: Query): LineTest | undefined {
  return terms.length > 0 ? lineTest(terms) : undefined;
}

/** The piece of JSON that a line with one of the term's values has: the whole field when there is one value. */
function pieceOf({ field, values }: FieldTerm & { field: 'transport' | 'direction' }): string {
  const [first = [], ...others] = values;
  const value = others.length === 0 ? literal(first) : undefined;
  const isPlain = value !== undefined && /^\w*$/.test(value);
  return fieldStart(field) + (isPlain ? `${value}"` : '');
}

/** The order of terms, and that some are there twice, does not matter. */
function keyOf(query: Query): string {
  const printed = new Map(query.map((term) => [printTerm(term), term]));
  return printQuery([...printed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, term]) => term));
}
