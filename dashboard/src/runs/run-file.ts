// Runs in the worker of a run. Owns one opened file: says what it is, and answers the page about it.

import { NoteError, note } from './note.js';
import { Recording } from './recording.js';
import { MAX_REPORT, readReport } from './report.js';
import type { Part, RunFacts } from './run-facts.js';

/** Bytes of a file that say what it is. */
const SNIFFED = 4096;

export interface OpenedFile {
  facts: RunFacts;
  recording: Recording | undefined;
}

/** @param onPart is told how many bytes were read. @throws NoteError if it is nothing that the page can show. */
export async function openFile(file: Blob, onPart: (part: Part) => void): Promise<OpenedFile> {
  if (file.size === 0) throw new NoteError(note('runs.empty'));
  const first = new Uint8Array(await file.slice(0, SNIFFED).arrayBuffer());
  if ((first[0] === 0x1f && first[1] === 0x8b) || (first[0] === 0x50 && first[1] === 0x4b)) {
    throw new NoteError(note('runs.compressed'));
  }
  const begin = new TextDecoder().decode(first);
  if (/^\s*\{\s*"drover_recording"/.test(begin)) {
    const recording = new Recording(file);
    await recording.read(onPart);
    const { facts, notes } = recording;
    return { facts: { recording: facts, expectations: undefined, notes }, recording };
  }
  if (file.size > MAX_REPORT) {
    throw new NoteError(note('runs.tooLargeReport', { n: MAX_REPORT / 1024 / 1024 }));
  }
  const { expectations, notes } = readReport(await file.text());
  return { facts: { recording: undefined, expectations, notes }, recording: undefined };
}
