// Runs in the worker of a run. Owns one opened file: tells its type, and answers the requests of the page.

import { NoteError, note } from './note.js';
import { Recording } from './recording.js';
import { MAX_REPORT, readReport } from './report.js';
import type { Part, RunFacts } from './run-facts.js';

/** Bytes of a file that tell its type. */
const SNIFFED = 4096;

export interface OpenedFile {
  facts: RunFacts;
  recording: Recording | undefined;
}

/** @param onPart gets the number of bytes that were read. @throws NoteError if the page cannot show it. */
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
