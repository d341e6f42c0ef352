// Runs in a bot host. Makes a kind of bots of a program.

import { BotError } from '../../bot-sdk/bot-error.js';
import type { BotContext, BotKind } from '../../bot-sdk/index.js';
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

/** What a program gets of the environment of the service, which may hold secrets. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'];

export function programKind(program: Program): BotKind {
  const { kind, definition, config } = program;
  const protocol = PROTOCOLS[definition.protocol];
  const { command, protocol: name } = definition;
  return {
    kind,
    description: definition.description ?? `The program ${command[0]} over ${name}`,
    config,
    state: (): RunState => ({ session: undefined }),
    commands: commandsOf(protocol.commands(program)),
    run: (ctx) => runProgram(ctx as ProgramContext, program, protocol),
  };
}

async function runProgram(
  ctx: ProgramContext,
  program: Program,
  protocol: Protocol,
): Promise<void> {
  if (ctx.signal.aborted) return;
  const { definition, cwd, graceMs } = program;
  const session = protocol.open(ctx, program);
  const env = environment(ctx, program);
  const child = await ChildProgram.start({ command: definition.command, cwd, env }, session);
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

/** @throws BotError for a key that the bot's configuration does not have. */
function environment(
  { id, config }: BotContext,
  { kind, definition: { env = {} } }: Program,
): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && (INHERITED.includes(name) || name.startsWith('LC_')),
  );
  const own = Object.entries(env).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]];
    const given = (config as JsonObject)[value.config];
    // An optional key that the bot does not have.
    if (given === undefined || given === null) return [];
    return [[name, typeof given === 'string' ? given : JSON.stringify(given)]];
  });
  return Object.fromEntries([
    ...(inherited as [string, string][]),
    ['DROVER_BOT_ID', id],
    ['DROVER_KIND', kind],
    ...own,
  ]);
}
