// What happened beside incidents: what people and programs did, starts of the service, losses of hosts.

import type {
  ActivityEvent,
  Incident,
  IncidentGroup,
  StreamEvent,
} from '../../../src/client/index.js';
import { activityText } from '../../../src/shared/contract/activity.js';
import type { BotChange } from '../../../src/shared/contract/config-changes.js';
import { CONTROL_SCOPE } from '../../../src/shared/contract/scopes.js';
import { t } from '../texts/text.js';

export type Lane = 'incident' | 'loss' | 'deployment' | 'change' | 'request' | 'command';

export interface Happening {
  lane: Lane;
  /** When it began and ended, in ms. */
  at: number;
  until: number;
  text: string;
  /** The bots concerned, each once, the first MAX_BOTS. */
  bots: readonly string[];
  /** How often. */
  count: number;
  /** The cause that it is the first incident of. */
  cause?: string;
  /** What was done, in place of `text`. */
  activity?: ActivityEvent;
}

/** Equal happenings within this time, in ms, are joined: a command to many bots, a rollout. */
const JOINED_MS = 10_000;
/** Bots of a happening that are known by name. */
const MAX_BOTS = 1000;
/** Bots that are named in a text; of more there is the number. */
const MAX_NAMES = 3;

const LOSSES: ReadonlySet<string> = new Set([
  'hang',
  'out_of_memory',
  'host_lost',
  'overdue',
  'unclean_end',
  'node_lost',
]);

/** Whether such an incident ends a host. */
export function isLoss({ type }: { type: Incident['type'] }): boolean {
  return LOSSES.has(type);
}

/**
 * The queries of the events that {@link happeningsOf} reads. Commands have a separate query: there can be so many that earlier changes
 * would be dropped.
 */
export const HAPPENINGS_QUERIES = [
  `scope:${CONTROL_SCOPE}`,
  'activity:bot.*,kind.*,rule.*,node.*,record.*',
  'activity:command',
];

/**
 * @param events in any order. @param losses incidents; those that ended a host count. @param groups whose first incident is shown.
 * @returns the newest first.
 */
export function happeningsOf(
  events: readonly StreamEvent[],
  losses: readonly Incident[],
  groups: readonly IncidentGroup[],
): Happening[] {
  const single = [
    ...events.flatMap(ofEvent),
    ...losses.filter(isLoss).map(ofLoss),
    ...groups.map(ofGroup),
  ];
  const joined: Happening[] = [];
  /** The last one of each kind, which the next may join. */
  const last = new Map<string, Happening>();
  for (const one of single.sort((a, b) => a.at - b.at)) {
    const key = `${one.lane} ${one.text}`;
    const before = last.get(key);
    if (before && one.cause === undefined && one.at - before.until <= JOINED_MS) {
      before.until = Math.max(before.until, one.until);
      before.count += one.count;
      before.bots = [...new Set([...before.bots, ...one.bots])].slice(0, MAX_BOTS);
      continue;
    }
    const run = { ...one };
    last.set(key, run);
    joined.push(run);
  }
  return joined.reverse();
}

function ofEvent(event: StreamEvent): Happening[] {
  if (event.event === 'activity') return [ofActivity(event.data)];
  if (event.event !== 'log') return [];
  const { timestamp_ms: at, scope, message: text } = event.data;
  if (scope !== CONTROL_SCOPE) return [];
  return [{ lane: 'deployment', at, until: at, count: 1, bots: [], text }];
}

function ofActivity(activity: ActivityEvent): Happening {
  const { timestamp_ms: at, session_id: bot, activity: name, detail } = activity;
  const lane = name === 'command' ? 'command' : detail?.change ? 'change' : 'request';
  const fields = detail?.change ? `: ${changedFields(detail.change)}` : '';
  // Errors differ from bot to bot.
  const text = activityText({ ...activity, error: null }, '') + fields;
  return { lane, at, until: at, count: 1, bots: bot === null ? [] : [bot], text, activity };
}

/** What was changed, by name. */
function changedFields({ config, labels, restart, placement, secrets = [] }: BotChange): string {
  return [
    ...Object.keys(config ?? {}),
    ...secrets,
    ...(labels ? ['labels'] : []),
    ...(restart ? ['restart'] : []),
    ...Object.keys(placement ?? {}),
  ].join(', ');
}

function ofLoss({ at_ms, type, host, node, bots, bot_count, suspect }: Incident): Happening {
  const where =
    host === null
      ? ''
      : node === undefined
        ? t('happening.host', { host: String(host) })
        : t('happening.hostOf', { host: String(host), node });
  const fell = t('happening.fell', { n: bot_count });
  const why = suspect === null ? '' : `, ${t('happening.suspect', { bot: suspect })}`;
  const text =
    type === 'unclean_end'
      ? t('happening.withService', { fell })
      : type === 'node_lost'
        ? t('happening.withNode', { fell, node: node ?? '' })
        : t('happening.withHost', { fell, host: where, why });
  return { lane: 'loss', at: at_ms, until: at_ms, text, bots, count: 1 };
}

function ofGroup({ first_at_ms: at, title, cause, bots, count }: IncidentGroup): Happening {
  return {
    lane: 'incident',
    at,
    until: at,
    text: t('happening.firstOf', { n: count, title }),
    bots,
    count: 1,
    cause,
  };
}

/** `Ada restarted 412 bots` or `Ada changed demo-1: gold`. */
export function happeningText({ text, bots, count, activity }: Happening): string {
  if (!activity) return text;
  const isMany = bots.length > MAX_NAMES;
  const whom = isMany ? t('count.bots', { n: bots.length }) : bots.join(', ');
  const { change } = activity.detail ?? {};
  const fields = change ? `: ${changedFields(change)}` : '';
  const times = count > Math.max(1, bots.length) ? `, ${t('happening.times', { n: count })}` : '';
  // The error of one bot says little about the others.
  const error = bots.length > 1 ? null : activity.error;
  return `${activityText({ ...activity, error }, whom)}${fields}${times}`;
}
