// A change of a bot as a line of its log: who made it, and what it changed. The history of a configuration is built from these lines.

import type { Json, JsonObject } from './json.js';

/** The parts of a bot that can change. */
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
export interface ValueChange {
  from?: Json;
  to?: Json;
}

/** The part of the message after the author, as JSON. */
export interface BotChange extends Partial<Record<keyof BotParts, Record<string, ValueChange>>> {
  /** Paths of the secrets that were set, replaced or removed. Their values are nowhere. */
  secrets?: string[];
  /** The values do not fit into a line, and are left out. */
  cut?: true;
}

/** Parses the message of a line of this scope; undefined for any other text. */
export function readChangeMessage(message: string): { by: string; change: BotChange } | undefined {
  const [, by, json] = /^changed by ("(?:[^"\\]|\\.)*"): (\{.*\})$/s.exec(message) ?? [];
  if (by === undefined || json === undefined) return undefined;
  try {
    return { by: JSON.parse(by) as string, change: JSON.parse(json) as BotChange };
  } catch {
    return undefined;
  }
}
