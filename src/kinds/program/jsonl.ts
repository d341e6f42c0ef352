// Runs in a bot host. Protocol jsonl: JSON-RPC 2.0, version 1 of docs/STDIO.md.

import type { CommandCall } from '../../bot-sdk/index.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { messageOf } from '../../shared/errors.js';
import type { ChildProgram } from './child-program.js';
import { fetchFor } from './fetch-service.js';
import { ERRORS, isObject, RequestError } from './json-rpc.js';
import { badParams, object, oneOf, optionalText, text } from './params.js';
import { definedCommands, RpcSession } from './rpc-session.js';
import { type CommandInfo, commandsOf, NO_ARGS, type Protocol } from './session.js';

/** The version of the protocol. */
const VERSION = 1;
const LEVELS = ['info', 'warn', 'error', 'state'] as const;
const NOTIFICATIONS = 'log, wire, status, data';

export const JSONL: Protocol = {
  commands: definedCommands,
  open: (ctx, program) => new JsonlSession(ctx, program),
};

class JsonlSession extends RpcSession {
  #hasStatus = false;

  stdoutEnded(): void {
    const half = this.child?.unfinished ?? '';
    const end = half === '' ? '' : ` in the middle of a line: ${half}`;
    this.child?.failIfMute(`the program has closed its standard output${end}, and runs on`);
  }

  override stop(child: ChildProgram, graceMs: number): void {
    try {
      this.rpc.notify('stop', {});
    } catch {
      // It does not read; the signals come anyway.
    }
    super.stop(child, graceMs);
  }

  end(child: ChildProgram): string | null {
    return this.endOf(child, 'the program', 'before it answered initialize');
  }

  call(command: string, args: JsonObject, call: CommandCall): Promise<Json> {
    if (!this.isReady) throw new Error('the program has not answered initialize yet');
    const params = { command, args };
    return this.request('command', params, call, (id) => this.rpc.notify('cancel', { id }));
  }

  protected async initialize(child: ChildProgram): Promise<void> {
    const { id, config } = this.ctx;
    const { kind } = this.program;
    const withinMs = this.startMs;
    const cancel = child.after(withinMs, () => {
      const half = child.unfinished;
      const more = half === '' ? '' : `; it has begun a line: ${half}`;
      child.fail(`the program did not answer initialize within ${withinMs} ms${more}`);
    });
    try {
      const { result } = this.rpc.request('initialize', { protocol: VERSION, id, kind, config });
      const offered = commandInfos(await result);
      if (offered) this.ctx.offerCommands(commandsOf(offered));
    } catch (thrown) {
      child.fail(`the program cannot be used: initialize: ${messageOf(thrown)}`);
      return;
    } finally {
      cancel();
    }
    this.isReady = true;
    if (!this.#hasStatus) this.ctx.setStatus('running');
  }

  protected notified(method: string, params: JsonObject): void {
    try {
      this.#apply(method, params);
    } catch (thrown) {
      this.ctx.log.warn(`the program's ${method} was ignored: ${messageOf(thrown)}`);
    }
  }

  #apply(method: string, params: JsonObject): void {
    const { log } = this.ctx;
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
        const correlationId = optionalText(params, 'correlation_id');
        log.scope(scope).wire(transport, direction, text(params, 'message'), { correlationId });
        return;
      }
      case 'status':
        this.#hasStatus = true;
        this.ctx.setStatus(text(params, 'status'));
        return;
      case 'data':
        this.ctx.updateData(object(params, 'patch'));
        return;
      default:
        throw new Error(`there is no such notification; there are ${NOTIFICATIONS}`);
    }
  }

  protected async serve(method: string, params: JsonObject): Promise<Json> {
    try {
      if (method === 'fetch') return await fetchFor(this.ctx, params);
      throw new RequestError(
        ERRORS.unknownMethod,
        `there is no method ${JSON.stringify(method)}; there is fetch`,
      );
    } catch (thrown) {
      const isBad = thrown instanceof RequestError && thrown.code === ERRORS.badParams;
      if (isBad) this.ctx.log.warn(`the program's ${method} was refused: ${messageOf(thrown)}`);
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
