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

/** Sequences of a live table: the terminal's second screen without a cursor, and parts of that. */
export const SCREEN = {
  open: { control: '\u001b[?1049h\u001b[?25l' },
  close: { control: '\u001b[?25h\u001b[?1049l' },
  top: { control: '\u001b[H' },
  clearRight: { control: '\u001b[K' },
  clearBelow: { control: '\u001b[J' },
} as const;
type Control = (typeof SCREEN)[keyof typeof SCREEN];

export type Printed = string | Painted | typeof CLEAR_LINE | Control;

/** Text without invisible characters, on one line: they are escaped as in JSON, which stays the same value. */
export function safeText(text: string): string {
  return text.replace(EACH_INVISIBLE, escaped);
}

/** Text of several lines without invisible characters: line breaks and tabs stay. */
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
  if ('control' in part) return part.control;
  return `\u001b[${part.color}m${safeText(part.text)}\u001b[0m`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
