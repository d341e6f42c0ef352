/**
 * Terminal escapes: CSI sequences, with their parameters and final character; OSC strings (titles, links) with their
 * terminator; and two-character escapes. Of an unterminated string only the introducer matches, or the rest of the line would.
 *
 * Source: ECMA-48, 5.3 to 5.6.
 */
export const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]?|\u009b([0-?]*)[ -/]*([@-~])/g;

/** The text without terminal escapes, as it is searched and copied. */
export function withoutEscapes(text: string): string {
  return text.includes('\u001b') || text.includes('\u009b') ? text.replace(ESCAPES, '') : text;
}

/** Control characters, and characters that change the direction of text or end a line; for a class of an expression. */
const INVISIBLE =
  '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
/** Halves of characters too, which UTF-8 does not have; with the flag u, whole ones are not among them. */
export const EACH_INVISIBLE = new RegExp(`[${INVISIBLE}\\ud800-\\udfff]`, 'gu');

/** For schemas: a text without them. */
export const ONLY_VISIBLE = `^[^${INVISIBLE}]*$`;
/** What such a text must be, in an error. */
export const ONLY_VISIBLE_WORDS =
  'must have no control characters, and none that change the direction of text';

/** A name with a visible symbol for each character that would be executed by a terminal or reorder the text around it. */
export function visible(text: string): string {
  return text.replace(EACH_INVISIBLE, symbolOf);
}

export function symbolOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `⟨${code.toString(16)}⟩`;
}
