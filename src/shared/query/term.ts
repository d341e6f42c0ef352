import type { FieldName } from './fields.js';

/** The literal parts of a value, with a wildcard between each two of them: `demo-*` is `['demo-', '']`. */
export type Value = readonly string[];

export type Comparison = ':' | '<' | '<=' | '>' | '>=';

/** Where a term is in the text: `to` is after its last character. */
export interface TextSpan {
  from: number;
  to: number;
}

export interface FieldTerm {
  type: 'field';
  isNot: boolean;
  field: FieldName;
  /** The part after the dot, as `gold` in `data.gold`; else ''. */
  path: string;
  op: Comparison;
  /** One is enough. At least one, exactly one for other operators than `:`. */
  values: readonly Value[];
}

export interface TextTerm {
  type: 'text';
  isNot: boolean;
  text: string;
}

export interface RegexTerm {
  type: 'regex';
  isNot: boolean;
  /** The expression between the slashes. */
  source: string;
  ignoreCase: boolean;
}

export type Term = FieldTerm | TextTerm | RegexTerm;

/** An object matches when it has all terms. Without terms, everything matches. */
export type Query = readonly Term[];
