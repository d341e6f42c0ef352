// Replaces what differs between two messages of the same fault: ids, numbers, addresses, times, quoted parts, directories.

/** Units of a message that are read: they bound the work on a text that a bot chooses. */
const MAX_READ_UNITS = 1000;
/** Longest result, in UTF-16 units. */
const MAX_UNITS = 300;

/** Before a quoted part that names code, not data: it stays. */
const OF_CODE =
  /(?:reading|setting|attribute|module|module named|package|property|import|argument) $/;

/**
 * The order matters: a part that one pattern replaces is not seen by later ones. Each reads the text once, or once for
 * each of its words.
 */
const RULES: readonly (readonly [RegExp, string])[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escapes begin with one.
  [/\u001b\[[0-9;]*[A-Za-z]/g, ''],
  [/\b(?!file:)[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'`<>)\]},]+/gi, '<url>'],
  [/\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+/g, '<address>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?/g, '<time>'],
  [/\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b/g, '<time>'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '<address>'],
  [/\[[0-9a-f:]{2,45}(?:%\w+)?\](?::\d{1,5})?/gi, '<address>'],
  [/(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])/gi, '<address>'],
  [/\b(ENOTFOUND|EAI_AGAIN) [\w.-]+/g, '$1 <address>'],
  [/(?<![\w./-])[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){0,8}:\d{2,5}\b/gi, '<address>'],
];

/** A path with at least one directory; its last name may say which file it is. */
const PATH =
  /(?:file:\/\/)?(?:[A-Za-z]:)?(?:~|\.{1,2})?(?:[\\/][\w.@+~%$-]+){2,}(?:\?[\w=&.-]*)?(?::\d+){0,2}/g;
/** Words whose number says what happened. */
const TELLING =
  /(\bHTTP(?:\/[\d.]+)?|\bstatus(?: code)?|\bexit(?:ed with)? code|\berrno)(:?[ =]-?\d{1,5})\b/gi;
const HEX = /\b0x[0-9a-f]+\b/gi;
/** A word of eight units or more with letters and digits: a hash, a key, the name of a build. */
const LONG_ID =
  /(?<![\w<])(?=[A-Za-z_-]{0,40}\d)(?:[0-9a-f]{8,}|[A-Za-z0-9_]*[0-9][A-Za-z0-9_]*[A-Z][A-Za-z0-9_]*)(?![\w>])/g;
const NUMBER =
  /(?:(?<!\w)-)?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?(?:\s?(?:%|[mµn]?s|min|h|[kKMGT]i?B|bytes)\b)?/g;
/** Merges repetitions, because their number varies too. */
const LIST = /(<[a-z]+>)(?:[,;]? ?\1)+/g;

/** Private use: stands for a number that stays until the others are replaced. */
const KEPT = '\ue000';

/**
 * @param own the id of the bot that it is about, which is replaced first: it may be any word.
 * @returns the message with `<n>`, `<id>`, `<address>`, `<url>`, `<time>`, `<path>`, `<text>` and `<bot>` in the places of what
 * varies, in one line of at most 300 UTF-16 units.
 */
export function normalText(message: string, own: string | null = null): string {
  let text = message.slice(0, MAX_READ_UNITS).replaceAll(KEPT, '');
  if (own !== null) text = withoutWord(text, own);
  for (const [pattern, by] of RULES) text = text.replace(pattern, by);
  text = text.replace(PATH, (path) => `<path>/${lastName(path)}`);
  text = withoutQuoted(text);
  const kept: string[] = [];
  text = text.replace(TELLING, (all) => {
    kept.push(all);
    return KEPT;
  });
  text = text.replace(HEX, '<id>').replace(LONG_ID, '<id>').replace(NUMBER, '<n>');
  text = text.replaceAll(KEPT, () => kept.shift() ?? '');
  return text.replace(/\s+/g, ' ').replace(LIST, '$1…').trim().slice(0, MAX_UNITS);
}

/** The last name of a path or URL, without place, query and what a build adds to it. */
export function lastName(path: string): string {
  const name = path.replace(/(?::\d+){1,2}$/, '').replace(/[?#].*$/, '');
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  return last
    .replace(/[.-](?=[A-Za-z_]{0,9}\d)[A-Za-z0-9_]{8,10}(?=\.[a-z]{1,4}$)/, '-<id>')
    .replace(/(?<!<)\d+/g, '<n>');
}

function withoutWord(text: string, word: string): string {
  const parts = text.split(word);
  let found = parts[0] as string;
  for (const part of parts.slice(1)) {
    const isWhole = !/[\w-]$/.test(found) && !/^[\w-]/.test(part);
    found += (isWhole ? '<bot>' : word) + part;
  }
  return found;
}

/** Parts between a pair of quotes. An apostrophe within a word is no quote; an opening quote without an end stays. */
const QUOTED =
  /(?<!\w)(?:"[^"\n]*"|'[^'\n]*'(?!\w)|`[^`\n]*`|“[^”\n]*”|‘[^’\n]*’(?!\w)|«[^»\n]*»)/g;

function withoutQuoted(text: string): string {
  return text.replace(QUOTED, (all, at: number) =>
    OF_CODE.test(text.slice(Math.max(0, at - 16), at)) ? all : '<text>',
  );
}
