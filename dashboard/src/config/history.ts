// The history of a bot's configuration, from the changes that were made, and what it was before each.

import type { Json, JsonObject } from '../../../src/client/index.js';
import {
  BOT_PARTS,
  type BotChange,
  type BotParts,
  type ValueChange,
} from '../../../src/shared/contract/config-changes.js';
import { t } from '../texts/text.js';
import { type ChangedField, changedFields, isSame } from './changes.js';

export interface Version {
  /** Of the event. */
  id: string;
  at: number;
  by: string;
  changes: readonly ChangedField[];
  /** The values are too long to be kept. */
  isCut: boolean;
  /** The bot before the change; undefined if unknown. */
  before: BotParts | undefined;
}

/** A change that was made. */
export interface ChangeMade {
  /** Of the event. */
  id: string;
  at: number;
  by: string;
  change: BotChange;
}

/** @param now the current state of the bot. @param made newest first. */
export function versionsOf(now: BotParts, made: readonly ChangeMade[]): Version[] {
  let state: BotParts | undefined = now;
  return made.map(({ id, at, by, change }) => {
    state = state && without(state, change);
    return { id, at, by, changes: fieldsOf(change), isCut: change.cut === true, before: state };
  });
}

/** The state before a change; undefined when the change does not lead to this state, as after one that is missing. */
function without(state: BotParts, change: BotChange): BotParts | undefined {
  if (change.cut) return undefined;
  const before: BotParts = { ...state };
  for (const part of BOT_PARTS) {
    const values: JsonObject = { ...state[part] };
    for (const [name, { from, to }] of Object.entries(change[part] ?? {})) {
      if (!isSame(values[name], to)) return undefined;
      if (from === undefined) delete values[name];
      else values[name] = from;
    }
    before[part] = values;
  }
  return before;
}

/** What a change has changed, field by field. */
export function fieldsOf(change: BotChange): ChangedField[] {
  const of = (part: keyof BotParts, which: keyof ValueChange): JsonObject =>
    Object.fromEntries(
      Object.entries(change[part] ?? {}).flatMap(([name, value]): [string, Json][] => {
        const one = value[which];
        return one === undefined ? [] : [[name, one]];
      }),
    );
  if (change.cut) {
    return BOT_PARTS.flatMap((part) =>
      Object.keys(change[part] ?? {}).map((name) => ({
        path: `${part}.${name}`,
        was: null,
        is: t('value.changed'),
      })),
    );
  }
  return [
    ...BOT_PARTS.flatMap((part) => changedFields(part, of(part, 'from'), of(part, 'to'))),
    ...(change.secrets ?? []).map((path) => ({
      path: `config.${path}`,
      was: '•••',
      is: t('value.changedSecret'),
    })),
  ];
}
