import { fileURLToPath } from 'node:url';
import { CODE_DIR } from '../shared/package-paths.js';

/** Code that a line of a stack names. */
export interface StackFrame {
  /** Whether it is Drover's. The kinds that ship are not. */
  isOwn: boolean;
  /** A path or URL. */
  file: string;
  /** `<file>:<line>:<column>` */
  at: string;
}

/** `at name (file:///…:1:2)` and `at file:///…:1:2`. */
/** Longest line that is read, in UTF-16 units: each / of it is tried. */
const MAX_LINE_UNITS = 4096;
const FILE_FRAME = /\(?(file:\/\/.+?|\/.+?):(\d+):(\d+)\)?$/;

/** Undefined for a line that names no file, and for code of Node. */
export function stackFrame(line: string): StackFrame | undefined {
  if (line.length > MAX_LINE_UNITS) return undefined;
  const [, file, row, column] = FILE_FRAME.exec(line.trim()) ?? [];
  if (file === undefined || line.includes('node:')) return undefined;
  const isOwn = file.startsWith(CODE_DIR.href) || file.startsWith(fileURLToPath(CODE_DIR));
  return { isOwn, file, at: `${file}:${row}:${column}` };
}
