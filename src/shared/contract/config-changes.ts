// What can change of a bot.

import type { BotChange } from './event-schemas.js';
import type { JsonObject } from './json.js';

export type { BotChange };

export interface BotParts {
  /** Without secrets. */
  config: JsonObject;
  labels: JsonObject;
  restart: JsonObject;
  /** Where it runs, and what it may use. */
  placement: JsonObject;
}

export const BOT_PARTS = [
  'config',
  'labels',
  'restart',
  'placement',
] as const satisfies readonly (keyof BotParts)[];

/** A value before and after; one that is missing was, or is, not there. */
export type ValueChange = NonNullable<BotChange['config']>[string];
