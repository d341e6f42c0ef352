// What the palette finds among pages, actions and thousands of bots.

import { describe, expect, it } from 'vitest';
import {
  type Entry,
  find,
  MAX_FOUND,
  type Offered,
} from '../../../dashboard/src/palette/entries.js';
import { fuzzy } from '../../../dashboard/src/palette/fuzzy.js';

const ran: string[] = [];
const entry = (title: string): Entry => ({
  key: title,
  title,
  hint: '',
  run: () => ran.push(title),
});
const NUMBERS = Array.from({ length: 5000 }, (_, n) => `load-${n}`);
const offered: Offered = {
  entries: ['Overview', 'Bots', 'Log', 'Settings', 'Theme: dark', 'Stop 12 bots'].map(entry),
  bots: new Map([...NUMBERS, 'demo-1', 'demo-10', 'payload'].map((id) => [id, 'bot'])),
  open: (id) => ran.push(`open ${id}`),
  verbs: ['Stop', 'Start', 'Restart'].map((name) => ({
    name,
    run: (id) => ran.push(`${name} ${id}`),
  })),
};
const titles = (query: string): string[] =>
  find(query, offered).map(({ entry: { title } }) => title);

describe('letters', () => {
  it('are found in their order, and marked where they are', () => {
    expect(fuzzy('demo-10', 'd10')?.matchedAt).toEqual([0, 5, 6]);
    expect(fuzzy('Go to settings', 'set go')?.matchedAt).toEqual([0, 1, 6, 7, 8]);
    expect(fuzzy('demo', 'ed')).toBeUndefined();
    expect(fuzzy('demo', 'demon')).toBeUndefined();
    expect(fuzzy('demo', '')?.matchedAt).toEqual([]);
    // A letter that is two when it is small.
    expect(fuzzy('İa', 'a')?.matchedAt).toEqual([1]);
  });

  it('count for more together, and at the beginning of words', () => {
    const order = (query: string, ...texts: string[]): string[] =>
      [...texts].sort((a, b) => (fuzzy(b, query)?.score ?? -99) - (fuzzy(a, query)?.score ?? -99));
    expect(order('lo', 'payload', 'la-o', 'load')).toEqual(['load', 'la-o', 'payload']);
    expect(order('ab', 'xaxb', 'x-a-b', 'xab')).toEqual(['x-a-b', 'xab', 'xaxb']);
    expect(order('demo-1', 'demo-10', 'demo-1')).toEqual(['demo-1', 'demo-10']);
  });
});

describe('the palette', () => {
  it('begins with pages and actions, and is bounded', () => {
    expect(titles('').slice(0, 8)).toEqual([
      'Overview',
      'Bots',
      'Log',
      'Settings',
      'Theme: dark',
      'Stop 12 bots',
      'demo-1',
      'demo-10',
    ]);
    expect(titles('load')).toHaveLength(MAX_FOUND);
  });

  it('finds a page, a bot among thousands, and an action', () => {
    expect(titles('log')[0]).toBe('Log');
    expect(titles('load-4711')[0]).toBe('load-4711');
    expect(titles('l4711')[0]).toBe('load-4711');
    expect(titles('dark')[0]).toBe('Theme: dark');
    expect(titles('qqq')).toEqual([]);
  });

  it('finds what to do with a bot: first what, then with which', () => {
    expect(titles('stop demo-1')[0]).toBe('Stop demo-1');
    expect(titles('re 4711')[0]).toBe('Restart load-4711');
    const [first] = find('sta d10', offered);
    expect(first?.entry.title).toBe('Start demo-10');
    expect(first?.matchedAt).toEqual([0, 1, 2, 6, 11, 12]);
    first?.entry.run();
    find('demo-10', offered)[0]?.entry.run();
    expect(ran).toEqual(['Start demo-10', 'open demo-10']);
  });
});
