// Runs in the command line. Owns what goes to standard output: text at the pace of its reader, tables, colours.

import { once } from 'node:events';
import { clearProgress } from './progress.js';

/** Writes, and waits while the reader is behind. */
export async function print(text: string): Promise<void> {
  clearProgress();
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Whether a file that is asked for is none, but `-`. */
export function isStandardOutput(path: string | undefined): boolean {
  return path === '-';
}

/** JSON on lines of its own, to be read by people and programs. */
export async function printJson(value: unknown): Promise<void> {
  await print(`${safeJson(value, 2)}\n`);
}

/**
 * JSON in which no terminal finds a command: JSON escapes most control characters itself, these are the rest. It means the
 * same to whoever parses it.
 */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text in which control characters are shown and not obeyed. */
export function safeText(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Columns as wide as what is in them; the last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows.map((row) => row.map(safeText))];
  const widths = head.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * Whether to colour. NO_COLOR (no-color.org) and the flag turn it off, FORCE_COLOR on where there is no terminal.
 * @param flag false when `--no-color` was given.
 */
export function isColored(
  flag: boolean,
  env = process.env,
  isTerminal = process.stdout.isTTY,
): boolean {
  if (!flag || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return isTerminal === true || !['', '0', undefined].includes(env['FORCE_COLOR']);
}
