import { afterEach, expect, it, vi } from 'vitest';
import type { BotRecords } from '../../../../src/cluster/control/bot-records.js';
import type { Member, Members } from '../../../../src/cluster/control/parts.js';
import { PlacementView } from '../../../../src/cluster/control/placement-view.js';
import { partial } from '../../../harness/partial.js';

afterEach(() => {
  vi.useRealTimers();
});

/** Nodes h1 and h2, of which h2 is the emptier one. */
function twoNodes(): { view: PlacementView; renew: (at: number) => void } {
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
  const members = partial<Members>({
    self: 'h1',
    all,
    get: (name: string) => all().find(({ node }) => node === name),
  });
  const records = partial<BotRecords>({
    onChange: () => () => {},
    on: (node: string) => new Set(node === 'h1' ? ['a', 'b'] : []),
    inGroup: () => new Set(),
  });
  return {
    view: new PlacementView(members, records),
    renew(at) {
      renewed = at;
    },
  };
}

it('a node that did not answer takes no bots until it has renewed its lease', () => {
  const { view, renew } = twoNodes();
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h2' });
  view.avoid('h2');
  view.avoid('unknown');
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h1' });
  renew(2000);
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h2' });
});

it('what was decided counts for 15 s, also when the clock is set back', () => {
  vi.useFakeTimers();
  const { view } = twoNodes();
  for (const id of ['a', 'b', 'c']) view.expect({ id, kind: 'irc' }, 'h2');
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h1' });
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(15_000);
  expect(view.choose({ kind: 'irc' })).toEqual({ node: 'h2' });
});
