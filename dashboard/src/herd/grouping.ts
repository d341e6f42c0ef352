// How the herd is grouped and ordered. Pure.

import type { BotSnapshot } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/** `label:` is followed by the name of a label. */
export type Grouping = 'none' | 'kind' | 'host' | 'node' | `label:${string}`;

const PLAIN: readonly string[] = ['none', 'kind', 'host', 'node'];
const LABEL = 'label:';
/** Groups that are shown. The bots of all further ones are in one, so that a label with a different value for each bot does no harm. */
const MAX_GROUPS = 150;
/** Label names that are offered: bots can have any number. */
const MAX_LABELS = 20;
/** Digits of a number in an id, for the order. */
const DIGITS = 12;
/** Ids whose keys are kept; with more, all are forgotten. */
const MAX_KEYS = 50_000;

type Grouped = Pick<BotSnapshot, 'id' | 'kind' | 'host' | 'labels'> & { node?: string | undefined };

/** A run of cells, in the order of {@link ordered}. */
export interface Group {
  key: string;
  title: string;
  /** Index of its first cell. */
  first: number;
  count: number;
}

/** @param text of the address; anything else groups by kind. */
export function groupingOf(text: string | null): Grouping {
  const isKnown = text !== null && (PLAIN.includes(text) || text.startsWith(LABEL));
  return isKnown ? (text as Grouping) : 'kind';
}

/** The names of the labels that bots have, the most frequent first. */
export function labelNames(bots: Iterable<Pick<BotSnapshot, 'labels'>>): string[] {
  const counts = new Map<string, number>();
  for (const { labels } of bots) {
    for (const name of Object.keys(labels)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MAX_LABELS)
    .map(([name]) => name);
}

/** The group of a bot; empty for one that belongs to none: it has no such label, or no host. */
export function groupKey(bot: Grouped, by: Grouping): string {
  switch (by) {
    case 'none':
      return '';
    case 'kind':
      return bot.kind;
    case 'host':
      return bot.host === null ? '' : hostKey(bot.node, bot.host);
    case 'node':
      return bot.node ?? '';
    default: {
      const name = by.slice(LABEL.length);
      return Object.hasOwn(bot.labels, name) ? (bot.labels[name] ?? '') : '';
    }
  }
}

/** Of a bot host: hosts are numbered on each node. */
export function hostKey(node: string | null | undefined, host: number): string {
  return `${node ?? ''}/${host}`;
}

function titleOf(key: string, by: Grouping): string {
  if (by === 'none') return '';
  if (by === 'host') {
    if (key === '') return t('herd.noHost');
    const [node = '', host = ''] = key.split(/\/(?=\d+$)/);
    return node === '' ? t('herd.host', { host }) : t('herd.hostOfNode', { node, host });
  }
  if (by === 'node') return key === '' ? t('herd.noNode') : key;
  if (by === 'kind') return key;
  const name = by.slice(LABEL.length);
  return key === '' ? t('herd.noLabel', { label: name }) : key;
}

/**
 * A key whose order is that of the ids with numbers by value: `bot-9` before `bot-10`. Kept keys are compared about five times as fast
 * as a collator compares ids.
 */
export function sortKey(text: string): string {
  return text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(DIGITS, '0'));
}

const keys = new Map<string, string>();

/** {@link sortKey} of an id, computed once. */
function keptKey(id: string): string {
  const kept = keys.get(id);
  if (kept !== undefined) return kept;
  if (keys.size >= MAX_KEYS) keys.clear();
  const key = sortKey(id);
  keys.set(id, key);
  return key;
}

/** The bots in the order of their cells, and the groups that they make. */
export function ordered<T extends Grouped>(
  bots: Iterable<T>,
  by: Grouping,
): { bots: T[]; groups: Group[] } {
  const members = new Map<string, T[]>();
  for (const bot of bots) {
    const key = groupKey(bot, by);
    const group = members.get(key);
    if (group) group.push(bot);
    else members.set(key, [bot]);
  }
  // Bots without a group come last.
  const names = [...members.keys()].sort((a, b) =>
    a === '' || b === '' ? (a === '' ? 1 : -1) : compare(sortKey(a), sortKey(b)),
  );
  const all: T[] = [];
  const groups: Group[] = [];
  const add = (key: string, title: string, of: T[]): void => {
    groups.push({ key, title, first: all.length, count: of.length });
    const sorted = of
      .map((bot) => ({ bot, key: keptKey(bot.id) }))
      .sort((a, b) => compare(a.key, b.key) || compare(a.bot.id, b.bot.id));
    for (const { bot } of sorted) all.push(bot);
  };
  const shown = names.length > MAX_GROUPS ? names.slice(0, MAX_GROUPS - 1) : names;
  for (const key of shown) add(key, titleOf(key, by), members.get(key) ?? []);
  const rest = names.slice(shown.length);
  if (rest.length > 0) {
    const of = rest.flatMap((key) => members.get(key) ?? []);
    add('\0rest', t('herd.moreGroups', { n: rest.length }), of);
  }
  return { bots: all, groups };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
