// Runs in a bot host. What the protocols have in common.

import type { BotContext, BotKind, CommandCall } from '../../bot-sdk/index.js';
import type { RunTimeCommands } from '../../bot-sdk/run-time-commands.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import type { Program } from '../../shared/contract/programs.js';
import type { ChildProgram, ProgramOutput } from './child-program.js';

/** The context of a program's run. */
export type ProgramContext = BotContext & RunTimeCommands;

/** One run of a program, as its protocol sees it. */
export interface Session extends ProgramOutput {
  /** The program runs. */
  begin(child: ChildProgram): void;
  /** Asks it to end. @param graceMs nothing of it may be left then. */
  stop(child: ChildProgram, graceMs: number): void;
  /** It has ended. @returns why that is a failure although its exit code is 0; null if it is none. */
  end(child: ChildProgram): string | null;
  /** Runs a command. */
  call(command: string, args: JsonObject, call: CommandCall): Promise<Json> | Json;
}

/** One file for each protocol. */
export interface Protocol {
  /** What a bot has before it runs. */
  commands(program: Program): Record<string, CommandInfo>;
  open(ctx: ProgramContext, program: Program): Session;
}

export interface CommandInfo {
  description: string;
  args: JsonObject;
}

/** What the kind's `state` makes for each run. */
export interface RunState {
  session: Session | undefined;
}

export const DEFAULT_START_MS = 10_000;
/** Arguments of a command that takes none. */
export const NO_ARGS: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

/** Commands of a kind: each calls the session of its run. */
export function commandsOf(infos: Readonly<Record<string, CommandInfo>>): BotKind['commands'] {
  const commands = Object.entries(infos).map(([name, info]) => [
    name,
    {
      ...info,
      run: (ctx: BotContext, args: JsonObject, call: CommandCall) =>
        sessionOf(ctx).call(name, args, call),
    },
  ]);
  return Object.fromEntries(commands) as BotKind['commands'];
}

function sessionOf({ state }: BotContext): Session {
  const { session } = state as RunState;
  if (!session) throw new Error('the program has not started yet');
  return session;
}

/** Lines of standard error, for protocols whose messages are on standard output. */
export function logErrors(ctx: BotContext): ProgramOutput['stderr'] {
  const log = ctx.log.scope('stderr');
  return (line, cutBytes) => log.warn(marked(line, cutBytes));
}

/** What a program has written, for a reason: masked before it is cut. */
export function quoteFor(ctx: ProgramContext): ProgramOutput['quote'] {
  return (text, units) => {
    const masked = ctx.masked(text);
    return masked.length > units ? `${masked.slice(0, units)}…` : masked;
  };
}

/** A line, with a mark if its end is missing. */
export function marked(line: string, cutBytes: number): string {
  return cutBytes === 0 ? line : `${line}… [cut, ${cutBytes} more bytes]`;
}

/** A call of a command that another promise answers; `cancel` is called when nobody waits any more. */
export async function cancellable(
  result: Promise<Json>,
  { signal }: CommandCall,
  cancel: () => void,
): Promise<Json> {
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  try {
    return await result;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
