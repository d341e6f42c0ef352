import { describe, expect, it } from 'vitest';
import { Cells, HELD } from '../../../dashboard/src/herd/cells.js';
import { groupingOf, hostKey, labelNames, ordered } from '../../../dashboard/src/herd/grouping.js';
import { Pulses } from '../../../dashboard/src/herd/pulses.js';
import type { BotSnapshot } from '../../../src/client/index.js';

const NOBODY: ReadonlySet<string> = new Set();

function bot(id: string, part: Partial<BotSnapshot> = {}): BotSnapshot {
  return { id, kind: 'demo', status: 'in_world', host: 0, labels: {}, ...part } as BotSnapshot;
}

const byId = (...bots: BotSnapshot[]): Map<string, BotSnapshot> =>
  new Map(bots.map((one) => [one.id, one]));

describe('groups', () => {
  const bots = [
    bot('b-10', { labels: { team: 'x' }, host: 10 }),
    bot('b-9', { labels: { team: 'x' }, host: 9 }),
    bot('a', { labels: {}, host: null }),
    bot('c', { labels: { team: 'a' }, host: 9, kind: 'irc' }),
  ];
  const titles = (by: Parameters<typeof ordered>[1]): [string, number][] =>
    ordered(bots, by).groups.map(({ title, count }) => [title, count]);

  it('are those of a label, a kind, a host, or one of all; who has none comes last', () => {
    expect(titles('label:team')).toEqual([
      ['a', 1],
      ['x', 2],
      ['no team', 1],
    ]);
    expect(titles('kind')).toEqual([
      ['demo', 3],
      ['irc', 1],
    ]);
    expect(titles('host')).toEqual([
      ['host 9', 2],
      ['host 10', 1],
      ['no host', 1],
    ]);
    expect(titles('none')).toEqual([['', 4]]);
    expect(titles('node')).toEqual([['on no node', 4]]);
  });

  it('hosts of different nodes are different groups', () => {
    const two = [bot('a', { node: 'n1' }), bot('b', { node: 'n2' })];
    expect(ordered(two, 'host').groups.map(({ title }) => title)).toEqual([
      'n1, host 0',
      'n2, host 0',
    ]);
  });

  it('have their bots in the order of ids, numbers by value', () => {
    expect(ordered(bots, 'none').bots.map(({ id }) => id)).toEqual(['a', 'b-9', 'b-10', 'c']);
  });

  it('a label with a value for each bot makes a bounded number of groups, and no bot is missing', () => {
    const many = Array.from({ length: 1000 }, (_, n) => bot(`b${n}`, { labels: { own: `${n}` } }));
    const { groups, bots: all } = ordered(many, 'label:own');
    expect(groups).toHaveLength(150);
    expect(groups.at(-1)).toMatchObject({ title: '851 more groups', first: 149, count: 851 });
    expect(new Set(all).size).toBe(1000);
  });

  it('a label can be named like a property of all objects', () => {
    expect(ordered([bot('a')], 'label:constructor').groups[0]?.title).toBe('no constructor');
  });

  it('the address says how; anything else is by kind', () => {
    expect(groupingOf('label:team')).toBe('label:team');
    expect(groupingOf('host')).toBe('host');
    expect(groupingOf('nonsense')).toBe('kind');
    expect(groupingOf(null)).toBe('kind');
  });

  it('labels are offered with the most frequent first', () => {
    expect(labelNames([...bots, bot('d', { labels: { rare: '1' } })])).toEqual(['team', 'rare']);
  });
});

describe('cells', () => {
  it('say what has changed: nothing, some, or the order', () => {
    const cells = new Cells();
    const bots = byId(bot('a'), bot('b'), bot('c'));
    expect(cells.update(bots, 'kind', NOBODY)).toBe('order');
    expect(cells.update(bots, 'kind', NOBODY)).toBe('nothing');
    bots.set('b', bot('b', { status: 'failed' }));
    expect(cells.update(bots, 'kind', NOBODY)).toEqual([1]);
    expect(cells.states).toEqual(['good', 'bad', 'good']);
    bots.delete('a');
    expect(cells.update(bots, 'kind', NOBODY)).toBe('order');
    expect([cells.indexOf('a'), cells.indexOf('b'), cells.indexOf('c')]).toEqual([undefined, 0, 1]);
    // One goes, another comes.
    bots.delete('b');
    bots.set('d', bot('d'));
    expect(cells.update(bots, 'kind', NOBODY)).toBe('order');
    expect(cells.ids).toEqual(['c', 'd']);
  });

  it('a bot that moves to another group changes the order, if that is what groups are', () => {
    const cells = new Cells();
    const bots = byId(bot('a', { host: 0 }), bot('b', { host: 1 }));
    cells.update(bots, 'host', NOBODY);
    bots.set('a', bot('a', { host: 1 }));
    expect(cells.update(bots, 'host', NOBODY)).toBe('order');
    expect(cells.groups.map(({ title }) => title)).toEqual(['host 1']);
    expect(cells.update(bots, 'kind', NOBODY)).toBe('order');
    bots.set('a', bot('a', { host: 5 }));
    expect(cells.update(bots, 'kind', NOBODY)).toBe('nothing');
  });

  it('the bots of a host that hangs show that in place of their status, until it is over', () => {
    const cells = new Cells();
    const bots = byId(bot('a'), bot('b', { host: 1 }), bot('c', { host: null, status: 'stopped' }));
    cells.update(bots, 'none', NOBODY);
    expect(cells.update(bots, 'none', new Set([hostKey(null, 1)]))).toEqual([1]);
    expect(cells.statuses).toEqual(['in_world', HELD, 'stopped']);
    expect(cells.states).toEqual(['good', 'held', 'off']);
    expect(cells.update(bots, 'none', NOBODY)).toEqual([1]);
    expect(cells.statuses[1]).toBe('in_world');
  });
});

describe('pulses', () => {
  type Drawn = [index: number, kind: number, step: number | undefined];
  const drawnBy = (pulses: Pulses, now: number): Drawn[] => {
    const found: Drawn[] = [];
    pulses.draw(now, (...one) => found.push(one));
    return found;
  };
  const withCells = (count: number): Pulses => {
    const pulses = new Pulses();
    pulses.reset(count);
    return pulses;
  };

  it('are drawn when their picture changes, and removed once', () => {
    const pulses = withCells(10);
    pulses.hit(3, 0, 1000);
    expect(drawnBy(pulses, 1000)).toEqual([[3, 0, 0]]);
    expect(drawnBy(pulses, 1001)).toEqual([]);
    const [later] = drawnBy(pulses, 1200);
    expect(later?.[2]).toBeGreaterThan(0);
    expect(drawnBy(pulses, 5000)).toEqual([[3, 0, undefined]]);
    expect(pulses.isAny).toBe(false);
    expect(drawnBy(pulses, 5001)).toEqual([]);
  });

  it('begin again with each line, and one cell is drawn once', () => {
    const pulses = withCells(10);
    for (let now = 1000; now < 5000; now += 100) pulses.hit(3, 0, now);
    expect(drawnBy(pulses, 5000)).toHaveLength(1);
    expect(pulses.isAny).toBe(true);
  });

  it('an error is not hidden by what is said after it, while it is seen', () => {
    const pulses = withCells(10);
    pulses.hit(1, 3, 1000);
    pulses.hit(1, 0, 1010);
    expect(drawnBy(pulses, 1020)).toEqual([[1, 3, 0]]);
    drawnBy(pulses, 9000);
    pulses.hit(1, 0, 9000);
    expect(drawnBy(pulses, 9000)).toEqual([[1, 0, 0]]);
    pulses.hit(1, 2, 9001);
    expect(drawnBy(pulses, 9002)).toEqual([[1, 2, 0]]);
  });

  it('without motion a cell is lit, does not fade, and goes out', () => {
    const pulses = withCells(10);
    pulses.isStill = true;
    pulses.hit(1, 0, 1000);
    expect(drawnBy(pulses, 1000)).toHaveLength(1);
    expect(drawnBy(pulses, 2500)).toEqual([]);
    expect(drawnBy(pulses, 9000)).toEqual([[1, 0, undefined]]);
  });

  it('of cells that there are not any more are forgotten', () => {
    const pulses = withCells(10);
    pulses.hit(8, 0, 1000);
    pulses.reset(5);
    pulses.hit(8, 0, 1001);
    expect(pulses.isAny).toBe(false);
  });
});
