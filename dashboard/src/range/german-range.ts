// German words for a time range, in the words that parse-range.ts reads. They are read in every language of the page: people paste.

const WORDS: readonly (readonly [german: RegExp, english: string])[] = [
  [/\b(?:die )?letzte[nrs]?\b/g, 'last'],
  [/^vor (.+)$/, '$1 ago'],
  [/\bzwischen\b/g, 'between'],
  [/\b(?:seit|ab)\b/g, 'since'],
  [/\bvon\b/g, 'from'],
  [/\bbis\b/g, 'to'],
  [/\bund\b/g, 'and'],
  [/\bum\b/g, 'at'],
  [/\buhr\b/g, ''],
  [/\bgestern\b/g, 'yesterday'],
  [/\bheute\b/g, 'today'],
  [/\bjetzt\b/g, 'now'],
  [/\beine[rnm]?\b/g, '1'],
  [/(?<![a-zäöü])sek(?:unden?)?\b/g, 'sec'],
  [/(?<![a-zäöü])minuten?\b/g, 'min'],
  [/(?<![a-zäöü])(?:std|stunden?)\b/g, 'h'],
  [/(?<![a-zäöü])(?:tage?n?|tg)\b/g, 'days'],
  [/(?<![a-zäöü])wochen?\b/g, 'weeks'],
  [/\b(\d+),(\d+) ?(?=[a-z])/g, '$1.$2 '],
];
/** `24.11.2026`, `24.11.` */
const DATE = /\b(\d{1,2})\.(\d{1,2})\.(\d{4})?(?!\d)/g;

/** @param typed in lower case. */
export function withoutGerman(typed: string): string {
  let text = typed.replace(DATE, (_, day: string, month: string, year: string | undefined) =>
    year === undefined ? `${month}-${day}` : `${year}-${month}-${day}`,
  );
  for (const [german, english] of WORDS) text = text.replace(german, english);
  return text.replace(/\s+/g, ' ').trim();
}
