// Runs in the worker of a run. Reads the reports of `drover check`: JUnit XML, also of other programs, and JSON.

import { type Note, NoteError, note, saidBy } from './note.js';
import type { RunExpectation } from './run-facts.js';
import { xmlParts } from './xml.js';

/** A larger report is not read, in bytes: it is read as a whole. */
export const MAX_REPORT = 20 * 1024 * 1024;
/** Expectations that are kept. */
const MAX_EXPECTATIONS = 50_000;
/** Units of a message that are kept. */
const MAX_MESSAGE = 8192;

export interface Report {
  expectations: RunExpectation[];
  notes: Note[];
}

/** @throws NoteError if nothing of it is a report. */
export function readReport(text: string): Report {
  const report = text.trimStart().startsWith('<') ? junitReport(text) : jsonReport(text);
  if (report.expectations.length > MAX_EXPECTATIONS) {
    report.notes.push(note('runs.onlyResults', { n: MAX_EXPECTATIONS }));
    report.expectations.length = MAX_EXPECTATIONS;
  }
  return report;
}

function junitReport(text: string): Report {
  const expectations: RunExpectation[] = [];
  const notes: Note[] = [];
  const suites: string[] = [];
  let test: RunExpectation | undefined;
  let isReport = false;
  /** The text in it belongs to the message. */
  let inside: string | undefined;
  try {
    for (const part of xmlParts(text)) {
      if (part.type === 'text') {
        if (test && inside !== undefined) test.message = joined(test.message, part.text);
        continue;
      }
      const { type, name } = part;
      const isOutcome = name === 'failure' || name === 'error' || name === 'skipped';
      if (type === 'close') {
        if (name === 'testsuite') suites.pop();
        else if (name === 'testcase' && test) {
          expectations.push(test);
          test = undefined;
          // One more than is kept says that there were more.
          if (expectations.length > MAX_EXPECTATIONS) break;
        } else if (isOutcome) inside = undefined;
        continue;
      }
      const { attributes } = part;
      if (name === 'testsuites' || name === 'testsuite') isReport = true;
      if (name === 'testsuite') suites.push(attributes.get('name') ?? '');
      else if (name === 'testcase') test = testOf(attributes, suites.at(-1) ?? '');
      else if (test && isOutcome) {
        test.result = name === 'skipped' ? 'skipped' : 'failed';
        test.message = joined(test.message, attributes.get('message') ?? '');
        inside = name;
      }
    }
  } catch (thrown) {
    const reason = saidBy(thrown);
    if (!isReport) throw new NoteError(note('runs.noJunit', { reason }));
    notes.push(note('runs.partOfReport', { reason }));
  }
  if (!isReport) throw new NoteError(note('runs.noSuite'));
  return { expectations, notes };
}

function testOf(attributes: ReadonlyMap<string, string>, suite: string): RunExpectation {
  const seconds = Number(attributes.get('time') ?? '');
  const className = attributes.get('classname') ?? '';
  const name = attributes.get('name') ?? '';
  const isOwn = className === 'drover check';
  return {
    suite,
    name: isOwn ? name : [className, name].filter((one) => one !== '').join(' › '),
    result: 'passed',
    message: '',
    afterMs: attributes.has('time') && Number.isFinite(seconds) ? seconds * 1000 : null,
  };
}

function joined(before: string, next: string): string {
  const text = next.trim();
  if (text === '' || before.includes(text)) return before;
  return `${before}${before === '' ? '' : '\n'}${text}`.slice(0, MAX_MESSAGE);
}

function jsonReport(text: string): Report {
  const value = parsed(text);
  const { source, expectations: listed, missing } = value;
  if (!Array.isArray(listed)) {
    throw new NoteError(note('runs.noJsonReport'));
  }
  const notes: Note[] = [];
  const expectations = listed.flatMap((one: unknown): RunExpectation[] => {
    const { text: name, passed, message, after_ms } = (one ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || typeof passed !== 'boolean') return [];
    return [
      {
        suite: typeof source === 'string' ? source : '',
        name,
        result: passed ? 'passed' : 'failed',
        message: typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : '',
        afterMs: typeof after_ms === 'number' ? after_ms : null,
      },
    ];
  });
  const broken = listed.length - expectations.length;
  if (broken > 0) notes.push(note('runs.brokenResults', { n: broken }));
  if (typeof missing === 'string') notes.push(note('runs.partOfRun', { missing }));
  return { expectations, notes };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Refused below.
  }
  throw new NoteError(note('runs.neither'));
}
