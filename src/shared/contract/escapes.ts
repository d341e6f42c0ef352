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
