// The messages between the page and the worker of a run.

import type { Said } from './note.js';
import type { RunLine } from './recording.js';
import type { HerdBot } from './run-bots.js';
import type { Part, RunFacts } from './run-facts.js';

/** What the page asks, and what it gets. One question may be asked while another is answered. */
export interface RunCalls {
  open: (file: Blob) => RunFacts;
  /** Whether the rows are all chosen, and no other query was set meanwhile. */
  select: (query: string) => { isDone: boolean; count: number };
  /** Ends a `select`. The rows that it has chosen stay: so many. */
  stop: () => number;
  indexAt: (ms: number) => number;
  bars: (fromMs: number, stepMs: number, count: number) => number[];
  rows: (from: number, to: number) => RunLine[];
  herd: (ms: number) => HerdBot[];
}

export type RunCall = keyof RunCalls;

export interface ToRun {
  id: number;
  call: RunCall;
  args: unknown[];
}

export type FromRun =
  | { id: number; part: Part }
  | { id: number; value: unknown }
  | { id: number; error: Said };
