// Runs in a bot host. What the protocols have in common whose messages are JSON-RPC, one a line on standard input and output.

import type { CommandCall } from '../../bot-sdk/index.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import type { Program } from '../../shared/contract/programs.js';
import type { ChildProgram } from './child-program.js';
import { JsonRpc } from './json-rpc.js';
import {
  type CommandInfo,
  cancellable,
  DEFAULT_START_MS,
  logErrors,
  NO_ARGS,
  type ProgramContext,
  quoteFor,
  type Session,
} from './session.js';

/** The commands that the definition of a program has: what clients see before a bot has run. */
export function definedCommands({
  definition: { commands = {} },
}: Program): Record<string, CommandInfo> {
  return Object.fromEntries(
    Object.entries(commands).map(([name, { description = '', args = NO_ARGS }]) => [
      name,
      { description, args },
    ]),
  );
}

export abstract class RpcSession implements Session {
  readonly endsLine = false;
  readonly quote: Session['quote'];
  readonly stderr: Session['stderr'];
  protected readonly ctx: ProgramContext;
  protected readonly program: Program;
  protected readonly rpc: JsonRpc;
  protected child: ChildProgram | undefined;
  protected isReady = false;

  constructor(ctx: ProgramContext, program: Program) {
    this.ctx = ctx;
    this.program = program;
    this.stderr = logErrors(ctx);
    this.quote = quoteFor(ctx);
    this.rpc = new JsonRpc({
      send: (line) => this.child?.write(line),
      notification: (method, params) => this.notified(method, params),
      request: (method, params) => this.serve(method, params),
      quote: this.quote,
      fault: (reason) => this.child?.fail(reason),
    });
  }

  readonly stdout = (line: string, cutBytes: number): void => this.rpc.receive(line, cutBytes);

  begin(child: ChildProgram): void {
    this.child = child;
    void this.initialize(child);
  }

  /** Its input is closed, then come the signals. */
  stop(child: ChildProgram, graceMs: number): void {
    child.closeInput();
    child.stop(graceMs, graceMs / 2);
  }

  abstract stdoutEnded(): void;
  abstract end(child: ChildProgram): string | null;
  abstract call(command: string, args: JsonObject, call: CommandCall): Promise<Json>;
  /** Makes it ready for commands, or fails the child. Never rejects. */
  protected abstract initialize(child: ChildProgram): Promise<void>;
  protected abstract notified(method: string, params: JsonObject): void;
  /** Answers a request of the program. Rejects with a RequestError. */
  protected abstract serve(method: string, params: JsonObject): Promise<Json>;

  /** How long it may take to become ready, in ms. */
  protected get startMs(): number {
    return this.program.definition.start_timeout_ms ?? DEFAULT_START_MS;
  }

  /** @param early says that it has ended before it was ready. */
  protected endOf(child: ChildProgram, who: string, early: string): string | null {
    this.rpc.close(new Error(`${who} has ended`));
    const half = child.unfinished;
    if (half !== '') return `in the middle of a line: ${half}`;
    return this.isReady ? null : early;
  }

  /** A request for a command. @param cancel tells the program that nobody waits for the result any more. */
  protected request(
    method: string,
    params: JsonObject,
    call: CommandCall,
    cancel: (id: number) => void,
  ): Promise<Json> {
    const { id, result } = this.rpc.request(method, params);
    return cancellable(result, call, () => {
      this.rpc.forget(id);
      try {
        cancel(id);
      } catch {
        // It does not read, or has ended: there is nothing to cancel.
      }
    });
  }
}
