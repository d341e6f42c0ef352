// What the palette offers, and which of it a query finds.

import { natural } from '../query/natural.js';
import { fuzzy } from './fuzzy.js';

export interface Entry {
  /** Of this entry, among all. */
  key: string;
  title: string;
  /** What it is: `page`, `bot`, `action`. */
  hint: string;
  /** Keys that do the same. */
  keys?: string;
  run: () => void;
}

/** Something that can be done with one bot: `Stop demo-1`. */
export interface Verb {
  name: string;
  run: (id: string) => void;
}

export interface Offered {
  /** Pages and actions. */
  entries: readonly Entry[];
  /** Ids of bots with what is shown beside them. */
  bots: ReadonlyMap<string, string>;
  open: (id: string) => void;
  verbs: readonly Verb[];
}

export interface Found {
  entry: Entry;
  /** Positions in the title that the query found. */
  matchedAt: readonly number[];
}

/** The most that is shown. */
export const MAX_FOUND = 50;
/** Bonus of a page or an action over a bot that matches equally well. */
const OF_PAGE = 4;

/** The best first. Without a query: pages and actions, then bots by their id. */
export function find(query: string, { entries, bots, open, verbs }: Offered): Found[] {
  const opening = (id: string): Entry => ({
    key: `bot ${id}`,
    title: id,
    hint: bots.get(id) ?? '',
    run: () => open(id),
  });
  if (query.trim() === '') {
    const some = [...bots.keys()].sort(natural.compare).map(opening);
    return [...entries, ...some].slice(0, MAX_FOUND).map((entry) => ({ entry, matchedAt: [] }));
  }
  const found: (Found & { score: number })[] = [];
  for (const entry of entries) {
    const match = fuzzy(entry.title, query);
    if (match) found.push({ entry, matchedAt: match.matchedAt, score: match.score + OF_PAGE });
  }
  for (const id of bots.keys()) {
    const match = fuzzy(id, query);
    if (match) found.push({ entry: opening(id), matchedAt: match.matchedAt, score: match.score });
  }
  const [first = '', ...rest] = query.trimStart().split(' ');
  const asked = rest.join(' ');
  // `stop dem`: what is to be done, then with which bot.
  if (rest.length > 0 && asked.trim() !== '') {
    for (const { name, run } of verbs) {
      if (!name.toLowerCase().startsWith(first.toLowerCase())) continue;
      for (const id of bots.keys()) {
        const match = fuzzy(id, asked);
        if (!match) continue;
        const title = `${name} ${id}`;
        const entry = { key: `${name} ${id}`, title, hint: bots.get(id) ?? '', run: () => run(id) };
        const matchedAt = [...first].map((_, n) => n);
        const behind = match.matchedAt.map((at) => at + name.length + 1);
        found.push({ entry, matchedAt: [...matchedAt, ...behind], score: match.score + OF_PAGE });
      }
    }
  }
  return found
    .sort((a, b) => b.score - a.score || natural.compare(a.entry.title, b.entry.title))
    .slice(0, MAX_FOUND);
}
