// One change for many bots: which fields, and what each bot is sent.

import type { BotSnapshot, JsonObject, UpdateBotBody } from '../../../src/client/index.js';
import { filled, type Schema } from '../parts/schema.js';
import { t } from '../texts/text.js';

export interface BulkChange {
  /** Names of the fields that are changed; an empty one is removed. */
  config: readonly string[];
  restart: readonly string[];
  values: { config: JsonObject; restart: JsonObject };
  /** Labels to set, by name. */
  labels: Readonly<Record<string, string>>;
  /** Names of labels to remove. */
  removedLabels: readonly string[];
}

/** A schema with only these fields, each of which has to be given unless it may be missing. */
export function partOf(schema: Schema, names: readonly string[]): Schema {
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => names.includes(name)),
  );
  const required = (schema.required ?? []).filter((name) => names.includes(name));
  return { ...schema, properties, required };
}

/** `name=value` sets a label, `-name` removes one; one a line. A fault quotes the line. */
export function parseLabelChanges(
  text: string,
): Pick<BulkChange, 'labels' | 'removedLabels'> | { fault: string } {
  const labels: Record<string, string> = {};
  const removedLabels: string[] = [];
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const at = line.indexOf('=');
    if (at > 0) labels[line.slice(0, at).trim()] = line.slice(at + 1).trim();
    else if (/^-[^=\s]+$/.test(line)) removedLabels.push(line.slice(1));
    else return { fault: t('bulk.badLabel', { line }) };
  }
  return { labels, removedLabels };
}

/** The request body for one bot; undefined when nothing changes. */
export function updateOf(
  change: BulkChange,
  { labels: current }: Pick<BotSnapshot, 'labels'>,
): UpdateBotBody | undefined {
  const { values, labels, removedLabels } = change;
  const picked = (names: readonly string[], from: JsonObject): JsonObject => {
    const given = filled(from);
    return Object.fromEntries(names.map((name) => [name, given[name] ?? null]));
  };
  const next: Record<string, string> = { ...current, ...labels };
  for (const name of removedLabels) delete next[name];
  const isLabelled = JSON.stringify(sorted(next)) !== JSON.stringify(sorted(current));
  const body: UpdateBotBody = {
    ...(change.config.length > 0 && { config: picked(change.config, values.config) }),
    ...(change.restart.length > 0 && { restart: picked(change.restart, values.restart) }),
    ...(isLabelled && { labels: next }),
  };
  return Object.keys(body).length === 0 ? undefined : body;
}

function sorted(labels: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}
