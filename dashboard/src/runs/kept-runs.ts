// Runs in tabs. Owns the files of runs that are being loaded from the service.

import { signal } from '@preact/signals';
import type { RunFile } from '../../../src/client/index.js';
import { api } from '../model/session.js';
import { sizeText } from '../parts/size.js';
import { NoteError, note, type Said, saidBy } from './note.js';
import { openFiles } from './open-runs.js';

/** A larger file is not loaded, in bytes: the browser has to hold it. */
const MAX_BYTES = 2 * 1024 ** 3;

export interface Loading {
  bytes: number;
  /** Bytes that have arrived. */
  read: number;
  error: Said | undefined;
}

/** By name. A loaded file is opened and removed from here. */
export const loading = signal<ReadonlyMap<string, Loading>>(new Map());

/** A recording with the report that has its name, of the files that the service has; the file alone if there is none. */
export function filesOf(name: string, all: readonly RunFile[]): RunFile[] {
  const own = all.find((file) => file.name === name);
  if (!own) return [];
  const stem = name.replace(/\.ndjson$/, '');
  if (stem === name) return [own];
  const report = ['.xml', '.json'].flatMap(
    (end) => all.find((file) => file.name === stem + end) ?? [],
  )[0];
  return report ? [own, report] : [own];
}

/** Loads the file, with its report, and opens it. Does nothing if that is in progress. */
export async function openKept(name: string, all: readonly RunFile[]): Promise<void> {
  const files = filesOf(name, all);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const before = loading.peek().get(name);
  if (files.length === 0 || (before && before.error === undefined)) return;
  set(name, { bytes, read: 0, error: undefined });
  try {
    if (bytes > MAX_BYTES) {
      throw new NoteError(note('runs.tooLargeToLoad', { size: sizeText(MAX_BYTES) }));
    }
    let read = 0;
    const loaded = [];
    for (const file of files) {
      const content = await load(file.name, (part) => {
        read += part;
        set(name, { bytes, read, error: undefined });
      });
      loaded.push({ name: file.name, content });
    }
    await openFiles(loaded);
    set(name, undefined);
  } catch (thrown) {
    set(name, { bytes, read: 0, error: saidBy(thrown) });
  }
}

async function load(name: string, onPart: (bytes: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let from = 0;
  for (;;) {
    const part = await api().runPart(name, from);
    if (part.length === 0) return new Blob(parts);
    // As a Blob the browser may keep it on its disk.
    parts.push(new Blob([part as Uint8Array<ArrayBuffer>]));
    from += part.length;
    if (from > MAX_BYTES) throw new NoteError(note('runs.tooLarge', { size: sizeText(MAX_BYTES) }));
    onPart(part.length);
  }
}

function set(name: string, what: Loading | undefined): void {
  const next = new Map(loading.peek());
  if (what) next.set(name, what);
  else next.delete(name);
  loading.value = next;
}
