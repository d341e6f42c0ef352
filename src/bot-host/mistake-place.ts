import { fileURLToPath } from 'node:url';
import { CODE_DIR } from '../shared/package-paths.js';

/** `at name (file:///…:1:2)` and `at file:///…:1:2`. */
const FRAME = /^\s+at (?:.*\()?(file:\/\/.+?|\/.+?):(\d+):(\d+)\)?$/;

/**
 * `<path>:<line>:<column>` of a TypeError or ReferenceError in the code of a kind, such as `x is not a function`: its message
 * alone does not say where. Undefined for errors of packages, of Node and of Drover.
 */
export function placeOfMistake(thrown: unknown): string | undefined {
  if (!(thrown instanceof TypeError || thrown instanceof ReferenceError)) return undefined;
  const first = String(thrown.stack)
    .split('\n')
    .find((line) => /^\s+at /.test(line));
  const [, file = '', line, column] = FRAME.exec(first ?? '') ?? [];
  if (line === undefined || file.startsWith(CODE_DIR.href) || file.includes('/node_modules/')) {
    return undefined;
  }
  try {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file;
    return `${path}:${line}:${column}`;
  } catch {
    return undefined;
  }
}
