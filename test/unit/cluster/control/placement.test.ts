import { describe, expect, it } from 'vitest';
import {
  type Candidate,
  choose,
  type PlacedBot,
  rebalanced,
  suits,
} from '../../../../src/cluster/control/placement.js';

function node(name: string, bots = 0, more: Partial<Candidate> = {}): Candidate {
  const capacity = { cores: 4, memory_mb: 8192 };
  const rest = { labels: {}, kinds: ['irc'], has_key: true, isLive: true, capacity };
  return { node: name, bots, wanted: 'live', ...rest, ...more };
}
const irc = { kind: 'irc' };

describe('which node a bot goes to', () => {
  it('is the one with most room for each core and its memory', () => {
    expect(choose(irc, [node('h1', 3), node('h2', 2)])).toEqual({ node: 'h2' });
    const big = { capacity: { cores: 16, memory_mb: 65_536 } };
    expect(choose(irc, [node('h1', 2), node('h2', 6, big)])).toEqual({ node: 'h2' });
    const little = { capacity: { cores: 16, memory_mb: 1024 } };
    expect(choose(irc, [node('h1', 2), node('h2', 1, little)])).toEqual({ node: 'h1' });
  });

  it('is the same one whichever order the nodes have', () => {
    expect(choose(irc, [node('h2'), node('h1')])).toEqual({ node: 'h1' });
  });

  it('is the one that it names, and no other', () => {
    const nodes = [node('h1'), node('h2', 9)];
    expect(choose({ ...irc, node: 'h2' }, nodes)).toEqual({ node: 'h2' });
    expect(choose({ ...irc, node: 'h3' }, nodes)).toEqual({
      reason: 'the node h3 is not in the cluster',
    });
    const lost = [node('h1'), node('h2', 0, { isLive: false })];
    expect(choose({ ...irc, node: 'h2' }, lost)).toEqual({
      reason: 'the node h2 is lost',
    });
  });

  it.each([
    ['is lost', { isLive: false }],
    ['is cordoned', { wanted: 'cordoned' as const }],
    ['is draining', { wanted: 'draining' as const }],
  ])('is none that %s', (_, state) => {
    expect(choose(irc, [node('h1', 0, state), node('h2', 9)])).toEqual({ node: 'h2' });
    expect(choose(irc, [node('h1', 0, state)])).toHaveProperty('reason');
  });

  it('has its labels', () => {
    const eu = { labels: { zone: 'eu', disk: 'ssd' } };
    const nodes = [node('h1'), node('h2', 5, eu)];
    expect(choose({ ...irc, node_labels: { zone: 'eu' } }, nodes)).toEqual({ node: 'h2' });
    expect(choose({ ...irc, node_labels: { zone: 'us' } }, nodes)).toEqual({
      reason: 'no node that takes bots has the labels {"zone":"us"}',
    });
  });

  it('has its kind', () => {
    const nodes = [node('h1'), node('h2', 5, { kinds: ['irc', 'mail'] })];
    expect(choose({ kind: 'mail' }, nodes)).toEqual({ node: 'h2' });
    expect(choose({ kind: 'chat' }, nodes)).toEqual({
      reason: 'no node that it may run on has the bot kind chat',
    });
  });

  it('can read its secrets', () => {
    const nodes = [node('h1', 0, { has_key: false }), node('h2', 9)];
    expect(choose({ ...irc, needs_key: true }, nodes)).toEqual({ node: 'h2' });
    expect(choose(irc, nodes)).toEqual({ node: 'h1' });
    expect(choose({ ...irc, needs_key: true }, nodes.slice(0, 1))).toEqual({
      reason: 'no node that it may run on has the key of its secrets (cluster.secret_key_file)',
    });
    expect(choose({ ...irc, needs_key: true, node: 'h1' }, nodes)).toEqual({
      reason: 'the node h1 has not the key of its secrets (cluster.secret_key_file)',
    });
  });

  it('is that of its group', () => {
    expect(choose(irc, [node('h1'), node('h2', 50)], 'h2')).toEqual({ node: 'h2' });
    const cordoned = [node('h1'), node('h2', 5, { wanted: 'cordoned' })];
    expect(choose(irc, cordoned, 'h2')).toEqual({
      reason: 'its host group is on the node h2, which does not take it',
    });
  });
});

it('a bot may stay where its node or labels are', () => {
  expect(suits(irc, node('h1'))).toBe(true);
  expect(suits({ ...irc, node: 'h2' }, node('h1'))).toBe(false);
  expect(suits({ ...irc, node_labels: { zone: 'eu' } }, node('h1'))).toBe(false);
});

describe('a rebalance', () => {
  const bots = (on: string, count: number, more: Partial<PlacedBot> = {}): PlacedBot[] =>
    Array.from({ length: count }, (_, n) => ({ id: `${on}-${n}`, kind: 'irc', on, ...more }));

  it('fills an empty node', () => {
    const moves = rebalanced(
      [...bots('h1', 4), ...bots('h2', 4)],
      [node('h1', 4), node('h2', 4), node('h3', 0)],
    );
    expect(moves.map(({ to }) => to)).toEqual(['h3', 'h3']);
    expect(moves.map(({ from }) => from).sort()).toEqual(['h1', 'h2']);
  });

  it('moves nothing when that helps nobody', () => {
    expect(
      rebalanced([...bots('h1', 3), ...bots('h2', 2)], [node('h1', 3), node('h2', 2)]),
    ).toEqual([]);
  });

  it('moves no bot to a node that cannot read its secrets', () => {
    const nodes = [node('h1', 2), node('h2', 0, { has_key: false })];
    expect(rebalanced(bots('h1', 2, { needs_key: true }), nodes)).toEqual([]);
    expect(rebalanced(bots('h1', 2), nodes)).toHaveLength(1);
  });

  it('moves a group as one, and no bot that names its node', () => {
    const group = bots('h1', 3, { host_group: 'g' });
    const named = bots('h1', 3, { node: 'h1' }).map((bot) => ({ ...bot, id: `named-${bot.id}` }));
    const moves = rebalanced([...group, ...named], [node('h1', 6), node('h2', 0)]);
    expect(moves).toEqual([{ ids: ['h1-0', 'h1-1', 'h1-2'], from: 'h1', to: 'h2' }]);
  });
});
