// The regular expressions of bot kinds' schemas: `pattern` and `patternProperties`.

import { QueryError } from './query-error.js';
import { Regex } from './regex.js';

/** Most positions of a pattern that is matched in one pass. */
const MAX_PATTERN_POSITIONS = 512;

export interface SchemaPattern {
  test(text: string): boolean;
  /**
   * Whether it is matched in one pass over the text. Otherwise RegExp tries alternatives, and some texts can take
   * minutes.
   */
  isLinear: boolean;
  /** Different for different patterns: Ajv keeps one of each. */
  toString(): string;
}

/**
 * Values come from any client that may create bots, so patterns are matched in one pass where that is possible. Lookaround,
 * references to groups, `\b`, `\p{…}` and long counts are not: those are left to RegExp.
 * @throws SyntaxError for what is no expression.
 */
export function schemaPattern(source: string, flags = 'u'): SchemaPattern {
  const tried = new RegExp(source, flags);
  const linear = linearOf(source);
  return {
    test: (text) => (linear ?? tried).test(text),
    isLinear: linear !== undefined,
    toString: () => String(tried),
  };
}

function linearOf(source: string): Regex | undefined {
  try {
    const regex = new Regex(source, false, MAX_PATTERN_POSITIONS);
    return regex.hasDoubleEdge ? undefined : regex;
  } catch (thrown) {
    if (thrown instanceof QueryError) return undefined;
    throw thrown;
  }
}
