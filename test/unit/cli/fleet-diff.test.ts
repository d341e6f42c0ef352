import { describe, expect, it } from 'vitest';
import { fleetDiff } from '../../../src/cli/terminal/fleet-diff.js';
import type { FleetPlan, FleetStep } from '../../../src/client/index.js';
import { fleetSummary } from '../../../src/shared/contract/fleet-summary.js';

const plan = (steps: FleetStep[], more: Partial<FleetPlan> = {}): FleetPlan => ({
  fleet: 'web',
  steps,
  unchanged: 0,
  unlisted: [],
  ...more,
});
const step = (action: FleetStep['action'], id: string, more: object = {}): FleetStep => ({
  id,
  kind: 'k',
  action,
  ...more,
});
const linesOf = (steps: FleetStep[]): string[] =>
  fleetDiff(plan(steps), false).join('').split('\n').slice(0, -1);

describe('the diff of a fleet', () => {
  it('has what is deleted first, and each value before and after', () => {
    const changes = {
      'config.url': { from: 'a', to: 'b' },
      'config.list': { to: [1, { a: null }] },
      'labels.old': { from: 'x' },
      'config.long': { from: 'x'.repeat(200), to: '' },
      'config.cut': {},
    };
    expect(
      linesOf([
        step('create', 'new'),
        step('change', 'a', { changes, secrets: ['password'], adopted: true }),
        step('change', 'b', { changes: {} }),
        step('replace', 'c', { changes: { kind: { from: 'j', to: 'k' } } }),
        step('delete', 'd'),
        step('refuse', 'e', { reason: 'told elsewhere' }),
      ]),
    ).toEqual([
      '- d (k)',
      '-/+ c (k)',
      '    kind: "j" -> "k"',
      '~ a (k), belonged to no fleet',
      '    config.url: "a" -> "b"',
      '    config.list: none -> [1,{"a":null}]',
      '    labels.old: "x" -> none',
      `    config.long: "${'x'.repeat(119)}… -> ""`,
      '    config.cut: changed',
      '    config.password: changed (secret)',
      '~ b (k)',
      '    what was changed by hand is now in the file',
      '+ new (k)',
    ]);
  });

  it('counts bots beyond a hundred with the same action', () => {
    const many = Array.from({ length: 10_000 }, (_, n) => step('create', `b-${n}`));
    const lines = linesOf([...many, step('delete', 'a')]);
    expect(lines).toHaveLength(102);
    expect(lines[0]).toBe('- a (k)');
    expect(lines.at(-1)).toBe('+ and 9900 more (--json has all)');
  });

  it('ends with what it does, or has done', () => {
    const steps = [
      step('create', 'a'),
      step('delete', 'b', { error: 'busy' }),
      step('refuse', 'c'),
    ];
    const all = plan(steps, { unchanged: 3, unlisted: ['x'] });
    expect(fleetSummary(all, false)).toBe(
      'fleet web: 1 to create, 1 to delete, 1 failed, 1 refused, 3 unchanged, 1 not in the file (--prune deletes them)',
    );
    expect(fleetSummary(plan(steps.slice(0, 2)), true)).toBe(
      'fleet web: 1 created, 0 deleted, 1 failed, 0 unchanged',
    );
    expect(fleetSummary(plan([]), true)).toBe('fleet web: 0 unchanged');
  });
});
