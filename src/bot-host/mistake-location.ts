import { fileURLToPath } from 'node:url';
import { stackFrame } from './stack-frame.js';

/**
 * `<path>:<line>:<column>` of a TypeError or ReferenceError in the code of a kind, such as `x is not a function`: its message
 * alone does not say where. Undefined for errors of packages, of Node and of Drover.
 */
export function locationOfMistake(thrown: unknown): string | undefined {
  if (!(thrown instanceof TypeError || thrown instanceof ReferenceError)) return undefined;
  const lines = String(thrown.stack).split('\n');
  const place = stackFrame(lines.find((line) => /^\s+at /.test(line)) ?? '');
  if (!place || place.isOwn || place.file.includes('/node_modules/')) return undefined;
  const { file, at } = place;
  try {
    return file.startsWith('file:') ? `${fileURLToPath(file)}${at.slice(file.length)}` : at;
  } catch {
    return undefined;
  }
}
