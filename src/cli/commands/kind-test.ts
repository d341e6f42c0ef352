// `drover kinds test`: runs a kind alone, in a bot host without a service; or a program (src/cli/programs).

import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { JsonObject } from '../../client/index.js';
import { findKinds, isNewer } from '../../main/bots/kind-modules.js';
import type { Config } from '../../shared/contract/config.js';
import type { Item } from '../../shared/contract/events.js';
import { Deferred } from '../../shared/deferred.js';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { objectOf } from '../flags/config-flag.js';
import { showDuration } from '../flags/duration.js';
import { duration } from '../flags/flag-values.js';
import { programAt } from '../programs/program-file.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { printJson } from '../terminal/output.js';
import { exitCodeOf, type TestOptions, TrialOutput } from './trial-output.js';

type KindTrial = import('../../main/bots/kind-trial.js').KindTrial;

/** As docs/BOTS.md has it. */
const COMPILE = 'npx tsc --module nodenext --target es2023 --types node --strict --noEmitOnError';
const DEFAULT_RUN_MS = 2000;
const DEFAULT_WITHIN_MS = 30_000;
/** How long a run that publishes nothing has to begin before the first command, in ms. */
const BEGIN_MS = 1000;

interface Invocation {
  name: string;
  args: JsonObject;
}

export function addKindTest(kinds: Command): void {
  kinds
    .command('test')
    .description(
      'run a kind, or a program of protocol jsonl, without a service, and report its faults and what it leaves behind',
    )
    .argument(
      '<file>',
      'module of the kind, or a program: a Python file, a manifest or an executable',
    )
    .argument('[args...]', 'arguments of the program: drover kinds test -- ./bot --fast')
    .option('--config <json>', "the bot's configuration as JSON, or @file to read it from a file")
    .option(
      '--invoke <command>',
      'command to call, as name or name={"its":"arguments"}; can be repeated',
      (text: string, before: string[] = []) => [...before, text],
    )
    .option('--when <status>', 'call the commands when the bot has this status (default: at once)')
    .option('--within <time>', 'how long --when waits', duration, DEFAULT_WITHIN_MS)
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

async function testKind(file: string, args: string[], options: TestOptions): Promise<number> {
  const config = options.config === undefined ? {} : objectOf('--config', options.config);
  const commands = (options.invoke ?? []).map(commandOf);
  const output = new TrialOutput(options);
  // Not imported above: other commands do not need them.
  const { loadConfig } = await import('../../main/environment/load-config.js');
  const serviceConfig: Config = loadConfig(undefined, process.env, {});
  if (args.length === 0 && /\.m?[jt]s$/.test(file)) {
    const module = moduleOf(file);
    await new KindTest(options, output).run(module, config, commands, serviceConfig);
  } else {
    const { testProgram } = await import('../programs/program-test.js');
    const program = programAt(file, args);
    await testProgram(program, { config, commands, runMs: options.for }, serviceConfig, output);
  }
  if (options.json) await printJson(output.report);
  return output.exitCode;
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

function commandOf(text: string): Invocation {
  const at = text.indexOf('=');
  if (at === -1) return { name: text, args: {} };
  return {
    name: text.slice(0, at),
    args: objectOf(`--invoke ${text.slice(0, at)}`, text.slice(at + 1)),
  };
}

/** One test of one kind. */
class KindTest {
  readonly #options: TestOptions;
  readonly #output: TrialOutput;
  /** The bot has published something. */
  readonly #heard = new Deferred();

  constructor(options: TestOptions, output: TrialOutput) {
    this.#options = options;
    this.#output = output;
  }

  async run(
    module: string,
    config: JsonObject,
    commands: readonly Invocation[],
    serviceConfig: Config,
  ): Promise<void> {
    // Not imported above: other commands do not need it.
    const { KindTrial } = await import('../../main/bots/kind-trial.js');
    const output = this.#output;
    const set = { modules: [module], isTest: true } as const;
    const trial = new KindTrial(serviceConfig, set, (item) => this.#take(item));
    try {
      const kind = await this.#load(trial);
      if (kind === undefined) return;
      output.report.kind = kind;
      await trial.start(kind, config);
      const over = trial.exited.then(() => {});
      const until = delay(this.#options.for, undefined, { ref: false });
      const stop = new Promise<void>((resolve) => {
        stopSignal.addEventListener('abort', () => resolve(), { once: true });
      });
      // The start is answered before the run begins.
      await Promise.race([over, this.#heard.promise, delay(BEGIN_MS)]);
      if (await output.isReady(Promise.race([over, stop]))) {
        for (const { name, args } of commands) await this.#invoke(trial, name, args);
      }
      await Promise.race([over, until, stop]);
      await this.#end(trial);
    } catch (thrown) {
      output.fail(messageOf(thrown), exitCodeOf(thrown));
    } finally {
      await trial.close();
      await output.printed;
    }
  }

  /** @returns the name of the kind; undefined when it does not load. */
  async #load(trial: KindTrial): Promise<string | undefined> {
    const { kinds, failed } = await trial.load();
    for (const { error } of failed) this.#output.fail(`it does not load: ${error}`, EXIT.failed);
    return kinds[0]?.kind;
  }

  async #invoke(trial: KindTrial, command: string, args: JsonObject): Promise<void> {
    try {
      this.#output.answered(command, await trial.invoke(command, args));
    } catch (thrown) {
      this.#output.refused(command, messageOf(thrown), exitCodeOf(thrown));
    }
  }

  async #end(trial: KindTrial): Promise<void> {
    const output = this.#output;
    const { report } = output;
    const exit = await Promise.race([trial.exited, undefined]);
    const began = performance.now();
    report.stopped = await trial.stop();
    output.last();
    if (exit) {
      if (exit.error === null) output.say('its run has returned');
      else output.fail(`its run has failed: ${exit.error}`, EXIT.failed);
      report.stopped = await trial.returns();
      if (!report.stopped) {
        output.fail(
          'its run has not returned after the error: a service replaces the host of such a bot when it starts it again',
          EXIT.not_as_expected,
        );
      }
    } else if (report.stopped) {
      output.say(`stopped after ${showDuration(performance.now() - began)}`);
    } else {
      output.fail('it does not stop: its run continues after the grace time', EXIT.not_as_expected);
    }
    report.left_behind = await trial.leftBehind();
    for (const { what, at, pid } of report.left_behind) {
      const name = pid === null ? what : `${what} ${pid}`;
      output.say(`left behind: ${name}${at === null ? '' : `, made at ${at}`}`);
      if (pid !== null) endChild(pid);
    }
    const { length } = report.left_behind;
    if (length === 0) output.say('nothing is left behind');
    else {
      const what = length === 1 ? '1 thing is' : `${length} things are`;
      output.fail(
        `${what} left behind; end what a run makes when ctx.signal is aborted`,
        EXIT.not_as_expected,
      );
    }
  }

  #take(item: Item): void {
    this.#heard.resolve();
    if (item.kind === 'log') {
      this.#output.line(item);
      return;
    }
    const { report } = this.#output;
    if (item.patch.status !== undefined && item.patch.status !== 'stopping') {
      this.#output.setStatus(item.patch.status);
    }
    report.data = (item.patch.data as JsonObject | undefined) ?? report.data;
  }
}

/** It would outlive the command. */
function endChild(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
