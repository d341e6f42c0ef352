import type { Command } from 'commander';
import {
  ApiError,
  type BotFilter,
  type InvokeOutcome,
  type Json,
  type JsonObject,
} from '../../client/index.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, selectedIds, withBotSelectors } from '../flags/bot-selectors.js';
import { jsonObject } from '../flags/flag-values.js';
import { action, complain } from '../terminal/action.js';
import { printJson, printLine, safeJson } from '../terminal/output.js';

/** The target name for the service itself. */
const SERVICE = '-';
/** Most bots that one request takes. */
const BATCH = 1000;

interface InvokeOptions extends ConnectionOptions, BotFilter {
  json?: true;
}

export function addInvoke(program: Command): void {
  withBotSelectors(withConnection(program.command('invoke')))
    .description('send a command to bots or to the service')
    .usage('[options] <bots> <command> [args...]')
    .argument(
      '<bots>',
      `bot id, several comma-separated, or ${SERVICE} for the service itself; omit it with --status, --kind or --label`,
    )
    .argument('[command]', 'name of the command, for example say')
    .argument('[args...]', 'arguments as name=value (the value may be JSON), or as one JSON object')
    .option('--json', 'for several bots: print the result or error of each as JSON')
    .action(action(invoke));
}

async function invoke(
  first: string,
  second: string | undefined,
  rest: string[],
  options: InvokeOptions,
): Promise<number | undefined> {
  const isMany = isSelecting(options);
  // With selectors there is no argument for the bots.
  const words = [first, ...(second === undefined ? [] : [second]), ...rest];
  const given = isMany ? '' : words.shift();
  const [command, ...pairs] = words;
  if (command === undefined) throw new CliError(EXIT.usage, 'no command given');
  const args = argsOf(pairs);
  const connection = connect(options);
  const { client, call } = connection;
  const ids = (given ?? '').split(',').filter((id) => id !== '');
  const targets = isMany ? await selectedIds(connection, ids, options) : ids;
  const [target] = targets;
  if (target === undefined) throw new CliError(EXIT.usage, 'no bot given');
  for (const [name, text] of await textArguments(args, pairs, connection, target, command)) {
    args[name] = text;
  }
  if (targets.length === 1 && !isMany) {
    const bot = target === SERVICE ? null : target;
    await printJson(await client.invoke(bot, command, args, call()));
    return EXIT.ok;
  }
  const all: Record<string, InvokeOutcome> = {};
  let failed = 0;
  for (let at = 0; at < targets.length; at += BATCH) {
    const batch = targets.slice(at, at + BATCH);
    const results = await client.invokeMany(batch, command, args, call());
    Object.assign(all, results);
    for (const [id, outcome] of Object.entries(results)) {
      if ('error' in outcome) {
        failed++;
        complain(`${id}: ${outcome.error}`);
      } else if (!options.json) await printLine(`${id} ${safeJson(outcome.result)}`);
    }
  }
  if (options.json) await printJson(all);
  return failed === 0 ? EXIT.ok : EXIT.failed;
}

/** @throws CliError unless the arguments are `name=value` pairs or one JSON object. */
function argsOf(given: readonly string[]): JsonObject {
  const [first, ...more] = given;
  if (first?.startsWith('{') && more.length === 0) {
    try {
      return jsonObject(first) as JsonObject;
    } catch {
      throw new CliError(EXIT.usage, `${first} is not a JSON object`);
    }
  }
  return Object.fromEntries(given.map(pairOf).map(([name, text]) => [name, jsonOrText(text)]));
}

function pairOf(given: string): [name: string, text: string] {
  const at = given.indexOf('=');
  if (at >= 1) return [given.slice(0, at), given.slice(at + 1)];
  const hint = 'use name=value, or one JSON object';
  throw new CliError(EXIT.usage, `${JSON.stringify(given)} is not a valid argument; ${hint}`);
}

/** The value of valid JSON, otherwise the text itself. */
function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The pairs that parsed as JSON, such as `text=2026`, although the command's schema wants a string. */
async function textArguments(
  args: JsonObject,
  given: readonly string[],
  { client, call }: Connection,
  bot: string,
  command: string,
): Promise<[name: string, text: string][]> {
  if (given[0]?.startsWith('{')) return [];
  const ambiguous = given.map(pairOf).filter(([name]) => typeof args[name] !== 'string');
  if (ambiguous.length === 0 || bot === SERVICE) return [];
  try {
    const [{ kind }, { kinds }] = await Promise.all([
      client.bots.get(bot, call()),
      client.kinds(call()),
    ]);
    const schema = kinds.find((one) => one.kind === kind)?.commands[command]?.args;
    const fields = (schema?.['properties'] ?? {}) as Record<string, { type?: unknown }>;
    return ambiguous.filter(([name]) => fields[name]?.type === 'string');
  } catch (thrown) {
    // No read scope, or no such bot: the command itself reports that.
    if (thrown instanceof ApiError) return [];
    throw thrown;
  }
}
