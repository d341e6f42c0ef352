// Pure; used by the journal and the dashboard. Owns what of a line's text is an escape of a terminal: colours and the like,
// which are no part of what the line says.

/**
 * CSI sequences, with what is in them and their last character; OSC strings (titles, links) with their end; and the
 * two-character escapes. Of a string without an end only its beginning goes: it would take the rest of the line with it.
 * Source: ECMA-48, 5.3 to 5.6.
 */
export const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]?|\u009b([0-?]*)[ -/]*([@-~])/g;

/** The text as it is searched and copied. */
export function withoutEscapes(text: string): string {
  return text.includes('\u001b') || text.includes('\u009b') ? text.replace(ESCAPES, '') : text;
}
