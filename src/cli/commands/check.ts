// `drover check`: checks expectations against a recording or, with --live, against the running service.

import { readFileSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { messageOf } from '../../shared/errors.js';
import { lineQuery } from '../../shared/query/line-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { type FilterFlags, filterOf, withFilter } from '../flags/filter-flags.js';
import { duration, wholeNumber } from '../flags/flag-values.js';
import { type CheckReport, junitReport, textReport } from '../recording/check-report.js';
import { type Expectation, FORMS, parseExpectation } from '../recording/expectation.js';
import { recordedSelection } from '../recording/recorded-selection.js';
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
  restarts: boolean;
  allowAbsent?: true;
  atLeast?: number;
  junit?: string;
  json?: string;
}

/** What was observed of a run, recorded or live. */
interface Run {
  source: string;
  runMs: number;
  events: number;
  /** Why the run was not observed to its end; null if it was. */
  missing: string | null;
}

export function addCheck(program: Command): void {
  withFilter(withConnection(program.command('check')), 'both')
    .description(
      'check expectations against a recording of drover record, or against the running service',
    )
    .argument('[file]', 'recording to check')
    .option('--live', 'check the running service from now on')
    .option(
      '--for <time>',
      'with --live: how long to observe (default: until every "within" is decided)',
      duration,
    )
    .option('--expect <expectation>', 'an expectation (can be repeated)', expectation)
    .option('--rules <file>', 'JSON file with a list of expectations')
    .option('--no-errors', 'same as --expect "no errors"')
    .option('--no-gaps', 'same as --expect "no gaps"')
    .option('--no-restarts', 'same as --expect "no restarts"')
    .option('--at-least <n>', 'same as --expect "at least <n> events"', wholeNumber)
    .option(
      '--allow-absent',
      'expectations about a bot that never appears can be met (default: they fail)',
    )
    .option(
      '--junit <file>',
      'also write the results as JUnit XML; - prints it instead of the text',
    )
    .option('--json <file>', 'also write the results as JSON; - prints it instead of the text')
    .addHelpText('after', `\nExpectations:\n${FORMS.map((form) => `  ${form}`).join('\n')}`)
    .action(action(check));
}

async function check(file: string | undefined, options: CheckOptions): Promise<number> {
  if ((file === undefined) === (options.live === undefined)) {
    throw new CliError(EXIT.usage, 'give either a recording or --live');
  }
  if (file !== undefined && options.for !== undefined) {
    throw new CliError(EXIT.usage, '--for needs --live; a recording is always checked to its end');
  }
  if (isStandardOutput(options.junit) && isStandardOutput(options.json)) {
    throw new CliError(EXIT.usage, 'only one of --junit and --json can be -');
  }
  const expectations = wanted(options).map((text) => parseExpectation(text, options.allowAbsent));
  if (expectations.length === 0) {
    throw new CliError(
      EXIT.usage,
      'no expectations; add --expect, --rules, --no-errors, --no-gaps, --no-restarts or --at-least',
    );
  }
  const run =
    file === undefined
      ? await watch(expectations, options)
      : await replay(file, expectations, options);
  const { source, runMs: run_ms, events, missing } = run;
  const verdicts = expectations.map((one) => one.verdict(missing));
  const passed = verdicts.every((verdict) => verdict.passed);
  const isLost = options.live && missing !== null;
  const exitCode = isLost ? EXIT.no_service : passed ? EXIT.ok : EXIT.not_as_expected;
  // Set before printing: on EPIPE the process exits with it.
  process.exitCode = exitCode;
  await report({ source, run_ms, events, missing, passed, expectations: verdicts }, options);
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

function wanted({ expect = [], rules, errors, gaps, restarts, atLeast }: CheckOptions): string[] {
  return [
    ...(rules === undefined ? [] : rulesIn(rules)),
    ...expect,
    ...(errors ? [] : ['no errors']),
    ...(gaps ? [] : ['no gaps']),
    ...(restarts ? [] : ['no restarts']),
    ...(atLeast === undefined ? [] : [`at least ${atLeast} events`]),
  ];
}

/** @throws CliError if the file is not a JSON list of expectations. */
function rulesIn(path: string): string[] {
  try {
    const rules = JSON.parse(readFileSync(path, 'utf8')) as unknown;
    if (!Array.isArray(rules)) throw new Error('it must be a JSON list of expectations');
    return rules.map((rule: unknown) => {
      if (typeof rule !== 'string')
        throw new Error(`${safeJson(rule)} is not an expectation; each must be a string`);
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
  const query = selectionOf(Object.entries(filterOf(options)), 'lines');
  const isSelected = recordedSelection(query);
  let events = 0;
  let lastMs = 0;
  let snapshots = 0;
  const { head, end } = await readRecording(file, (event, atMs) => {
    lastMs = atMs;
    if (event.event === 'session') snapshots++;
    if (!isSelected(event)) return;
    events++;
    for (const one of expectations) one.see(event, atMs);
  });
  if (lineQuery(query).bot.length > 0 && snapshots === 0) {
    throw new CliError(
      EXIT.usage,
      `${file} has no snapshots of bots, by which --status, --kind and --label select; record without --level, --scope and --event log`,
    );
  }
  // Recordings of earlier versions have no filter field.
  if (head.filter) {
    complain(
      `the recording holds only what matches ${safeJson(head.filter)}; other events are not checked`,
    );
  }
  const missing = end
    ? end.missing
    : 'the recording has no end: drover record was killed, or is still running';
  return { source: file, runMs: end?.run_ms ?? lastMs, events, missing };
}

async function watch(expectations: readonly Expectation[], options: CheckOptions): Promise<Run> {
  const limitMs = options.for ?? lastChance(expectations);
  const { client, call } = connect(options);
  await client.apiInfo(call());
  const began = performance.now();
  const connection = new StreamWatch();
  const stream = client.stream({ ...filterOf(options), onState: connection.onState });
  const end = (): void => stream.close();
  stopSignal.addEventListener('abort', end, { once: true });
  const timer = setTimeout(end, limitMs);
  let events = 0;
  followProgress(() => {
    const met = expectations.filter((one) => one.verdict(null).passed).length;
    const sum = `${met} of ${expectations.length} met`;
    return `checking: ${elapsed(began, limitMs)}, ${sum}, ${events} events`;
  });
  for await (const batch of stream.batches()) {
    const atMs = performance.now() - began;
    for (const event of batch) {
      events++;
      for (const one of expectations) one.see(event, atMs);
    }
    if (options.for === undefined && expectations.every(isSettled)) break;
  }
  clearTimeout(timer);
  await connection.confirm(client);
  stopSignal.throwIfAborted();
  const runMs = performance.now() - began;
  return { source: client.url, runMs, events, missing: connection.blind };
}

/** When the last expectation is decided, in ms from the start. @throws CliError if that has no limit. */
function lastChance(expectations: readonly Expectation[]): number {
  const times = expectations.map(({ withinMs }) => withinMs).filter((ms) => ms !== null);
  const last = Math.max(...times);
  if (times.length > 0) return last;
  throw new CliError(EXIT.usage, 'no time limit; add --for, or "within" to an expectation');
}

/** Whether it is decided, or holds so far. A `never` is observed for as long as the others need. */
function isSettled(one: Expectation): boolean {
  return one.isDecided || one.verdict(null).passed;
}

async function report(result: CheckReport, { junit, json }: CheckOptions): Promise<void> {
  const save = (path: string, text: string): void => {
    try {
      writeFileSync(path, text);
    } catch (thrown) {
      throw new CliError(EXIT.usage, `cannot write the report ${path}: ${messageOf(thrown)}`);
    }
  };
  const forms: [path: string | undefined, text: () => string][] = [
    [json, () => `${safeJson(result, 2)}\n`],
    [junit, () => junitReport(result)],
  ];
  let printed = textReport;
  for (const [path, form] of forms) {
    if (isStandardOutput(path)) printed = form;
    else if (path !== undefined) save(path, form());
  }
  await print(printed(result));
  if (result.missing !== null) complain(`the run was not observed to its end: ${result.missing}`);
  if (!result.passed) complain('some expectations were not met');
}
