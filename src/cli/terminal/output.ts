import { once } from 'node:events';
import { type Printed, safeLines, safeText, write } from '../../shared/terminal.js';
import { clearProgress } from './progress.js';

/** Writes to standard output with backpressure. */
export async function print(...parts: readonly Printed[]): Promise<void> {
  clearProgress();
  if (!write(process.stdout, ...parts)) await once(process.stdout, 'drain');
}

/** One line on standard output. */
export async function printLine(text: string): Promise<void> {
  await print(`${safeText(text)}\n`);
}

export function isStandardOutput(path: string | undefined): boolean {
  return path === '-';
}

export async function printJson(value: unknown): Promise<void> {
  await print(`${safeJson(value, 2)}\n`);
}

/** JSON without unsafe characters, also where it is not printed. Parsed, it is the same value. */
export function safeJson(value: unknown, indent?: number): string {
  return safeLines(JSON.stringify(value, null, indent));
}

/** UTC, to the second; `-` for none. */
export function timeText(ms: number | null): string {
  return ms === null ? '-' : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
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
