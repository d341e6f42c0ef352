import { once } from 'node:events';
import { clearProgress } from './progress.js';

/** Writes to standard output with backpressure. */
export async function print(text: string): Promise<void> {
  clearProgress();
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

export function isStandardOutput(path: string | undefined): boolean {
  return path === '-';
}

export async function printJson(value: unknown): Promise<void> {
  await print(`${safeJson(value, 2)}\n`);
}

/**
 * JSON without terminal control sequences. JSON.stringify escapes most control characters; this escapes the rest. Parsed, it
 * is the same value.
 */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text with its control characters escaped. */
export function safeText(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to escape
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Aligned columns; the last one is not padded. */
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
 * NO_COLOR (no-color.org) and the flag turn colours off; FORCE_COLOR turns them on without a terminal.
 * @param flag false with `--no-color`.
 */
export function isColored(
  flag: boolean,
  env = process.env,
  isTerminal = process.stdout.isTTY,
): boolean {
  if (!flag || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return isTerminal === true || !['', '0', undefined].includes(env['FORCE_COLOR']);
}
