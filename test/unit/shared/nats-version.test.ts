import { expect, it } from 'vitest';
import { isEnough, natsRisk } from '../../../src/shared/cluster/nats-version.js';

it('knows which versions of NATS are new enough', () => {
  expect(['2.9.0', '2.10.1', '3.0.0'].map(isEnough)).toEqual([true, true, true]);
  expect(['2.8.9', '1.99.0', ''].map(isEnough)).toEqual([false, false, false]);
});

it('warns of those that can lose what they have acknowledged, where there are several servers', () => {
  const warned = (version: string) => natsRisk(version, 3) !== null;
  expect(['2.9.10', '2.9.25', '2.10.22', '2.10.9'].map(warned)).toEqual([true, true, true, true]);
  expect(['2.10.23', '2.11.0-RC.1', '2.12.3', '3.0.0'].map(warned)).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(natsRisk('2.9.10', 1)).toBeNull();
  expect(natsRisk('2.9.10', 3)).toMatch(/^NATS 2\.9\.10 can lose .*install 2\.10\.23 or later/);
});
