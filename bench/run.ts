// The entry of `npm run bench`: command line, results files and exit code.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/shared/errors.js';
import type { Bench, BenchOptions, BenchResult } from './harness/bench.js';
import { brokenGuards, type Guards, parseGuards } from './harness/guards.js';
import { GUARDS_FILE, RESULTS_DIRECTORY } from './harness/paths.js';
import { createProgress, type Progress } from './harness/progress.js';
import { renderTable } from './harness/table.js';
import { BENCHES } from './registry.js';

const HELP = `Usage: npm run bench [-- [name…] [options]]

Benches (all of them when none is named):
${BENCHES.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n')}

Options:
  --short         the form for CI: fewer and shorter rounds
  --rounds <n>    this many rounds instead of the bench's own number
  --guard         compare the metrics with bench/guards.json; exit code 1 when one is out of its bounds
  --before <dir>  measure the build of another checkout too, in the same rounds (fanout, fanout-tls)
  --part <name>   only this part of the bench (cluster)
  --json <file>   write the results of all benches to this file too
  --help          this text

Each bench writes bench/results/<name>.json. Exit code 1: a bench failed, or a guard did. 2: wrong usage.
`;

interface CommandLine {
  benches: readonly Bench[];
  options: BenchOptions;
  guard: boolean;
  json: string | undefined;
}

/** The results file of a bench. */
interface Report extends BenchResult {
  bench: string;
  started: string;
  seconds: number;
  node: string;
  options: BenchOptions;
}

/** @returns the parsed command line, or undefined for --help. @throws Error for wrong usage. */
function parseCommandLine(args: string[]): CommandLine | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      before: { type: 'string' },
      part: { type: 'string' },
      guard: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const unknown = positionals.find((name) => !BENCHES.some((bench) => bench.name === name));
  if (unknown !== undefined) {
    const names = BENCHES.map(({ name }) => name).join(', ');
    throw new Error(`unknown bench ${unknown}; benches are: ${names}`);
  }
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1)) {
    throw new Error(`--rounds must be a whole number of at least 1, not ${values.rounds}`);
  }
  return {
    benches: BENCHES.filter(({ name }) => positionals.length === 0 || positionals.includes(name)),
    options: {
      short: values.short,
      rounds,
      before: values.before === undefined ? undefined : distOf(values.before),
      part: values.part,
    },
    guard: values.guard,
    json: values.json,
  };
}

function distOf(checkout: string): URL {
  return pathToFileURL(join(resolve(checkout), 'dist/'));
}

async function runBench(bench: Bench, options: BenchOptions, progress: Progress): Promise<Report> {
  const started = new Date();
  const result = await bench.run(options, progress);
  progress.done();
  return {
    bench: bench.name,
    started: started.toISOString(),
    seconds: Math.round((Date.now() - started.getTime()) / 1000),
    node: process.version,
    options,
    ...result,
  };
}

async function writeJson(path: string | URL, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** @returns the exit code. */
async function run({ benches, options, guard, json }: CommandLine): Promise<number> {
  const guards: Guards = guard ? parseGuards(await readFile(GUARDS_FILE, 'utf8')) : {};
  const rewrites = process.stderr.isTTY && !process.env.NO_COLOR;
  const progress = createProgress(process.stderr, rewrites);
  await mkdir(RESULTS_DIRECTORY, { recursive: true });
  const reports: Report[] = [];
  const failures: string[] = [];
  for (const bench of benches) {
    try {
      const report = await runBench(bench, options, progress);
      reports.push(report);
      for (const table of report.tables) process.stdout.write(`${renderTable(table)}\n`);
      await writeJson(new URL(`${bench.name}.json`, RESULTS_DIRECTORY), report);
      failures.push(...brokenGuards(bench.name, report.metrics, guards));
    } catch (error) {
      progress.done();
      failures.push(`${bench.name}: ${messageOf(error)}`);
    }
  }
  if (json !== undefined) await writeJson(json, reports);
  for (const failure of failures) process.stderr.write(`failed: ${failure}\n`);
  if (guard && failures.length === 0)
    process.stdout.write('All metrics are within their bounds.\n');
  return failures.length === 0 ? 0 : 1;
}

// The exit hook in harness/child.ts removes children and temporary directories.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

let commandLine: CommandLine | undefined;
try {
  commandLine = parseCommandLine(process.argv.slice(2));
  if (commandLine === undefined) process.stdout.write(HELP);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 2;
}
if (commandLine !== undefined) {
  process.exitCode = await run(commandLine).catch((error: unknown) => {
    process.stderr.write(`failed: ${messageOf(error)}\n`);
    return 1;
  });
}
