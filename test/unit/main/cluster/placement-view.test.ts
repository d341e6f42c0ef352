import { expect, it } from 'vitest';
import type { BotRecords } from '../../../../src/main/cluster/bot-records.js';
import type { Member, Members } from '../../../../src/main/cluster/parts.js';
import { PlacementView } from '../../../../src/main/cluster/placement-view.js';

it('a node that did not answer takes no bots until it has renewed its lease', () => {
  const capacity = { cores: 4, memory_mb: 8192 };
  const rest = {
    labels: {},
    kinds: ['irc'],
    has_key: true,
    isLive: true,
    wanted: 'live',
    capacity,
  };
  let renewed = 1000;
  const all = (): Member[] =>
    ['h1', 'h2'].map((node) => ({ node, renewed_at_ms: renewed, ...rest }) as unknown as Member);
  const members = {
    self: 'h1',
    all,
    get: (name: string) => all().find(({ node }) => node === name),
  } as unknown as Members;
  const records = {
    onChange: () => () => {},
    // It is the emptier one.
    on: (node: string) => new Set(node === 'h1' ? ['a', 'b'] : []),
    inGroup: () => new Set(),
  } as unknown as BotRecords;
  const view = new PlacementView(members, records);
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h2' });
  view.avoid('h2');
  view.avoid('unknown');
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h1' });
  renewed = 2000;
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h2' });
});
