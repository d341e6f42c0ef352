// `drover incidents`: reports of bots and hosts that broke.

import type { Command } from 'commander';
import type { BotFilter, Incident, IncidentGroup, StackFrame } from '../../client/index.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, selectedIds, withBotSelectors } from '../flags/bot-selectors.js';
import { count, timeSpan } from '../flags/flag-values.js';
import { parameterText } from '../flags/parameter-text.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';

const GROUP_HEAD = ['CAUSE', 'COUNT', 'BOTS', 'FIRST', 'LAST', 'TYPE', 'MESSAGE'];
const HEAD = ['ID', 'AT', 'TYPE', 'SUSPECT', 'HOST', 'REPEATS', 'REASON'];

interface ListOptions extends ConnectionOptions, BotFilter {
  bot?: string;
  cause?: string;
  limit: number;
  json?: true;
}

interface GroupOptions extends ConnectionOptions {
  cause?: string;
  since?: number;
  limit: number;
  json?: true;
}

export function addIncidents(program: Command): void {
  const incidents = addGroup(program, 'incidents', 'list and show incident reports');
  withBotSelectors(
    withConnection(
      incidents
        .command('list', { isDefault: true })
        .description('list incidents, newest first; the default'),
    )
      .option('--bot <id>', 'only incidents of this bot')
      .option('--cause <cause>', parameterText('GET /api/incidents', 'cause')),
  )
    .option('-n, --limit <n>', parameterText('GET /api/incidents', 'limit'), count, LIMIT.default)
    .option('--json', 'print the incidents as a JSON list')
    .action(action(listIncidents));
  withConnection(
    incidents
      .command('show')
      .description('show an incident: its stack, the last lines and commands')
      .argument('<id>'),
  )
    .option('--json', 'print the incident as JSON')
    .action(action(showIncident));
  withConnection(
    incidents
      .command('groups')
      .description('list incidents by cause, the latest first; with --cause, the ids of the bots'),
  )
    .option('--cause <cause>', 'print the bots of this cause, one id a line')
    .option('--since <duration>', 'only incidents of the last 10m, 3h … (default: a day)', timeSpan)
    .option(
      '-n, --limit <n>',
      parameterText('GET /api/incidents/groups', 'limit'),
      count,
      LIMIT.default,
    )
    .option('--json', 'print the answer of the service as JSON')
    .action(action(listGroups));
  addHelp(incidents);
}

async function listIncidents(options: ListOptions): Promise<undefined> {
  const connection = connect(options);
  const { client, call } = connection;
  const { bot, cause, limit, json } = options;
  const wanted = isSelecting(options) && new Set(await selectedIds(connection, [], options));
  const all = await client.incidents({
    ...call(),
    limit,
    ...(bot !== undefined && { bot }),
    ...(cause !== undefined && { cause }),
  });
  const shown = all.filter((incident) => !wanted || isAbout(incident, wanted));
  if (json) await printJson(shown);
  else await print(table(HEAD, shown.map(row)));
}

async function listGroups(options: GroupOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { cause, since, limit, json } = options;
  const after = since === undefined ? undefined : Math.max(0, Date.now() - since);
  const answer = await client.incidentGroups({ ...call(), cause, after, limit });
  const { groups, missing } = answer;
  if (missing.length > 0)
    complain(`nodes that do not answer are not counted: ${missing.join(', ')}`);
  if (json) await printJson(answer);
  else if (cause === undefined) await print(table(GROUP_HEAD, groups.map(groupRow)));
  else if (groups[0]) for (const bot of groups[0].bots) await printLine(bot);
  else
    throw new CliError(
      EXIT.not_found,
      `no group ${JSON.stringify(cause)}; list them with drover incidents groups`,
    );
}

function groupRow(group: IncidentGroup): string[] {
  const { cause, count: times, bot_count, first_at_ms, last_at_ms, type, where, title } = group;
  return [
    cause,
    String(times),
    String(bot_count),
    timeText(first_at_ms),
    timeText(last_at_ms),
    type,
    where === null ? title : `${title} (${where})`,
  ];
}

/** The suspect decides; without one, the bots that ran there. */
function isAbout({ suspect, bots }: Incident, wanted: ReadonlySet<string>): boolean {
  return suspect === null ? bots.some((id) => wanted.has(id)) : wanted.has(suspect);
}

function row({ id, at_ms, type, suspect, host, repeats, reason }: Incident): string[] {
  return [
    id,
    timeText(at_ms),
    type,
    suspect ?? '-',
    host === null ? '-' : String(host),
    String(repeats),
    reason,
  ];
}

async function showIncident(
  id: string,
  options: ConnectionOptions & { json?: true },
): Promise<undefined> {
  const { client, call } = connect(options);
  const all = await client.incidents({ ...call(), limit: LIMIT.maximum });
  const incident = all.find((one) => one.id === id);
  if (!incident) {
    throw new CliError(
      EXIT.not_found,
      `no incident ${JSON.stringify(id)}; list them with drover incidents`,
    );
  }
  if (options.json) await printJson(incident);
  else for (const line of linesOf(incident)) await printLine(line);
}

function linesOf(incident: Incident): string[] {
  const { id, at_ms, type, reason, suspect, host, bots, bot_count, stack, heap } = incident;
  const { last_lines, last_commands, repeats, repeated_at_ms } = incident;
  const more = bot_count - bots.length;
  const last = repeated_at_ms === null ? '' : `, last at ${timeText(repeated_at_ms)}`;
  const facts: [name: string, value: string | null][] = [
    ['incident', `${id} (${type}) at ${timeText(at_ms)}`],
    ['reason', reason],
    ['suspect', suspect ?? 'unknown'],
    ['host', host === null ? null : String(host)],
    ['bots', bots.length === 0 ? null : `${bots.join(', ')}${more > 0 ? ` and ${more} more` : ''}`],
    ['heap', heap === null ? null : `${mebibytes(heap.used)} of ${mebibytes(heap.limit)}`],
    ['repeats', repeats === 0 ? null : `${repeats}${last}`],
  ];
  const section = (name: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', `${name}:`, ...lines.map((line) => `  ${line}`)];
  return [
    ...facts.flatMap(([name, value]) => (value === null ? [] : `${`${name}:`.padEnd(10)}${value}`)),
    ...section('stack', stackLines(stack)),
    ...section('last lines', last_lines),
    ...section('last commands', last_commands),
  ];
}

function stackLines(stack: Incident['stack']): string[] {
  if (stack === null) return [];
  if (typeof stack === 'string') return stack.split('\n').map((line) => line.trimEnd());
  return stack.map(
    ({ function: name, url, line, column }: StackFrame) =>
      `at ${name === '' ? '(anonymous)' : name} (${url}:${line}:${column})`,
  );
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
