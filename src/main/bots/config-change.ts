// Pure. Writes the line that says who has changed what of a bot.

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
export function changeMessage(
  by: string,
  before: BotParts,
  after: BotParts,
  secrets: readonly string[],
): string | null {
  const change: BotChange = {};
  for (const part of BOT_PARTS) {
    const changed = changedKeys(before[part], after[part]);
    if (Object.keys(changed).length > 0) change[part] = changed;
  }
  if (secrets.length > 0) change.secrets = [...secrets];
  if (Object.keys(change).length === 0) return null;
  const whole = messageOf(by, change);
  return whole.length <= MAX_MESSAGE_UNITS ? whole : messageOf(by, withoutValues(change));
}

function messageOf(by: string, change: BotChange): string {
  return `changed by ${JSON.stringify(by)}: ${JSON.stringify(change)}`;
}

function changedKeys(before: JsonObject, after: JsonObject): Record<string, ValueChange> {
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
