// What the page knows of a run. A run is what happened in a recorded time: a recording, a report of expectations, or both.

import type { Level } from '../../../src/client/index.js';
import type { Note } from './note.js';

export type LineCounts = Record<Level, number>;

export interface RunBot {
  id: string;
  kind: string;
  labels: Record<string, string>;
  host: number | null;
  node?: string;
  /** When it was seen first, in ms since the start of the run. */
  firstMs: number;
  /** At the end of the run. */
  status: string;
  lines: number;
  errors: number;
}

export type Result = 'passed' | 'failed' | 'skipped';

export interface RunExpectation {
  /** The suite that it is part of, and its own name. */
  suite: string;
  /** Empty if the report does not say. */
  name: string;
  result: Result;
  message: string;
  /** When it was decided, in ms since the start of the run; for a test, its duration. Null if the report does not say. */
  afterMs: number | null;
}

/** What a recording is about, without its events. */
export interface RecordingFacts {
  startedAtMs: number;
  /** The service that was recorded. */
  url: string;
  /** Only some events were recorded. */
  isFiltered: boolean;
  lengthMs: number;
  /** What ended it; null when the recording has no end. */
  endedBy: string | null;
  /** All events, also those that are no lines. */
  events: number;
  /** Rows of the log: lines and gaps. */
  rows: number;
  levels: LineCounts;
  bots: number;
  /** Number of causes of failures and error lines. */
  causes: number;
}

export interface RunFacts {
  /** Undefined of a report alone. */
  recording: RecordingFacts | undefined;
  /** Undefined without a report. */
  expectations: RunExpectation[] | undefined;
  /** What is missing or could not be read, a sentence each. */
  notes: Note[];
}

/** Progress of reading or searching a file. */
export interface Part {
  /** Bytes that were read, or rows that were found. */
  n: number;
  /** Share that is done, from 0 to 1. */
  share: number;
}
