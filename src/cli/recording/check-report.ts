import { safeText } from '../../shared/terminal.js';
import type { Verdict } from './expectation.js';

/** The result of one check. */
export interface CheckReport {
  /** The recording's file, or the service's address. */
  source: string;
  /** Length of the observed run in ms. */
  run_ms: number;
  events: number;
  /** Why the run was not observed to its end; null if it was. */
  missing: string | null;
  passed: boolean;
  expectations: Verdict[];
}

export function textReport({ expectations, events }: CheckReport): string {
  const lines = expectations.map(
    ({ text, passed, message }) => `${passed ? 'ok  ' : 'FAIL'}  ${text}: ${message}`,
  );
  const failed = expectations.filter(({ passed }) => !passed).length;
  const sum = `${expectations.length - failed} of ${expectations.length} expectations met, ${events} events`;
  return [...lines.map(safeText), sum].map((line) => `${line}\n`).join('');
}

/** JUnit XML: one suite, one test case per expectation. */
export function junitReport({ source, run_ms, expectations }: CheckReport): string {
  const failures = expectations.filter(({ passed }) => !passed).length;
  const cases = expectations.map(({ text, passed, message, after_ms }) => {
    const open = `    <testcase classname="drover check" name="${xml(text)}" time="${seconds(after_ms ?? run_ms)}"`;
    return passed
      ? `${open}/>`
      : `${open}>\n      <failure message="${xml(message)}"/>\n    </testcase>`;
  });
  const counts = `tests="${expectations.length}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts} time="${seconds(run_ms)}">`,
    `  <testsuite name="${xml(`drover check ${source}`)}" ${counts} skipped="0" time="${seconds(run_ms)}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Text for an attribute. Characters that XML 1.0 does not allow are escaped like control characters. */
function xml(text: string): string {
  return safeText(text.toWellFormed())
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
