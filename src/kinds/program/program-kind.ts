// Runs in a bot host. Makes a kind of bots of a program.

import { BotError } from '../../bot-sdk/bot-error.js';
import type { BotKind } from '../../bot-sdk/index.js';
import { programEnvironment } from '../../shared/bot-environment.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { Program } from '../../shared/contract/programs.js';
import { ChildProgram, type ProgramExit } from './child-program.js';
import { JSONL } from './jsonl.js';
import { MCP } from './mcp.js';
import { RAW } from './raw.js';
import { commandsOf, type ProgramContext, type Protocol, type RunState } from './session.js';

const PROTOCOLS: Readonly<Record<Program['definition']['protocol'], Protocol>> = {
  raw: RAW,
  jsonl: JSONL,
  mcp: MCP,
};

/** @param env which variables of the service it gets beside those of all programs: `hosts.env`. */
export function programKind(program: Program, env: readonly string[] = []): BotKind {
  const { kind, definition, config } = program;
  const protocol = PROTOCOLS[definition.protocol];
  const { command, protocol: name } = definition;
  return {
    kind,
    description: definition.description ?? `The program ${command[0]} over ${name}`,
    config,
    ...(definition.ready !== undefined && { ready: definition.ready }),
    state: (): RunState => ({ session: undefined }),
    commands: commandsOf(protocol.commands(program)),
    run: (ctx) => runProgram(ctx as ProgramContext, program, protocol, env),
  };
}

async function runProgram(
  ctx: ProgramContext,
  program: Program,
  protocol: Protocol,
  passed: readonly string[],
): Promise<void> {
  if (ctx.signal.aborted) return;
  const { definition, cwd, graceMs } = program;
  const session = protocol.open(ctx, program);
  const env = programEnvironment(ctx.id, program, ctx.config as JsonObject, passed);
  const what = { command: definition.command, cwd, env };
  const child = await ChildProgram.start(what, session, () => ctx.checkLease());
  (ctx.state as RunState).session = session;
  const stop = (): void => session.stop(child, graceMs);
  if (ctx.signal.aborted) stop();
  else {
    ctx.signal.addEventListener('abort', stop, { once: true });
    session.begin(child);
  }
  const exit = await child.exited;
  ctx.signal.removeEventListener('abort', stop);
  const early = session.end(child);
  if (ctx.signal.aborted) {
    if (child.wasKilled) {
      ctx.log.warn('the program did not end on SIGTERM within its grace time, and was killed');
    }
    return;
  }
  if (child.fault) throw child.fault;
  if (exit.code === 0 && early === null) return;
  const when = early === null ? '' : ` ${early}`;
  throw new BotError(`${inWords(exit)}${when}${child.lastErrors}`);
}

function inWords({ code, signal }: ProgramExit): string {
  if (signal !== null) return `the program was ended by ${signal}`;
  return `the program exited with code ${code}`;
}
