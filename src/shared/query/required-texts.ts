// Finds texts that every match of a query has, so that a search can skip blocks without them instead of reading each
// line.

import { parseRegex, type Tree } from './regex-tree.js';
import type { Query, Term } from './term.js';

/** What JSON writes in another way, as a text is looked for in lines that are JSON, and the letter whose lower case depends on its place. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const ESCAPED = /[Σσς"\\\u0000-\u001f\u2028\u2029\ud800-\udfff]/;

/** Characters of the syntax of RegExp. */
const SYNTAX = /[\\^$.*+?()[\]{}|/]/g;
/** Most texts of which one is required. */
const MAX_ALTERNATIVES = 16;

/** Texts of which each line that matches has one. */
export type Alternatives = readonly string[];

/** The texts that each line has that matches the query, in upper or lower case, as it is in its JSON. */
export function requiredTexts(query: Query): Alternatives[] {
  const texts = query.flatMap((term) => (term.isNot ? [] : textsOf(term)));
  const parts = texts.map((alternatives) => [...new Set(alternatives.map(longestPart))].sort());
  const different = new Map(parts.map((alternatives) => [alternatives.join('\n'), alternatives]));
  return [...different.values()].filter((alternatives) => shortest(alternatives) > 1);
}

/** The length of the shortest one: the longer it is, the fewer lines have one. */
export function shortest(alternatives: Alternatives): number {
  return Math.min(...alternatives.map(({ length }) => length));
}

/** Finds one of these texts. */
export function finderOf(texts: Alternatives, flags: string): RegExp {
  return new RegExp(texts.map((text) => text.replace(SYNTAX, '\\$&')).join('|'), flags);
}

function textsOf(term: Term): Alternatives[] {
  if (term.type === 'text') return [[term.text]];
  if (term.type === 'regex') return requiredRuns(parseRegex(term.source, term.ignoreCase, 0));
  return [];
}

function longestPart(text: string): string {
  const parts = text.split(ESCAPED);
  return parts.reduce((best, part) => (part.length > best.length ? part : best), '');
}

/** Characters that follow each other in every text that matches. */
function requiredRuns(tree: Tree): Alternatives[] {
  const runs: Alternatives[] = [];
  let run = '';
  const end = (): void => {
    if (run !== '') runs.push([run]);
    run = '';
  };
  const visit = (part: Tree): void => {
    switch (part.type) {
      case 'chars': {
        const char = onlyChar(part.set);
        if (char === undefined) end();
        else run += char;
        break;
      }
      case 'all':
        for (const one of part.of) visit(one);
        break;
      case 'repeat':
        // The first copy is followed by another copy or by the next part, so its beginning is required and its end is
        // not.
        if (part.least > 0) visit(part.of);
        end();
        break;
      case 'any':
        end();
        runs.push(...alternativesOf(part.of));
        break;
      default:
      // An edge takes no character.
    }
  };
  visit(tree);
  end();
  return runs;
}

/** The texts of which these trees require one, when each requires some. */
function alternativesOf(trees: readonly Tree[]): Alternatives[] {
  const best = trees.map((tree) =>
    requiredRuns(tree).reduce<Alternatives>(
      (longest, run) => (longest.length === 0 || shortest(run) > shortest(longest) ? run : longest),
      [],
    ),
  );
  const all = best.flat();
  const isWhole = best.every(({ length }) => length > 0);
  return isWhole && all.length <= MAX_ALTERNATIVES ? [all] : [];
}

/** The character of a set that has one, or both cases of one letter of English. */
function onlyChar(set: readonly (readonly [number, number])[]): string | undefined {
  const codes = set.flatMap(([from, to]) => (to - from > 1 ? [] : [from, to]));
  const isWhole = set.length > 0 && set.every(([from, to]) => to - from <= 1);
  const chars = new Set(codes.map((code) => String.fromCodePoint(code).toLowerCase()));
  const [char] = chars;
  const isAscii = codes.every((code) => code < 0x80);
  return isWhole && isAscii && chars.size === 1 ? char : undefined;
}
