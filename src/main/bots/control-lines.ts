// The lines on the stream about what requests do to bots, in scope `control`: what an operator looks for when something breaks.

import type { BotAction, BotSpec } from '../../shared/contract/bots.js';
import type { Item } from '../../shared/contract/events.js';
import { logItem } from '../service-events.js';

const SCOPE = 'control';
/** Names in a line; the others are counted. */
const MAX_NAMES = 10;
const FIELDS = [
  'labels',
  'restart',
  'isolation',
  'host_group',
  'quota',
  'node',
  'node_labels',
  'failover',
] as const;

/** A request for one bot. */
export function actionLine(id: string, action: BotAction): Item {
  return logItem('info', SCOPE, `${action} requested`, id);
}

/** One request for many bots. It names them, so it is about none of them: a token that is limited to some does not get it. */
export function actionsLine(ids: readonly string[], action: BotAction): Item {
  const count = ids.length.toLocaleString('en');
  return logItem('info', SCOPE, `${action} requested for ${count} bots: ${names(ids)}`);
}

/** What has changed by name, without values: they may be secrets. Null when nothing has. */
export function changeLine(before: BotSpec, after: BotSpec): Item | null {
  const keys = [...new Set([...Object.keys(before.config), ...Object.keys(after.config)])];
  const ofConfig = keys.filter((key) => isOther(own(before.config, key), own(after.config, key)));
  const others = FIELDS.filter((field) => isOther(before[field], after[field]));
  if (ofConfig.length === 0 && others.length === 0) return null;
  const parts = [
    ...(ofConfig.length > 0 ? [`configuration changed: ${names(ofConfig)}`] : []),
    ...(others.length > 0 ? [`settings changed: ${names(others)}`] : []),
  ];
  return logItem('info', SCOPE, parts.join('; '), after.id);
}

function names(all: readonly string[]): string {
  const more = all.length - MAX_NAMES;
  const first = all.slice(0, MAX_NAMES).join(', ');
  return more > 0 ? `${first} and ${more.toLocaleString('en')} more` : first;
}

function own(of: object, key: string): unknown {
  return Object.hasOwn(of, key) ? of[key as keyof typeof of] : undefined;
}

function isOther(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
