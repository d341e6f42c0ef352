// Runs in tabs. Owns the runs that this tab has opened. They end with the tab; their files stay where they are.

import { signal } from '@preact/signals';
import { type Said, saidBy } from './note.js';
import type { RunFacts } from './run-facts.js';
import { RunLink } from './run-link.js';
import { RunSource } from './run-source.js';

/** Runs that are open at once; the one that was opened first is closed for a further one. */
export const MAX_OPEN = 8;

export interface OpenRun {
  /** The name in the address, of the file. */
  name: string;
  bytes: number;
  link: RunLink;
  facts: RunFacts | undefined;
  /** Undefined of a report alone, and while it is read. */
  source: RunSource | undefined;
  /** How much of the file was read, in bytes. */
  read: number;
  /** Why it could not be opened. */
  error: Said | undefined;
}

/** In the order in which they were opened. */
export const openRuns = signal<readonly OpenRun[]>([]);

export function runNamed(name: string): OpenRun | undefined {
  return openRuns.value.find((run) => run.name === name);
}

export function closeRun(name: string): void {
  runNamed(name)?.link.close();
  openRuns.value = openRuns.value.filter((run) => run.name !== name);
}

/**
 * Opens files. A file with the name of an open run replaces it. A recording and a report that are opened together are one run.
 * @returns the names of the runs that could be opened.
 */
export async function openFiles(
  files: readonly { name: string; content: Blob }[],
): Promise<string[]> {
  const opened = await Promise.all(files.slice(0, MAX_OPEN).map(open));
  const names = opened.flatMap((name) => name ?? []);
  const [one, other] = names.map(runNamed);
  if (names.length !== 2 || files.length !== 2 || !one?.facts || !other?.facts) return names;
  const [recording, report] = one.facts.recording ? [one, other] : [other, one];
  if (!recording.facts?.recording || report.facts?.recording) return names;
  addReport(recording.name, report.name);
  return [recording.name];
}

/** Shows the expectations of a report with a recording: the two are one run. */
export function addReport(recordingName: string, reportName: string): void {
  const facts = runNamed(recordingName)?.facts;
  const report = runNamed(reportName)?.facts;
  if (!facts || !report) return;
  const { expectations, notes } = report;
  change(recordingName, { facts: { ...facts, expectations, notes: [...facts.notes, ...notes] } });
  closeRun(reportName);
}

async function open({
  name,
  content,
}: {
  name: string;
  content: Blob;
}): Promise<string | undefined> {
  closeRun(name);
  while (openRuns.value.length >= MAX_OPEN) closeRun(openRuns.value[0]?.name ?? '');
  const link = new RunLink();
  const none = { facts: undefined, source: undefined, read: 0, error: undefined };
  openRuns.value = [...openRuns.value, { name, bytes: content.size, link, ...none }];
  const isOpen = (): boolean => runNamed(name)?.link === link;
  try {
    const facts = await link.ask('open', [content], ({ n: read }) => {
      if (isOpen()) change(name, { read });
    });
    if (!isOpen()) return undefined;
    const source = facts.recording && new RunSource(link, facts.recording);
    change(name, { facts, source, read: content.size });
    return name;
  } catch (thrown) {
    link.close();
    if (isOpen()) change(name, { error: saidBy(thrown) });
    return undefined;
  }
}

function change(name: string, what: Partial<OpenRun>): void {
  openRuns.value = openRuns.value.map((run) => (run.name === name ? { ...run, ...what } : run));
}
