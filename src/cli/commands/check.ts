// Runs in the command line. Owns `drover check`: whether a run was as expected, one that was recorded or one that is going on.

import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { StreamEvent } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { type FilterFlags, filterOf, withFilter, wordsOf } from '../flags/filter-flags.js';
import { duration, wholeNumber } from '../flags/flag-values.js';
import { type CheckReport, junitReport, textReport } from '../recording/check-report.js';
import { type Expectation, FORMS, parseExpectation } from '../recording/expectation.js';
import { readRecording } from '../recording/recording-file.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { isStandardOutput, print, safeJson } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

interface CheckOptions extends ConnectionOptions, FilterFlags {
  live?: true;
  for?: number;
  expect?: string[];
  rules?: string;
  errors: boolean;
  gaps: boolean;
  atLeast?: number;
  junit?: string;
  json?: string;
}

/** What came of the run, whichever it was. */
interface Run {
  source: string;
  runMs: number;
  events: number;
  /** Why there was more than was seen; null when there was not. */
  missing: string | null;
}

export function addCheck(program: Command): void {
  withFilter(withConnection(program.command('check')), 'both')
    .description(
      'say whether a run was as expected: one that drover record has written, or with --live one that is going on',
    )
    .argument('[file]', 'the recording')
    .option('--live', 'look at the service itself, from now on')
    .option(
      '--for <time>',
      'with --live: how long; otherwise until nothing is open any more',
      duration,
    )
    .option('--expect <expectation>', 'what has to be; repeated for more', expectation)
    .option('--rules <file>', 'JSON file with a list of expectations')
    .option('--no-errors', 'the same as --expect "no errors"')
    .option('--no-gaps', 'the same as --expect "no gaps"')
    .option('--at-least <n>', 'the same as --expect "at least <n> events"', wholeNumber)
    .option(
      '--junit <file>',
      'write the verdicts as JUnit XML too; - prints them instead of the text',
    )
    .option('--json <file>', 'write the verdicts as JSON too; - prints them instead of the text')
    .addHelpText('after', `\nExpectations:\n${FORMS.map((form) => `  ${form}`).join('\n')}`)
    .action(action(check));
}

async function check(file: string | undefined, options: CheckOptions): Promise<number> {
  if ((file === undefined) === (options.live === undefined)) {
    throw new CliError(EXIT.usage, 'give the file of a recording, or --live; not both');
  }
  if (file !== undefined && options.for !== undefined) {
    throw new CliError(
      EXIT.usage,
      '--for is how long --live looks; a recording is looked at whole',
    );
  }
  if (isStandardOutput(options.junit) && isStandardOutput(options.json)) {
    throw new CliError(EXIT.usage, 'only one of --junit and --json can be -');
  }
  const expectations = wanted(options).map(parseExpectation);
  if (expectations.length === 0) {
    throw new CliError(
      EXIT.usage,
      'nothing is expected; say what with --expect, --rules, --no-errors or --at-least',
    );
  }
  const run =
    file === undefined
      ? await watch(expectations, options)
      : await replay(file, expectations, options);
  const { source, runMs: run_ms, events, missing } = run;
  const verdicts = expectations.map((one) => one.verdict(missing));
  const passed = verdicts.every((verdict) => verdict.passed);
  const isGone = options.live && missing !== null;
  const exitCode = isGone ? EXIT.no_service : passed ? EXIT.ok : EXIT.not_as_expected;
  // Also when nobody reads what is printed.
  process.exitCode = exitCode;
  await tell({ source, run_ms, events, missing, passed, expectations: verdicts }, options);
  return exitCode;
}

function expectation(text: string, before: readonly string[] = []): string[] {
  try {
    parseExpectation(text);
  } catch (thrown) {
    throw new InvalidArgumentError(messageOf(thrown));
  }
  return [...before, text];
}

function wanted({ expect = [], rules, errors, gaps, atLeast }: CheckOptions): string[] {
  return [
    ...(rules === undefined ? [] : rulesIn(rules)),
    ...expect,
    ...(errors ? [] : ['no errors']),
    ...(gaps ? [] : ['no gaps']),
    ...(atLeast === undefined ? [] : [`at least ${atLeast} events`]),
  ];
}

/** @throws CliError when the file does not hold a list of expectations. */
function rulesIn(path: string): string[] {
  try {
    const rules = JSON.parse(readFileSync(path, 'utf8')) as unknown;
    if (!Array.isArray(rules)) throw new Error('it must be a JSON list of expectations');
    return rules.map((rule: unknown) => {
      if (typeof rule !== 'string')
        throw new Error(`${safeJson(rule)} is no expectation but must be text`);
      parseExpectation(rule);
      return rule;
    });
  } catch (thrown) {
    throw new CliError(EXIT.usage, `--rules ${path}: ${messageOf(thrown)}`);
  }
}

async function replay(
  file: string,
  expectations: readonly Expectation[],
  options: FilterFlags,
): Promise<Run> {
  const fits = filter(options);
  let events = 0;
  let lastMs = 0;
  const { head, end } = await readRecording(file, (event, atMs) => {
    lastMs = atMs;
    if (!fits(event)) return;
    events++;
    for (const one of expectations) one.see(event, atMs);
  });
  // None of it in a recording made by an earlier version.
  if (head.filter) {
    complain(`the recording has only ${wordsOf(head.filter)}; what was left out is not looked at`);
  }
  const missing = end
    ? end.missing
    : 'the recording has no end: drover record was cut off, or is still at it';
  return { source: file, runMs: end?.run_ms ?? lastMs, events, missing };
}

/** As the service filters a stream. */
function filter(flags: FilterFlags): (event: StreamEvent) => boolean {
  const { kind, level, session, scope } = filterOf(flags);
  const has = (values: readonly string[] | undefined, value: string | null): boolean =>
    values === undefined || (value !== null && values.includes(value));
  return (event) => {
    if (event.event === 'gap') return true;
    const log = event.event === 'log' ? event.data : undefined;
    const bot = event.event === 'session' ? event.data.snapshot.id : (log?.session_id ?? null);
    return (
      has(kind, event.event) &&
      has(level, log?.level ?? null) &&
      has(session, bot) &&
      has(scope, log?.scope ?? null)
    );
  };
}

async function watch(expectations: readonly Expectation[], options: CheckOptions): Promise<Run> {
  const limitMs = options.for ?? lastChance(expectations);
  const { client, call } = connect(options);
  await client.apiInfo(call());
  const began = performance.now();
  const seen = new StreamWatch();
  const stream = client.stream({ ...filterOf(options), onState: seen.onState });
  const end = (): void => stream.close();
  stopSignal.addEventListener('abort', end, { once: true });
  const over = new AbortController();
  delay(limitMs, undefined, { signal: over.signal }).then(end, () => {});
  let events = 0;
  followProgress(() => {
    const met = expectations.filter((one) => one.verdict(null).passed).length;
    const sum = `${met} of ${expectations.length} hold`;
    return `looking: ${elapsed(began, limitMs)}, ${sum}, ${events} events`;
  });
  for await (const batch of stream.batches()) {
    const atMs = performance.now() - began;
    for (const event of batch) {
      events++;
      for (const one of expectations) one.see(event, atMs);
    }
    if (options.for === undefined && expectations.every(isSettled)) break;
  }
  over.abort();
  await seen.confirm(client);
  stopSignal.throwIfAborted();
  return { source: client.url, runMs: performance.now() - began, events, missing: seen.blind };
}

/** Until when something can still become right. @throws CliError when that has no end. */
function lastChance(expectations: readonly Expectation[]): number {
  const times = expectations.map(({ withinMs }) => withinMs).filter((ms) => ms !== null);
  const last = Math.max(...times);
  if (times.length > 0) return last;
  throw new CliError(
    EXIT.usage,
    'say how long to look, with --for, or with "within" in an expectation',
  );
}

/** What has to happen has happened. What must not is looked at for as long as the others need. */
function isSettled(one: Expectation): boolean {
  return one.isDecided || one.verdict(null).passed;
}

async function tell(report: CheckReport, { junit, json }: CheckOptions): Promise<void> {
  const save = (path: string, text: string): void => {
    try {
      writeFileSync(path, text);
    } catch (thrown) {
      throw new CliError(EXIT.usage, `the report ${path} cannot be written: ${messageOf(thrown)}`);
    }
  };
  const forms: [path: string | undefined, text: () => string][] = [
    [json, () => `${safeJson(report, 2)}\n`],
    [junit, () => junitReport(report)],
  ];
  let printed = textReport;
  for (const [path, form] of forms) {
    if (isStandardOutput(path)) printed = form;
    else if (path !== undefined) save(path, form());
  }
  await print(printed(report));
  if (report.missing !== null) complain(`the run was not seen to its end: ${report.missing}`);
  if (!report.passed) complain('the run was not as expected');
}
