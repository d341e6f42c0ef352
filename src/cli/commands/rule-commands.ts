// Runs in the command line. Owns `drover rules`: what is watched, and whether it fires.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { ApiError, type CreateRuleBody, type Rule } from '../../client/index.js';
import {
  CONDITIONS,
  type Condition,
  SEVERITIES,
  type Severity,
} from '../../shared/contract/rule-bounds.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { timeSpan } from '../flags/flag-values.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';

const HEAD = ['NAME', 'STATE', 'SEVERITY', 'SINCE', 'VALUE', 'FIRES ON', 'QUERY'];

type Json = { json?: true };

interface AddOptions extends ConnectionOptions, Json {
  query: string;
  on: Condition;
  atLeast?: number;
  window?: number;
  for?: number;
  severity: Severity;
  off?: true;
}

export function addRules(program: Command): void {
  const rules = addGroup(program, 'rules', 'list, add and remove rules that raise alerts');
  withConnection(
    rules.command('list', { isDefault: true }).description('list the rules; the default'),
  )
    .option('--firing', 'only firing rules; exits with 1 if there are any, or if that is unknown')
    .option('--json', 'print a JSON list')
    .action(action(listRules));
  withConnection(rules.command('add').description('add a rule'))
    .argument('<name>', 'name that alerts show')
    .option(
      '--query <query>',
      'query for the lines or bots to watch (docs/QUERY.md; default: all)',
      '',
    )
    .addOption(
      new Option(
        '--on <condition>',
        'condition: lines in a window, lines per second, no line, or bots',
      )
        .choices(CONDITIONS)
        .default('count'),
    )
    .option(
      '--at-least <number>',
      'how many lines or bots, or lines per second (default: 1)',
      amount,
    )
    .option('--window <time>', 'the window, for example 5m (default: 1m); not for bots', timeSpan)
    .option('--for <time>', 'how long the condition must hold before the rule fires', timeSpan)
    .addOption(
      new Option('--severity <severity>', 'severity of its alerts')
        .choices(SEVERITIES)
        .default('warn'),
    )
    .option('--off', 'add it switched off')
    .option('--json', 'print the rule as JSON')
    .action(action(addRule));
  withConnection(rules.command('rm').description('remove rules'))
    .argument('<name...>', 'names or ids')
    .action(action(removeRules));
  addHelp(rules);
}

async function listRules(
  options: ConnectionOptions & Json & { firing?: true },
): Promise<number | undefined> {
  const { client, call } = connect(options);
  const all = await client.rules.list(call());
  const shown = options.firing ? all.filter(({ state }) => state === 'firing') : all;
  if (options.json) await printJson(shown);
  else await print(table(HEAD, shown.map(row)));
  const unknown = all.filter(({ state }) => state === 'unknown');
  for (const { name, reason } of unknown) complain(`${name} is unknown: ${reason}`);
  for (const { name, state, reason } of shown) {
    if (state === 'refused') complain(`${name} is not evaluated: ${reason}`);
  }
  return options.firing && shown.length + unknown.length > 0 ? EXIT.failed : undefined;
}

function row(rule: Rule): string[] {
  const { name, state, severity, since_ms, value, query } = rule;
  const shown = value === null ? '-' : String(value);
  return [name, state, severity, timeText(since_ms), shown, firesOn(rule), query];
}

function firesOn({ condition, threshold, window_ms: window, for_ms: held }: Rule): string {
  const least = threshold === null ? '' : ` >= ${threshold}`;
  const within = window === null ? '' : ` in ${showDuration(window)}`;
  return `${condition}${least}${within}${held === 0 ? '' : ` for ${showDuration(held)}`}`;
}

async function addRule(name: string, options: AddOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { query, on, atLeast, window, severity } = options;
  const isOfBots = on === 'bots';
  if (isOfBots && window !== undefined) {
    throw new CliError(EXIT.usage, '--window is not for --on bots; use --for');
  }
  const body: CreateRuleBody = {
    name,
    query,
    condition: on,
    ...(atLeast !== undefined && { threshold: atLeast }),
    ...(!isOfBots && { window_ms: window ?? 60_000 }),
    ...(options.for !== undefined && { for_ms: options.for }),
    severity,
    enabled: options.off !== true,
  };
  const rule = await client.rules.create(body, call());
  if (options.json) await printJson(rule);
  else await printLine(`${name} added: ${firesOn(rule)}`);
}

async function removeRules(names: string[], options: ConnectionOptions): Promise<number> {
  const { client, call } = connect(options);
  const all = await client.rules.list(call());
  let exitCode: number = EXIT.ok;
  for (const name of names) {
    const rule = all.find((one) => one.name === name) ?? all.find(({ id }) => id === name);
    try {
      if (!rule) throw new ApiError(404, `there is no rule ${JSON.stringify(name)}`);
      await client.rules.remove(rule.id, call());
      await printLine(`${name} removed`);
    } catch (thrown) {
      if (names.length === 1) throw thrown;
      complain(`${name}: ${(thrown as Error).message}`);
      exitCode = EXIT.failed;
    }
  }
  return exitCode;
}

function amount(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number > 0)) {
    throw new InvalidArgumentError('It must be a number above 0.');
  }
  return number;
}
