// What must be in everything that matches a query, so that a search can skip what lacks it without reading it line by line.

import { parseRegex, type Tree } from './regex-tree.js';
import type { Query, Term } from './term.js';

/** What JSON writes in another way, as a text is looked for in lines that are JSON, and the letter whose lower case depends on its place. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const ESCAPED = /[Σσς"\\\u0000-\u001f\u2028\u2029\ud800-\udfff]/;

/** Texts that each line has that matches the query, in upper or lower case, as they are in its JSON. */
export function requiredTexts(query: Query): string[] {
  const texts = query.flatMap((term) => (term.isNot ? [] : textsOf(term)));
  return [...new Set(texts.map(longestPart))].filter((text) => text.length > 1);
}

function textsOf(term: Term): string[] {
  if (term.type === 'text') return [term.text];
  if (term.type === 'regex') return requiredRuns(parseRegex(term.source, term.ignoreCase, 0));
  return [];
}

function longestPart(text: string): string {
  return longest(text.split(ESCAPED));
}

function longest(texts: readonly string[]): string {
  return texts.reduce((best, text) => (text.length > best.length ? text : best), '');
}

/** Characters that follow each other in every text that matches. */
function requiredRuns(tree: Tree): string[] {
  const runs: string[] = [];
  let run = '';
  const end = (): void => {
    if (run !== '') runs.push(run);
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
        // Behind the first copy comes another one, or what follows: its beginning is required, its end is not.
        if (part.least > 0) visit(part.of);
        end();
        break;
      case 'any':
        end();
        break;
      default:
      // An edge takes no character.
    }
  };
  visit(tree);
  end();
  return runs;
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
