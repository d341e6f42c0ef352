// The only module that writes to standard output and standard error. What is printed can come from a bot, a server or a client,
// and may be meant to control the operator's terminal.

import { EACH_INVISIBLE } from './contract/escapes.js';
import { messageOf } from './errors.js';

/** Text in one of the terminal's colours (SGR). */
export interface Painted {
  color: number;
  text: string;
}

/** Empties the line of the cursor. */
export const CLEAR_LINE = Symbol('clear line');

export type Printed = string | Painted | typeof CLEAR_LINE;

/** Text without invisible characters, on one line: they are escaped as in JSON, which stays the same value. */
export function safeText(text: string): string {
  return text.replace(EACH_INVISIBLE, escaped);
}

/** The same for text of several lines: line breaks and tabs stay. */
export function safeLines(text: string): string {
  return text.replace(EACH_INVISIBLE, (at) => (at === '\n' || at === '\t' ? at : escaped(at)));
}

/** Prints without invisible characters but line breaks and tabs. @returns false when the reader is slow: await `drain`. */
export function write(stream: NodeJS.WritableStream, ...parts: readonly Printed[]): boolean {
  return stream.write(parts.map(shown).join(''));
}

/** One line on standard error. */
export function complain(message: string): void {
  write(process.stderr, `drover: ${safeText(messageOf(message))}\n`);
}

function shown(part: Printed): string {
  if (part === CLEAR_LINE) return '\r\u001b[K';
  if (typeof part === 'string') return safeLines(part);
  return `\u001b[${part.color}m${safeText(part.text)}\u001b[0m`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
