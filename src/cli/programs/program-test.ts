// Runs in the process of `drover kinds test`. Starts a program and sends it what a service may send over protocol jsonl.

import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../client/index.js';
import { TRIAL_BOT } from '../../main/bots/kind-trial.js';
import { checkedCopy } from '../../shared/contract/command-args.js';
import type { Config } from '../../shared/contract/config.js';
import { messageOf } from '../../shared/errors.js';
import { kindAjv } from '../../shared/kind-ajv.js';
import { NetworkRules } from '../../shared/network-rules.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { exitCodeOf, type TrialOutput } from '../commands/trial-output.js';
import { EXIT } from '../exit-codes.js';
import { showDuration } from '../flags/duration.js';
import { stopSignal } from '../stop-signals.js';
import { type Commands, checkCommands, wrongArgs } from './program-commands.js';
import type { TestedProgram } from './program-file.js';
import { CLOSE_MS, endGroup } from './program-group.js';
import { type Answer, type Asked, NOT_VALID, ProgramPeer } from './program-peer.js';
import { ProgramServices } from './program-services.js';

/** Faults of lines that are reported; further ones are counted. A program that prints garbage never stops. */
const MAX_FAULTS = 5;
/** Not a command; its characters break programs that do not read UTF-8, or split lines elsewhere than at LF. */
const NO_COMMAND = 'no such command: grüße \u2028 🐑';

export interface ProgramRun {
  config: JsonObject;
  commands: readonly { name: string; args: JsonObject }[];
  /** How long the program runs, in ms. */
  runMs: number;
}

export async function testProgram(
  program: TestedProgram,
  run: ProgramRun,
  config: Config,
  output: TrialOutput,
): Promise<void> {
  const test = new ProgramTest(program, run, config, output);
  try {
    await test.run();
  } catch (thrown) {
    output.fail(messageOf(thrown), exitCodeOf(thrown));
  } finally {
    await output.printed;
  }
}

class ProgramTest {
  readonly #program: TestedProgram;
  readonly #run: ProgramRun;
  readonly #output: TrialOutput;
  readonly #startMs: number;
  readonly #answerMs: number;
  readonly #graceMs: number;
  readonly #env: readonly string[];
  readonly #services: ProgramServices;
  /** Resolves when the command is interrupted. */
  readonly #aborted = new Promise<void>((resolve) => {
    if (stopSignal.aborted) resolve();
    else stopSignal.addEventListener('abort', () => resolve(), { once: true });
  });
  #peer!: ProgramPeer;
  #faults = 0;
  #lastSent = 'initialize';
  #commands: Commands = {};

  constructor(
    program: TestedProgram,
    run: ProgramRun,
    { hosts, invoke, network }: Config,
    output: TrialOutput,
  ) {
    this.#program = program;
    this.#run = run;
    this.#output = output;
    this.#startMs = program.definition.start_timeout_ms ?? hosts.kind_load_ms;
    this.#answerMs = invoke.timeout_ms;
    this.#graceMs = hosts.stop_grace_ms;
    this.#env = hosts.env;
    const rules = new NetworkRules(network.allow);
    this.#services = new ProgramServices(output, rules, (what) => this.#fault(what));
  }

  async run(): Promise<void> {
    const { definition, config } = this.#program;
    const ajv = kindAjv();
    const checked =
      config === null
        ? this.#run.config
        : checkedCopy(ajv().compile(config), 'config', this.#run.config);
    this.#output.report.kind = definition.command.join(' ');
    this.#peer = await ProgramPeer.start(this.#program, checked, this.#env, {
      notified: (method, params) => this.#services.notified(method, params),
      asked: (method, params) => this.#services.asked(method, params),
      fault: (what) => this.#fault(what),
      complained: (line) => this.#services.line({ level: 'warn', scope: 'stderr' }, line),
    });
    try {
      if (await this.#initialize(checked)) {
        await this.#requests();
        const over = Promise.race([this.#peer.ended, this.#aborted]);
        if (await this.#output.isReady(over)) await this.#invocations();
        await Promise.race([
          this.#peer.ended,
          delay(this.#run.runMs, undefined, { ref: false }),
          this.#aborted,
        ]);
        await this.#stop();
      }
    } finally {
      await endGroup(this.#peer, this.#output);
    }
    if (this.#faults > MAX_FAULTS) this.#fail(`${this.#faults - MAX_FAULTS} more faults`);
    if (this.#output.exitCode === EXIT.ok) this.#output.say('it follows protocol jsonl, version 1');
  }

  /** @returns whether it has answered. */
  async #initialize(config: JsonObject): Promise<boolean> {
    const params = { protocol: 1, id: TRIAL_BOT, kind: this.#program.kind, config };
    const asked = this.#peer.ask('initialize', 'initialize', params);
    this.#peer.write(`${asked.line}\n`);
    const answer = await this.#within(asked, this.#startMs);
    const time = showDuration(this.#startMs);
    if (answer === 'late') this.#fail(`it has not answered initialize within ${time}`);
    else if (answer === undefined) await this.#ended('before it answered initialize');
    else if ('error' in answer && answer.error.code === NOT_VALID) return false;
    else if ('error' in answer) this.#fail(`it refuses initialize: ${answer.error.message}`);
    else {
      const { commands, faults } = checkCommands(answer.result);
      for (const fault of faults) this.#fault(`its answer to initialize: ${fault}`);
      this.#commands = commands;
      const names = Object.keys(commands).join(', ') || 'none';
      this.#output.say(`it has answered initialize; its commands: ${names}`);
      return true;
    }
    return false;
  }

  /** What each program must refuse: two requests in one write, and one in two, with a CR before the LF. */
  async #requests(): Promise<void> {
    const peer = this.#peer;
    const method = peer.ask('an unknown method', 'drover/no-such-method', {});
    const command = peer.ask('an unknown command', 'command', { command: NO_COMMAND, args: {} });
    this.#sent('an unknown method and an unknown command in one write');
    peer.write(`${method.line}\n${command.line}\n`);
    await this.#expectError(method, 'an unknown method', -32601);
    await this.#expectError(command, 'an unknown command');
    const split = 'a request in two writes that ends with CR and LF';
    this.#sent(split);
    const { line, ...asked } = peer.ask(split, 'command', { command: NO_COMMAND, args: {} });
    const middle = line.length >> 1;
    peer.write(line.slice(0, middle));
    // In another write.
    await delay(10);
    peer.write(`${line.slice(middle)}\r\n`);
    await this.#expectAnswer(asked, split);
    const wrong = wrongArgs(this.#commands);
    if (wrong) {
      const what = `${wrong.name} with the arguments ${JSON.stringify(wrong.args)}, which its schema refuses`;
      this.#sent(what);
      const one = peer.ask(what, 'command', { command: wrong.name, args: wrong.args });
      peer.write(`${one.line}\n`);
      await this.#expectError(one, what);
    }
    const cancel = 'a cancel of a request that was answered before';
    this.#sent(cancel);
    peer.notify('cancel', { id: method.id });
    await this.#answersStill(cancel);
  }

  /** Sends the commands at once. One that is not answered in time is cancelled, as a service does. */
  async #invocations(): Promise<void> {
    this.#sent('its commands');
    const asked = this.#run.commands.map(({ name, args }) => {
      const one = this.#peer.ask(name, 'command', { command: name, args });
      this.#peer.write(`${one.line}\n`);
      return { name, ...one };
    });
    if (asked.length === 0) return;
    await this.#answersStill(`${asked.map(({ name }) => name).join(', ')}, before the answer`);
    await Promise.all(
      asked.map(async ({ name, ...one }) => {
        const answer = await this.#within(one, this.#answerMs);
        if (answer === undefined) {
          this.#output.refused(name, 'the program ended before it answered', EXIT.failed);
        } else if (answer === 'late') {
          this.#peer.notify('cancel', { id: one.id });
          const time = showDuration(this.#answerMs);
          this.#output.refused(name, `no answer within ${time}; cancelled`, EXIT.failed);
        } else if ('result' in answer) this.#output.answered(name, answer.result);
        else this.#output.refused(name, answer.error.message, EXIT.failed);
      }),
    );
    await this.#answersStill('its commands');
  }

  /** Stops it as a service does. */
  async #stop(): Promise<void> {
    const peer = this.#peer;
    const early = await Promise.race([peer.ended, undefined]);
    if (early !== undefined) {
      if (early === 'code 0') this.#output.say('its run has ended by itself, with code 0');
      else await this.#ended(`after ${this.#lastSent}`);
      return;
    }
    const began = performance.now();
    peer.notify('stop', {});
    peer.closeInput();
    const half = this.#graceMs / 2;
    const end = await withTimeout(peer.ended, half, () => undefined);
    if (end === 'code 0') {
      this.#output.last();
      this.#output.say(`stopped after ${showDuration(performance.now() - began)}`);
    } else if (end !== undefined) await this.#ended('after stop, where code 0 is expected');
    else {
      this.#output.report.stopped = false;
      const time = showDuration(half);
      this.#fail(
        `it does not stop: it still runs ${time} after stop, when a service sends SIGTERM`,
      );
      peer.signal('SIGTERM');
      const late = await withTimeout(peer.ended, half, () => undefined);
      if (late === undefined) this.#fail(`it ignores SIGTERM: it still runs after ${time} more`);
    }
  }

  /** @returns undefined when there is none, which is reported. */
  async #expectAnswer(asked: Asked, what: string): Promise<Answer | undefined> {
    const answer = await this.#within(asked, this.#answerMs);
    if (answer !== 'late') return answer;
    this.#fail(`it has not answered ${what} within ${showDuration(this.#answerMs)}`);
    return undefined;
  }

  async #expectError(asked: Asked, what: string, code?: number): Promise<void> {
    const answer = await this.#expectAnswer(asked, what);
    if (answer === undefined) return;
    if ('result' in answer) {
      const expected = code === undefined ? 'an error' : `the error ${code}`;
      this.#fail(`it answers ${what}, with a result: ${expected} is expected`);
    } else if (code !== undefined && ![code, NOT_VALID].includes(answer.error.code)) {
      this.#fail(`it answers ${what}, with the error ${answer.error.code}: ${code} is expected`);
    }
  }

  async #answersStill(after: string): Promise<void> {
    const asked = this.#peer.ask('an unknown method', 'drover/no-such-method', {});
    this.#peer.write(`${asked.line}\n`);
    const answer = await this.#within(asked, this.#answerMs);
    if (answer === 'late') {
      this.#fail(`it answers nothing after ${after}: nobody could stop or cancel anything`);
    }
  }

  /** @returns 'late' when there is no answer in time; undefined when the program has ended, which is reported. */
  #within({ answer }: Asked, ms: number): Promise<Answer | 'late' | undefined> {
    const { ended, closed } = this.#peer;
    // Its answer may come after its end; but another process may keep its output open.
    const over = ended.then(() => Promise.race([closed, delay(CLOSE_MS)])).then(() => undefined);
    const stopped = this.#aborted.then(() => undefined);
    return withTimeout(Promise.race([answer, over, stopped]), ms, () => 'late' as const);
  }

  /** It has ended, and should not have. */
  async #ended(when: string): Promise<void> {
    // Nothing waits for its end.
    if (stopSignal.aborted) return;
    const end = await this.#peer.ended;
    // Its last lines may arrive after its end.
    await Promise.race([this.#peer.closed, delay(CLOSE_MS)]);
    const words = end.startsWith('code') ? `it ended with ${end}` : `it was ended by ${end}`;
    const last = this.#peer.lastErrors.at(-1);
    this.#fail(`${words} ${when}${last === undefined ? '' : `; its last line: ${last}`}`);
  }

  /** For the error of a program that ends because of it. */
  #sent(what: string): void {
    if (!this.#peer.isOver) this.#lastSent = what;
  }

  #fault(what: string): void {
    this.#faults += 1;
    if (this.#faults <= MAX_FAULTS) this.#fail(what);
  }

  #fail(what: string): void {
    this.#output.fail(what, EXIT.failed);
  }
}
