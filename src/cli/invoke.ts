// Runs in the command line. Owns `drover invoke`.

import type { Command } from 'commander';
import type { Json, JsonObject } from '../client/index.js';
import { type ConnectionOptions, connect, withConnection } from './connection.js';
import { EXIT } from './exit-codes.js';
import { CliError } from './failure.js';
import { jsonObject } from './options.js';
import { print, printJson, safeJson } from './output.js';
import { action, complain } from './run.js';

/** The target that stands for the service itself. */
const SERVICE = '-';

export function addInvoke(program: Command): void {
  withConnection(program.command('invoke'))
    .description('send a command to a bot, to several, or to the service')
    .argument('<bots>', `a bot, several comma-separated, or ${SERVICE} for the service itself`)
    .argument('<command>', 'for example say')
    .argument('[args...]', 'name=value, where the value may be JSON; or one JSON object')
    .action(action(invoke));
}

async function invoke(
  bots: string,
  command: string,
  given: string[],
  options: ConnectionOptions,
): Promise<number | undefined> {
  const { client, call } = connect(options);
  const args = argsOf(given);
  const targets = bots.split(',').filter((id) => id !== '');
  const [first] = targets;
  if (first === undefined) throw new CliError(EXIT.usage, 'no bot was named');
  if (targets.length === 1) {
    const target = first === SERVICE ? null : first;
    await printJson(await client.invoke(target, command, args, call()));
    return EXIT.ok;
  }
  const results = await client.invokeMany(targets, command, args, call());
  let failed = 0;
  for (const [id, outcome] of Object.entries(results)) {
    if ('result' in outcome) await print(`${id} ${safeJson(outcome.result)}\n`);
    else {
      failed++;
      complain(`${id}: ${outcome.error}`);
    }
  }
  return failed === 0 ? EXIT.ok : EXIT.failed;
}

/** @throws CliError when they are neither pairs nor one object. */
function argsOf(given: readonly string[]): JsonObject {
  const [first, ...more] = given;
  if (first?.startsWith('{') && more.length === 0) {
    try {
      return jsonObject(first) as JsonObject;
    } catch {
      throw new CliError(EXIT.usage, `${first} is not a JSON object`);
    }
  }
  const pairs = given.map((pair): [string, Json] => {
    const at = pair.indexOf('=');
    if (at < 1) {
      const hint = 'arguments are given as name=value, or as one JSON object';
      throw new CliError(EXIT.usage, `${JSON.stringify(pair)} is no argument; ${hint}`);
    }
    return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))];
  });
  return Object.fromEntries(pairs);
}

/** JSON where it is some, text where it is not. */
function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
