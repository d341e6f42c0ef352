// Bounds a line's message and encodes it as JSON. The writer of the line does this, not the broadcaster: there are many writers
// and one broadcaster, and escaping is a large part of the cost of an event.

/**
 * Longest message of a log event in UTF-16 units. JSON takes at most 6 bytes for one (an escape), so that every frame
 * stays below the ring's largest; longer messages are cut with a visible mark.
 */
export const MAX_MESSAGE_UNITS = 8192;

/** What JSON must escape in a string: quotes, backslashes, control characters, and lone surrogates (well-formed JSON). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const NEEDS_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A message as JSON, bounded. */
export function messageJson(message: string): string {
  const bounded = boundMessage(message);
  // Most lines need no escape, and finding that out is faster than JSON.stringify.
  return NEEDS_ESCAPE.test(bounded) ? JSON.stringify(bounded) : `"${bounded}"`;
}

/** Cuts a message that is too long and says so at its end. */
export function boundMessage(message: string): string {
  if (message.length <= MAX_MESSAGE_UNITS) return message;
  const mark = `… [cut, ${message.length} characters]`;
  return cut(message, MAX_MESSAGE_UNITS - mark.length) + mark;
}

/** The first units of a text, not up to the middle of a character. */
export function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  return text.slice(0, isHighSurrogate(text.charCodeAt(units - 1)) ? units - 1 : units);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
