// The flags that select events: by what they are, and by the bot that they are about.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { EventFilter, Level } from '../../client/index.js';
import { parseQuery } from '../../shared/query/parse-query.js';
import { type BotSelectors, wordsOf as selectorWords, withBotSelectors } from './bot-selectors.js';
import { list } from './flag-values.js';

export interface FilterFlags {
  /** Kinds of events (`log`, `session`), and kinds of bots. */
  kind?: string[];
  level?: string[];
  bot?: string[];
  scope?: string[];
  status?: string[];
  label?: Record<string, string>;
  /** Nodes of a cluster. */
  node?: string[];
  /** Of `drover logs`: docs/QUERY.md. */
  query?: string;
}

/** What a recording was filtered by. */
export interface RecordedFilter extends EventFilter {
  bots?: BotSelectors;
}

type EventKind = 'log' | 'session';

const EVENT_KINDS: readonly string[] = ['log', 'session'];
const LEVELS: readonly string[] = ['info', 'warn', 'error', 'state'];
/** Values of a filter that are named in a message; the rest is counted. */
const NAMED_VALUES = 10;

function flag(
  flags: string,
  description: string,
  parse: (text: string, before: string[] | undefined) => string[] = list,
): Option {
  return new Option(flags, `${description} (comma-separated or repeated)`).argParser(parse);
}

/** The service accepts others, but they match nothing. */
function levelList(text: string, before: string[] | undefined): string[] {
  const values = list(text, before);
  if (values.every((value) => LEVELS.includes(value))) return values;
  throw new InvalidArgumentError(`Allowed choices are ${LEVELS.join(', ')}.`);
}

function kindList(text: string, before: string[] | undefined): string[] {
  const values = list(text, before);
  if (!values.includes('gap')) return values;
  throw new InvalidArgumentError(
    `Gaps always pass. Allowed choices are ${EVENT_KINDS.join(', ')}. Other names are kinds of bots.`,
  );
}

/** @param kinds the default, for the help text. */
export function withFilter(command: Command, kinds: string): Command {
  command
    .addOption(flag('--bot <id>', 'only events of this bot'))
    .addOption(flag('--level <level>', `only lines of this level: ${LEVELS.join(', ')}`, levelList))
    .addOption(flag('--scope <scope>', 'only lines of this scope, for example tcp'))
    .addOption(
      flag(
        '--kind <kind>',
        `kinds of events: log, session, or both; default ${kinds}. Other names are kinds of bots, and select their events`,
        kindList,
      ),
    );
  return withBotSelectors(command, ['status', 'label']);
}

/** The service's filter. @param kinds the default. */
export function filterOf(
  { kind = [], level, bot, scope, node, query }: FilterFlags,
  kinds?: readonly EventKind[],
): EventFilter {
  const given = kind.filter((name) => EVENT_KINDS.includes(name)) as EventKind[];
  return {
    // The query may ask for other events than the default.
    event: given.length > 0 ? given : asksForEvents(query) ? undefined : kinds,
    level: level as Level[] | undefined,
    session: bot,
    scope,
    node,
    query,
  };
}

function asksForEvents(query: string | undefined): boolean {
  const terms = query === undefined ? [] : parseQuery(query, 'lines');
  return terms.some((term) => term.type === 'field' && term.field === 'event');
}

/** The selectors of bots, which the service does not know. */
export function selectorsOf({ kind = [], status, label }: FilterFlags): BotSelectors {
  const given = kind.filter((name) => !EVENT_KINDS.includes(name));
  return { status, label, kind: given.length > 0 ? given : undefined };
}

/** A filter in the words of its flags: `level warn,error, bot a`. A filter read from a file may hold anything. */
export function wordsOf({ event, level, session, scope, bots }: RecordedFilter): string {
  const parts = Object.entries({ kind: event, level, bot: session, scope }).flatMap(
    ([name, values]) => (values === undefined ? [] : `${name} ${shown([values].flat())}`),
  );
  return [
    ...parts,
    ...(typeof bots !== 'object' || bots === null ? [] : [`bots with ${selectorWords(bots)}`]),
  ].join(', ');
}

function shown(values: readonly string[]): string {
  const more = values.length - NAMED_VALUES;
  const named = values.slice(0, NAMED_VALUES).join(',');
  return more > 0 ? `${named} and ${more} more` : named;
}
