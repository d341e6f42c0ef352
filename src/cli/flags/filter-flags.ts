// The flags that select events: by what they are, and by the bot that they are about.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BotFilter, EventFilter } from '../../client/index.js';
import { KINDS, LEVELS } from '../../shared/contract/event-kinds.js';
import { parseQuery } from '../../shared/query/parse-query.js';
import { withBotSelectors } from './bot-selectors.js';
import { eventQuery, list } from './flag-values.js';
import { parameterText } from './parameter-text.js';

export interface FilterFlags extends BotFilter {
  event?: EventKind[];
  level?: NonNullable<EventFilter['level']>;
  bot?: string[];
  scope?: string[];
}

type EventKind = NonNullable<EventFilter['event']>[number];

const EVENTS = KINDS.filter((kind) => kind !== 'gap');

function flag(
  flags: string,
  name: 'event' | 'level' | 'session' | 'scope' | 'node',
  values?: readonly string[],
): Option {
  // The service accepts other values, but they match nothing.
  const parse = (text: string, before?: string[]): string[] => {
    const all = list(text, before);
    if (!values || all.every((value) => values.includes(value))) return all;
    throw new InvalidArgumentError(`Allowed choices are ${values.join(', ')}.`);
  };
  return new Option(flags, parameterText('GET /events', name)).argParser(parse);
}

/** @param events the default, for the help text. */
export function withFilter(command: Command, events: string): Command {
  const kinds = flag('--event <kind>', 'event', EVENTS);
  kinds.description += `; default ${events}`;
  command
    .addOption(flag('--bot <id>', 'session'))
    .addOption(flag('--level <level>', 'level', LEVELS))
    .addOption(flag('--scope <scope>', 'scope'))
    .addOption(kinds)
    .addOption(flag('--node <node>', 'node'))
    .option('--query <query>', parameterText('GET /events', 'query'), eventQuery);
  return withBotSelectors(command, ['status', 'kind', 'label'], 'GET /events');
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
