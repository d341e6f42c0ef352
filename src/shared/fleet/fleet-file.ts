// Reads a fleet file, the variables and the files that it names.

import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../errors.js';
import { FleetFault } from './located.js';
import { type Fleet, MAX_FLEET_BYTES, readFleet } from './read-fleet.js';
import type { ReferenceSource } from './references.js';

const MAX_SECRET_BYTES = 64 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws FleetFault */
export async function openFleet(path: string): Promise<Fleet> {
  let text: string;
  try {
    text = readText(path, MAX_FLEET_BYTES);
  } catch (thrown) {
    throw new FleetFault([`${path}:1:1: the file cannot be read: ${messageOf(thrown)}`]);
  }
  return readFleet(text, path, referencesOf(dirname(path)));
}

/** @param directory that paths of secrets are relative to. */
export function referencesOf(directory: string, env = process.env): ReferenceSource {
  /** A thousand bots may name one file. Bounded by the values of the fleet file. */
  const known = new Map<string, string | undefined>();
  return {
    variable: (name) => env[name],
    file(path) {
      const full = resolve(directory, path);
      if (!known.has(full)) known.set(full, secretIn(full));
      return known.get(full);
    },
  };
}

/** Without the line break that editors add. */
function secretIn(path: string): string | undefined {
  try {
    return readText(path, MAX_SECRET_BYTES).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

/** @throws Error for a file that is missing, longer than that, or not UTF-8. */
function readText(path: string, maxBytes: number): string {
  const stat = statSync(path);
  // A device may never end.
  if (!stat.isFile() && !stat.isFIFO()) throw new Error('it is no file');
  if (stat.size > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
  return utf8.decode(readFileSync(path));
}
