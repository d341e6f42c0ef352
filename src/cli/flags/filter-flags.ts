// The flags that select events: by what they are, and by the bot that they are about.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BotFilter, EventFilter } from '../../client/index.js';
import { KINDS, LEVELS } from '../../shared/contract/event-kinds.js';
import { parseQuery } from '../../shared/query/parse-query.js';
import { withBotSelectors } from './bot-selectors.js';
import { eventQuery, list } from './flag-values.js';

export interface FilterFlags extends BotFilter {
  event?: EventKind[];
  level?: NonNullable<EventFilter['level']>;
  bot?: string[];
  scope?: string[];
}

type EventKind = NonNullable<EventFilter['event']>[number];

const EVENTS = KINDS.filter((kind) => kind !== 'gap');

function flag(flags: string, description: string, values?: readonly string[]): Option {
  // The service accepts other values, but they match nothing.
  const parse = (text: string, before?: string[]): string[] => {
    const all = list(text, before);
    if (!values || all.every((value) => values.includes(value))) return all;
    throw new InvalidArgumentError(`Allowed choices are ${values.join(', ')}.`);
  };
  return new Option(flags, `${description} (comma-separated or repeated)`).argParser(parse);
}

/** @param events the default, for the help text. */
export function withFilter(command: Command, events: string): Command {
  const kinds = `kinds of events: ${EVENTS.join(', ')}; default ${events}`;
  const levels = `only lines of this level: ${LEVELS.join(', ')}`;
  command
    .addOption(flag('--bot <id>', 'only events of this bot'))
    .addOption(flag('--level <level>', levels, LEVELS))
    .addOption(flag('--scope <scope>', 'only lines of this scope, for example tcp'))
    .addOption(flag('--event <kind>', kinds, EVENTS))
    .addOption(
      flag('--node <node>', 'only of this node of the cluster; self: of the node that answers'),
    )
    .option(
      '--query <query>',
      'only events that match the query, such as \'level:warn label:team=a -"keep alive"\' (docs/QUERY.md)',
      eventQuery,
    );
  return withBotSelectors(command, ['status', 'kind', 'label']);
}

/** The service's filter. @param events the default. */
export function filterOf(
  { event, level, bot, scope, node, status, kind, label, query }: FilterFlags,
  events?: readonly EventKind[],
): EventFilter {
  // The query may ask for other events than the default.
  const byDefault = asksForEvents(query) ? undefined : events;
  return {
    event: event ?? byDefault,
    level,
    session: bot,
    scope,
    node,
    status,
    kind,
    label,
    query,
  };
}

function asksForEvents(query: string | undefined): boolean {
  const terms = query === undefined ? [] : parseQuery(query, 'lines');
  return terms.some((term) => term.type === 'field' && term.field === 'event');
}
