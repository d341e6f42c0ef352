// Builds programs in C when a bench needs one.

import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { removeAtExit } from './child.js';

/** By source and options. */
const built = new Map<string, URL>();

/**
 * @param needs what the build needs besides a compiler, for the error.
 * @returns the program. @throws Error if it cannot be built.
 */
export function compile(source: URL, options: readonly string[] = [], needs = ''): URL {
  const file = fileURLToPath(source);
  const key = [file, ...options].join(' ');
  const known = built.get(key);
  if (known) return known;
  const directory = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  removeAtExit(directory);
  const program = join(directory, basename(file, '.c'));
  try {
    // Libraries follow the source that uses them.
    const args = ['-O2', '-o', program, file, ...options];
    execFileSync('cc', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string; stderr?: string };
    if (code === 'ENOENT') {
      throw new Error(`${file} needs a C compiler (cc), on Debian: gcc libc6-dev`);
    }
    throw new Error(`${file} could not be built${needs && `, it needs ${needs}`}: ${stderr}`);
  }
  const url = pathToFileURL(program);
  built.set(key, url);
  return url;
}
