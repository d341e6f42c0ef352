import { PassThrough } from 'node:stream';
import { type Printed, write } from '../../src/shared/terminal.js';

/** What a terminal gets. */
export function printed(...parts: readonly Printed[]): string {
  const terminal = new PassThrough({ encoding: 'utf8' });
  write(terminal, ...parts);
  return String(terminal.read() ?? '');
}
