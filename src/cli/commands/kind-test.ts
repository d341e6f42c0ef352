// `drover kinds test`: runs a kind alone, in a bot host without a service.

import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Json, JsonObject } from '../../client/index.js';
import { findKinds, isNewer } from '../../main/bots/kind-modules.js';
import type { Config } from '../../shared/contract/config.js';
import type { Item } from '../../shared/contract/events.js';
import type { LeftBehind } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { objectOf } from '../flags/config-flag.js';
import { showDuration } from '../flags/duration.js';
import { duration } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { eventLine } from '../terminal/event-line.js';
import { isColored, print, printJson, printLine, safeJson } from '../terminal/output.js';

type KindTrial = import('../../main/bots/kind-trial.js').KindTrial;

/** As docs/BOTS.md has it. */
const COMPILE = 'npx tsc --module nodenext --target es2023 --types node --strict --noEmitOnError';
const DEFAULT_RUN_MS = 2000;
/** How long a run that publishes nothing has to begin before the first command, in ms. */
const BEGIN_MS = 1000;
/** Lines in the JSON report; more are counted. */
const MAX_LINES = 10_000;

interface TestOptions {
  config?: string;
  invoke?: string[];
  for: number;
  json?: true;
  color: boolean;
}

interface TestReport {
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

export function addKindTest(kinds: Command): void {
  kinds
    .command('test')
    .description('run a kind alone, without a service, and list what it leaves behind')
    .argument('<file>', 'module of the kind')
    .option('--config <json>', "the bot's configuration as JSON, or @file to read it from a file")
    .option(
      '--invoke <command>',
      'command to call, as name or name={"its":"arguments"}; can be repeated',
      (text: string, before: string[] = []) => [...before, text],
    )
    .option(
      '--for <time>',
      'how long the bot runs, if it does not end by itself',
      duration,
      DEFAULT_RUN_MS,
    )
    .option('--json', 'print a report as JSON instead of the lines')
    .option('--no-color', 'disable colours (default when the output is not a terminal)')
    .action(action(testKind));
}

async function testKind(file: string, options: TestOptions): Promise<number> {
  const config = options.config === undefined ? {} : objectOf('--config', options.config);
  const commands = (options.invoke ?? []).map(commandOf);
  const module = moduleOf(file);
  const test = new KindTest(options);
  const exitCode = await test.run(module, config, commands);
  if (options.json) await printJson(test.report);
  return exitCode;
}

/** @throws CliError */
function moduleOf(file: string): string {
  const path = resolve(file);
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new CliError(EXIT.usage, `there is no file ${path}`);
  }
  const { modules, failed } = findKinds([path]);
  const module = modules.at(-1);
  if (failed.length === 0 && module !== undefined) return module;
  const compiled = compiledFrom(path);
  if (compiled === undefined) {
    throw new CliError(EXIT.failed, `it does not load: ${failed[0]?.error}`);
  }
  const old = isNewer(path, compiled) ? `; it is older: compile again with ${COMPILE} ${file}` : '';
  complain(
    `Node ${process.version} does not load TypeScript: this tests ${basename(compiled)} beside ${basename(path)}${old}`,
  );
  return moduleOf(compiled);
}

/** The output of tsc for a file; undefined if there is none. */
function compiledFrom(path: string): string | undefined {
  const compiled = path.replace(/ts$/, 'js');
  const isFile = statSync(compiled, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile && compiled !== path ? compiled : undefined;
}

function commandOf(text: string): { name: string; args: JsonObject } {
  const at = text.indexOf('=');
  if (at === -1) return { name: text, args: {} };
  return {
    name: text.slice(0, at),
    args: objectOf(`--invoke ${text.slice(0, at)}`, text.slice(at + 1)),
  };
}

/** One test of one kind. */
class KindTest {
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
  readonly #options: TestOptions;
  readonly #isColored: boolean;
  /** The bot has published something. */
  readonly #heard = new Deferred();
  #exitCode: number = EXIT.ok;
  /** Lines are printed in order. */
  #printed: Promise<void> = Promise.resolve();

  constructor(options: TestOptions) {
    this.#options = options;
    this.#isColored = isColored(options.color);
  }

  /** @returns the exit code. */
  async run(
    module: string,
    config: JsonObject,
    commands: readonly { name: string; args: JsonObject }[],
  ): Promise<number> {
    // Not imported above: other commands do not need them.
    const { loadConfig } = await import('../../main/load-config.js');
    const { KindTrial } = await import('../../main/bots/kind-trial.js');
    const serviceConfig: Config = loadConfig(undefined, process.env, {});
    const trial = new KindTrial(serviceConfig, (item) => this.#take(item));
    try {
      const kind = await this.#load(trial, module);
      if (kind === undefined) return this.#exitCode;
      this.report.kind = kind;
      await trial.start(kind, config);
      const over = trial.exited.then(() => {});
      const until = delay(this.#options.for, undefined, { ref: false });
      const stop = new Promise<void>((resolve) => {
        stopSignal.addEventListener('abort', () => resolve(), { once: true });
      });
      // The start is answered before the run begins.
      await Promise.race([over, this.#heard.promise, delay(BEGIN_MS)]);
      for (const { name, args } of commands) await this.#invoke(trial, kind, name, args);
      await Promise.race([over, until, stop]);
      await this.#end(trial);
    } catch (thrown) {
      this.#fail(messageOf(thrown), exitCodeOf(thrown));
    } finally {
      await trial.close();
      await this.#printed;
    }
    return this.#exitCode;
  }

  /** @returns the name of the kind; undefined when it does not load. */
  async #load(trial: KindTrial, module: string): Promise<string | undefined> {
    const { kinds, failed } = await trial.load([module]);
    for (const { error } of failed) this.#fail(`it does not load: ${error}`, EXIT.failed);
    return kinds[0]?.kind;
  }

  async #invoke(trial: KindTrial, kind: string, command: string, args: JsonObject): Promise<void> {
    try {
      const result = await trial.invoke(kind, command, args);
      this.report.results.push({ command, result });
      await this.#say(`${command} ${safeJson(result)}`);
    } catch (thrown) {
      const error = messageOf(thrown);
      this.report.results.push({ command, error });
      await this.#printed;
      complain(`${command}: ${error}`);
      this.#exitCode ||= exitCodeOf(thrown);
    }
  }

  async #end(trial: KindTrial): Promise<void> {
    const { report } = this;
    const exit = await Promise.race([trial.exited, undefined]);
    const began = performance.now();
    report.stopped = await trial.stop();
    const { status } = report;
    await this.#say(`its last status was ${status}, its data ${safeJson(report.data)}`);
    if (exit) {
      if (exit.error === null) await this.#say('its run has returned');
      else this.#fail(`its run has failed: ${exit.error}`, EXIT.failed);
      report.stopped = await trial.returns();
      if (!report.stopped) {
        this.#fail(
          'its run has not returned after the error: a service replaces the host of such a bot when it starts it again',
          EXIT.not_as_expected,
        );
      }
    } else if (report.stopped) {
      await this.#say(`stopped after ${showDuration(performance.now() - began)}`);
    } else {
      this.#fail('it does not stop: its run continues after the grace time', EXIT.not_as_expected);
    }
    report.left_behind = await trial.leftBehind();
    for (const { what, at, pid } of report.left_behind) {
      const name = pid === null ? what : `${what} ${pid}`;
      await this.#say(`left behind: ${name}${at === null ? '' : `, made at ${at}`}`);
      if (pid !== null) endChild(pid);
    }
    const { length } = report.left_behind;
    if (length === 0) await this.#say('nothing is left behind');
    else {
      const what = length === 1 ? '1 thing is' : `${length} things are`;
      this.#fail(
        `${what} left behind; end what a run makes when ctx.signal is aborted`,
        EXIT.not_as_expected,
      );
    }
  }

  #fail(message: string, exitCode: number): void {
    this.report.error ??= message;
    void this.#printed.then(() => complain(message));
    this.#exitCode ||= exitCode;
  }

  async #say(line: string): Promise<void> {
    if (this.#options.json) return;
    await this.#printed;
    await printLine(line);
  }

  #take(item: Item): void {
    const { report } = this;
    this.#heard.resolve();
    if (item.kind === 'session') {
      if (item.patch.status !== undefined && item.patch.status !== 'stopping') {
        report.status = item.patch.status;
      }
      report.data = (item.patch.data as JsonObject | undefined) ?? report.data;
      return;
    }
    const { kind: _, message_json, ...line } = item;
    const message = JSON.parse(message_json) as string;
    if (!this.#options.json) {
      const text = eventLine(
        { event: 'log', id: null, data: { ...line, message } },
        this.#isColored,
      );
      this.#printed = this.#printed.then(() => print(...text));
    } else if (report.lines.length < MAX_LINES) report.lines.push(`${line.level} ${message}`);
    else report.more_lines += 1;
  }
}

function exitCodeOf(thrown: unknown): number {
  if (!(thrown instanceof DroverError)) return EXIT.failed;
  if (thrown.code === 'bad_request') return EXIT.usage;
  return thrown.code === 'not_found' ? EXIT.not_found : EXIT.failed;
}

/** It would outlive the command. */
function endChild(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
