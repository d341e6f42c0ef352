// Fuzzy search: letters in their order, better the closer they are together and the more words they begin.

export interface Match {
  /** Higher is better. */
  score: number;
  /** Positions of the letters that were found, ascending. */
  matchedAt: readonly number[];
}

const AT_START = 12;
const AT_WORD = 8;
const NEXT_TO = 9;
const LETTER = 1;
/** For each letter of the text that was not asked for: a shorter text is meant. */
const REST = 0.05;
const WORD_BREAK = /[\s._:/-]/;

/** Each word of the query has to be found, in any order. @returns undefined if one is not. */
export function fuzzy(text: string, query: string): Match | undefined {
  const words = query
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
  const lower = text.toLowerCase();
  // Some letters change length when lowercased; then the positions would be wrong.
  const searched = lower.length === text.length ? lower : text;
  let score = -searched.length * REST;
  const matchedAt = new Set<number>();
  for (const word of words) {
    const found = best(searched, word);
    if (!found) return undefined;
    score += found.score;
    for (const at of found.matchedAt) matchedAt.add(at);
  }
  return { score, matchedAt: [...matchedAt].sort((a, b) => a - b) };
}

/** The better of two readings: the word as it is, at its best position, and its letters from the first that fits. */
function best(text: string, word: string): Match | undefined {
  const whole = wholeOf(text, word);
  const spread = spreadOf(text, word);
  if (!whole) return spread;
  return spread && spread.score > whole.score ? spread : whole;
}

function wholeOf(text: string, word: string): Match | undefined {
  let found: Match | undefined;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const matchedAt = Array.from(word, (_, n) => at + n).slice(0, word.length);
    const match = { score: scoreOf(text, matchedAt), matchedAt };
    if (!found || match.score > found.score) found = match;
  }
  return found;
}

function spreadOf(text: string, word: string): Match | undefined {
  const matchedAt: number[] = [];
  let from = 0;
  for (let n = 0; n < word.length; n++) {
    const letter = word[n] ?? '';
    const next = text.indexOf(letter, from);
    if (next < 0) return undefined;
    // The beginning of a word is meant, if the rest is behind it.
    const start = startOf(text, letter, next);
    const at = start !== undefined && hasInOrder(text, word, n + 1, start + 1) ? start : next;
    matchedAt.push(at);
    from = at + 1;
  }
  return { score: scoreOf(text, matchedAt), matchedAt };
}

/** The next position from `from` where a word begins with the letter, unless the letter at `from` continues a match. */
function startOf(text: string, letter: string, from: number): number | undefined {
  for (let at = from; at >= 0; at = text.indexOf(letter, at + 1)) {
    if (isStart(text, at)) return at;
  }
  return undefined;
}

function hasInOrder(text: string, word: string, n: number, from: number): boolean {
  let at = from;
  for (; n < word.length; n++) {
    const next = text.indexOf(word[n] ?? '', at);
    if (next < 0) return false;
    at = next + 1;
  }
  return true;
}

function scoreOf(text: string, matchedAt: readonly number[]): number {
  let score = 0;
  for (const [n, at] of matchedAt.entries()) {
    score += LETTER;
    if (at === 0) score += AT_START;
    else if (isStart(text, at)) score += AT_WORD;
    if (n > 0 && matchedAt[n - 1] === at - 1) score += NEXT_TO;
  }
  return score;
}

function isStart(text: string, at: number): boolean {
  return at === 0 || WORD_BREAK.test(text[at - 1] ?? '');
}
