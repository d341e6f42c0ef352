// What `drover kinds test` prints, and its report: the same for kinds and for programs.

import type { Json, JsonObject } from '../../client/index.js';
import type { LogItem } from '../../shared/contract/events.js';
import type { LeftBehind } from '../../shared/contract/host-messages.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { complain } from '../terminal/action.js';
import { eventLine } from '../terminal/event-line.js';
import { isColored, print, printLine, safeJson } from '../terminal/output.js';

/** Lines in the JSON report; more are counted. */
const MAX_LINES = 10_000;

export interface TestOptions {
  config?: string;
  invoke?: string[];
  when?: string;
  within: number;
  for: number;
  json?: true;
  color: boolean;
}

export interface TestReport {
  /** Of a program, the words of its command. */
  kind: string | null;
  lines: string[];
  /** Lines beyond those. */
  more_lines: number;
  status: string;
  data: JsonObject;
  results: ({ command: string; result: Json } | { command: string; error: string })[];
  /** Why it failed; null if it did not. */
  error: string | null;
  /** Whether its run has ended within the grace time. */
  stopped: boolean;
  left_behind: LeftBehind[];
}

export class TrialOutput {
  readonly report: TestReport = {
    kind: null,
    lines: [],
    more_lines: 0,
    status: 'stopped',
    data: {},
    results: [],
    error: null,
    stopped: true,
    left_behind: [],
  };
  readonly #isJson: boolean;
  readonly #isColored: boolean;
  #exitCode = 0;
  readonly #when: string | undefined;
  readonly #within: number;
  readonly #ready = new Deferred();
  /** Lines are printed in order. */
  #printed: Promise<void> = Promise.resolve();

  constructor({ json, color, when, within }: TestOptions) {
    this.#when = when;
    this.#within = within;
    this.#isJson = json ?? false;
    this.#isColored = isColored(color);
  }

  /** That of the first fault. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /** Resolves when all is printed. */
  get printed(): Promise<void> {
    return this.#printed;
  }

  /** Prints a fault to standard error. The first one is the error of the report. */
  fail(message: string, exitCode: number): void {
    this.report.error ??= message;
    this.#complain(message, exitCode);
  }

  say(line: string): void {
    if (!this.#isJson) this.#printed = this.#printed.then(() => printLine(line));
  }

  /** The result of a command. */
  answered(command: string, result: Json): void {
    this.report.results.push({ command, result });
    this.say(`${command} ${safeJson(result)}`);
  }

  /** The error of a command. */
  refused(command: string, error: string, exitCode: number): void {
    this.report.results.push({ command, error });
    this.#complain(`${command}: ${error}`, exitCode);
  }

  setStatus(status: string): void {
    this.report.status = status;
    if (status === this.#when) this.#ready.resolve();
  }

  /**
   * Waits for the status of `--when`. @param over resolves when its run is over, or when the wait ends otherwise.
   * @returns whether it was reached, or none is asked for; otherwise that is reported.
   */
  async isReady(over: Promise<unknown>): Promise<boolean> {
    const when = this.#when;
    if (when === undefined) return true;
    const within = this.#within;
    const ready = this.#ready.promise.then(() => 'ready' as const);
    const first = Promise.race([ready, over.then(() => 'over' as const)]);
    const what = await withTimeout(first, within, () => 'late' as const);
    if (what === 'over') this.fail(`its run was over before its status was ${when}`, EXIT.failed);
    if (what === 'late') {
      const now = `its status is ${this.report.status}`;
      this.fail(`${now}, and was not ${when} within ${showDuration(within)}`, EXIT.timeout);
    }
    return what === 'ready';
  }

  /** Prints how it ended. */
  last(): void {
    const { status, data } = this.report;
    this.say(`its last status was ${status}, its data ${safeJson(data)}`);
  }

  line({ kind: _, message_json, ...line }: LogItem): void {
    const { report } = this;
    const message = JSON.parse(message_json) as string;
    if (!this.#isJson) {
      const event = { event: 'log', id: null, data: { ...line, message } } as const;
      const text = eventLine(event, this.#isColored);
      this.#printed = this.#printed.then(() => print(...text));
    } else if (report.lines.length < MAX_LINES) report.lines.push(`${line.level} ${message}`);
    else report.more_lines += 1;
  }

  #complain(message: string, exitCode: number): void {
    this.#printed = this.#printed.then(() => complain(message));
    this.#exitCode ||= exitCode;
  }
}

/** That of an error of a test. */
export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof CliError) return thrown.exitCode;
  if (!(thrown instanceof DroverError)) return EXIT.failed;
  if (thrown.code === 'bad_request') return EXIT.usage;
  return thrown.code === 'not_found' ? EXIT.not_found : EXIT.failed;
}
