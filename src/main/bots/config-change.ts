// Pure. Says what has changed of a bot.

import { isDeepStrictEqual } from 'node:util';
import {
  BOT_PARTS,
  type BotChange,
  type BotParts,
  type ValueChange,
} from '../../shared/contract/config-changes.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { MAX_MESSAGE_UNITS } from '../../shared/contract/line-text.js';

/** @returns null when nothing has changed. */
export function changeOf(
  before: BotParts,
  after: BotParts,
  secrets: readonly string[],
): BotChange | null {
  const change: BotChange = {};
  for (const part of BOT_PARTS) {
    const changed = changedKeys(before[part], after[part]);
    if (Object.keys(changed).length > 0) change[part] = changed;
  }
  if (secrets.length > 0) change.secrets = [...secrets];
  if (Object.keys(change).length === 0) return null;
  return JSON.stringify(change).length <= MAX_MESSAGE_UNITS ? change : withoutValues(change);
}

export function changedKeys(before: JsonObject, after: JsonObject): Record<string, ValueChange> {
  const changed: Record<string, ValueChange> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [ownValue(before, key), ownValue(after, key)];
    if (isDeepStrictEqual(from, to)) continue;
    changed[key] = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  }
  return changed;
}

function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function withoutValues(change: BotChange): BotChange {
  const cut: BotChange = { ...change, cut: true };
  for (const part of BOT_PARTS) {
    const keys = change[part];
    if (keys) cut[part] = Object.fromEntries(Object.keys(keys).map((key) => [key, {}]));
  }
  return cut;
}
