import { expect, it } from 'vitest';
import { sorted, usageLines } from '../../../src/cli/terminal/usage-table.js';
import type { BotSnapshot, BotUsage } from '../../../src/client/index.js';
import { partial } from '../../harness/partial.js';

const bot = (id: string, usage: Partial<BotUsage> | null, over: Partial<BotSnapshot> = {}) =>
  partial<BotSnapshot>({
    id,
    kind: 'k',
    status: 'online',
    host: 0,
    usage: usage && {
      cpu: 0,
      memory_mb: null,
      lines_per_second: 0,
      bytes_per_second: 0,
      connections: 0,
      ...usage,
    },
    over_quota: [],
    ...over,
  });

const bots = [
  bot('b-10', { cpu: 0.05, lines_per_second: 9 }),
  bot('b-2', { cpu: 0.05, memory_mb: 31.2, bytes_per_second: 5 }),
  bot('quiet', null, { host: null, status: 'stopped' }),
  bot('loud', { lines_per_second: 500.4, bytes_per_second: 51_234, connections: 3 }),
  bot('hot', { cpu: 0.97, bytes_per_second: 4_000_000 }, { over_quota: ['cpu', 'memory_mb'] }),
];
const ids = (by: Parameters<typeof sorted>[1]): string =>
  sorted(bots, by)
    .map(({ id }) => id)
    .join(' ');

it('sorts by any column, most first, and by name those that use the same', () => {
  expect(ids('cpu')).toBe('hot b-2 b-10 loud quiet');
  expect(ids('memory')).toBe('b-2 b-10 hot loud quiet');
  expect(ids('lines')).toBe('loud b-10 b-2 hot quiet');
  expect(ids('bytes')).toBe('hot loud b-2 b-10 quiet');
  expect(ids('connections')).toBe('loud b-2 b-10 hot quiet');
  expect(ids('name')).toBe('b-2 b-10 hot loud quiet');
});

it('a line for each bot, numbers on the right', () => {
  expect(usageLines(sorted(bots, 'cpu'), false)).toEqual([
    '  CPU  MEMORY  LINES/S  BYTES/S  CONN  BOT    KIND  STATUS   HOST',
    '97.0%       -      0.0     4.0M     0  hot    k     online   0     over its quota of cpu, memory_mb',
    ' 5.0%     31M      0.0        5     0  b-2    k     online   0',
    ' 5.0%       -      9.0        0     0  b-10   k     online   0',
    ' 0.0%       -    500.4    51.2K     3  loud   k     online   0',
    '    -       -        -        -     -  quiet  k     stopped  -',
  ]);
});

it('lines are cut at the width of the terminal, and coloured where it is wanted', () => {
  const lines = usageLines(sorted(bots, 'cpu'), true, 20);
  expect(lines[0]).toEqual({ color: 1, text: '  CPU  MEMORY  LINES' });
  expect(lines[1]).toEqual({ color: 31, text: '97.0%       -      0' });
  expect(lines[2]).toBe(' 5.0%     31M      0');
  expect(lines[5]).toEqual({ color: 2, text: '    -       -       ' });
});

it('a status of a bot cannot control the terminal', () => {
  const [, line] = usageLines([bot('a', null, { status: '\u001b[2J' })], false);
  expect(line).toContain('\\u001b[2J');
});

it('a snapshot of an older service has neither usage nor quota', () => {
  const old = bot('a', null);
  Object.assign(old, { usage: undefined, over_quota: undefined });
  expect(usageLines(sorted([old], 'cpu'), true)).toHaveLength(2);
});
