// Runs in a bot host. Protocol jsonl: JSON-RPC 2.0, version 1 of docs/STDIO.md.

import type { CommandCall } from '../../bot-sdk/index.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import type { Program } from '../../shared/contract/programs.js';
import { messageOf } from '../../shared/errors.js';
import type { ChildProgram } from './child-program.js';
import { fetchFor } from './fetch-service.js';
import { ERRORS, isObject, JsonRpc, RequestError } from './json-rpc.js';
import { badParams, object, oneOf, optionalText, text } from './params.js';
import {
  type CommandInfo,
  cancellable,
  commandsOf,
  DEFAULT_START_MS,
  logErrors,
  NO_ARGS,
  type ProgramContext,
  type Protocol,
  quoteFor,
  type Session,
} from './session.js';

/** The version of the protocol. */
const VERSION = 1;
const LEVELS = ['info', 'warn', 'error', 'state'] as const;
const NOTIFICATIONS = 'log, wire, status, data';

export const JSONL: Protocol = {
  commands: ({ definition: { commands = {} } }) =>
    Object.fromEntries(
      Object.entries(commands).map(([name, { description = '', args = NO_ARGS }]) => [
        name,
        { description, args },
      ]),
    ),
  open: (ctx, program) => new JsonlSession(ctx, program),
};

class JsonlSession implements Session {
  readonly endsLine = false;
  readonly quote: Session['quote'];
  readonly stderr: Session['stderr'];
  readonly #ctx: ProgramContext;
  readonly #program: Program;
  readonly #rpc: JsonRpc;
  #child: ChildProgram | undefined;
  #isReady = false;
  #hasStatus = false;

  constructor(ctx: ProgramContext, program: Program) {
    this.#ctx = ctx;
    this.#program = program;
    this.stderr = logErrors(ctx);
    this.quote = quoteFor(ctx);
    this.#rpc = new JsonRpc({
      send: (line) => this.#child?.write(line),
      notification: (method, params) => this.#notified(method, params),
      request: (method, params) => this.#serve(method, params),
      quote: this.quote,
      fault: (reason) => this.#child?.fail(reason),
    });
  }

  readonly stdout = (line: string, cutBytes: number): void => this.#rpc.receive(line, cutBytes);

  stdoutEnded(): void {
    const half = this.#child?.unfinished ?? '';
    const end = half === '' ? '' : ` in the middle of a line: ${half}`;
    this.#child?.failIfMute(`the program has closed its standard output${end}, and runs on`);
  }

  begin(child: ChildProgram): void {
    this.#child = child;
    void this.#initialize(child);
  }

  stop(child: ChildProgram, graceMs: number): void {
    try {
      this.#rpc.notify('stop', {});
    } catch {
      // It does not read; the signals come anyway.
    }
    child.closeInput();
    child.stop(graceMs, graceMs / 2);
  }

  end(child: ChildProgram): string | null {
    this.#rpc.close(new Error('the program has ended'));
    const half = child.unfinished;
    if (half !== '') return `in the middle of a line: ${half}`;
    return this.#isReady ? null : 'before it answered initialize';
  }

  call(command: string, args: JsonObject, call: CommandCall): Promise<Json> {
    if (!this.#isReady) throw new Error('the program has not answered initialize yet');
    const { id, result } = this.#rpc.request('command', { command, args });
    return cancellable(result, call, () => {
      this.#rpc.forget(id);
      try {
        this.#rpc.notify('cancel', { id });
      } catch {
        // It does not read, or has ended: there is nothing to cancel.
      }
    });
  }

  async #initialize(child: ChildProgram): Promise<void> {
    const { id, config } = this.#ctx;
    const { kind, definition } = this.#program;
    const withinMs = definition.start_timeout_ms ?? DEFAULT_START_MS;
    const cancel = child.after(withinMs, () => {
      const half = child.unfinished;
      const more = half === '' ? '' : `; it has begun a line: ${half}`;
      child.fail(`the program did not answer initialize within ${withinMs} ms${more}`);
    });
    try {
      const { result } = this.#rpc.request('initialize', { protocol: VERSION, id, kind, config });
      const offered = commandInfos(await result);
      if (offered) this.#ctx.offerCommands(commandsOf(offered));
    } catch (thrown) {
      child.fail(`the program cannot be used: initialize: ${messageOf(thrown)}`);
      return;
    } finally {
      cancel();
    }
    this.#isReady = true;
    if (!this.#hasStatus) this.#ctx.setStatus('running');
  }

  #notified(method: string, params: JsonObject): void {
    try {
      this.#apply(method, params);
    } catch (thrown) {
      this.#ctx.log.warn(`the program's ${method} was ignored: ${messageOf(thrown)}`);
    }
  }

  #apply(method: string, params: JsonObject): void {
    const { log } = this.#ctx;
    switch (method) {
      case 'log': {
        const message = text(params, 'message');
        const level = oneOf(params, 'level', LEVELS);
        const scope = optionalText(params, 'scope');
        (scope === undefined ? log : log.scope(scope))[level](message);
        return;
      }
      case 'wire': {
        const transport = oneOf(params, 'transport', ['tcp', 'http']);
        const direction = oneOf(params, 'direction', ['outgoing', 'incoming']);
        const scope = optionalText(params, 'scope') ?? transport;
        log.scope(scope).wire(transport, direction, text(params, 'message'));
        return;
      }
      case 'status':
        this.#hasStatus = true;
        this.#ctx.setStatus(text(params, 'status'));
        return;
      case 'data':
        this.#ctx.updateData(object(params, 'patch'));
        return;
      default:
        throw new Error(`there is no such notification; there are ${NOTIFICATIONS}`);
    }
  }

  async #serve(method: string, params: JsonObject): Promise<Json> {
    try {
      if (method === 'fetch') return await fetchFor(this.#ctx, params);
      throw new RequestError(
        ERRORS.unknownMethod,
        `there is no method ${JSON.stringify(method)}; there is fetch`,
      );
    } catch (thrown) {
      const isBad = thrown instanceof RequestError && thrown.code === ERRORS.badParams;
      if (isBad) this.#ctx.log.warn(`the program's ${method} was refused: ${messageOf(thrown)}`);
      throw thrown;
    }
  }
}

/** The commands in the answer to `initialize`; null if it names none. @throws RequestError */
function commandInfos(result: Json): Record<string, CommandInfo> | null {
  if (result === null) return null;
  if (!isObject(result)) throw badParams('its result must be an object, or null');
  if (result['commands'] === undefined || result['commands'] === null) return null;
  const commands = object(result, 'commands');
  const infos = Object.entries(commands).map(([name, command]): [string, CommandInfo] => {
    if (!isObject(command)) throw badParams(`commands.${name} must be an object`);
    const description = optionalText(command, 'description') ?? '';
    const args =
      command['args'] === undefined || command['args'] === null ? NO_ARGS : object(command, 'args');
    return [name, { description, args }];
  });
  return Object.fromEntries(infos);
}
