import { expect, it } from 'vitest';
import { isEnough, natsRisk } from '../../../../src/cluster/wire/nats-version.js';

it('knows which versions of NATS are new enough', () => {
  expect(['2.9.0', '2.10.1', '3.0.0'].map(isEnough)).toEqual([true, true, true]);
  expect(['2.8.9', '1.99.0', ''].map(isEnough)).toEqual([false, false, false]);
});

it('warns of those that can lose what they have acknowledged, where there are several servers', () => {
  const warned = (version: string) => natsRisk(version, 3) !== null;
  const bad = ['2.9.10', '2.10.27', '2.12.3', '2.15.0'];
  expect(bad.map(warned)).toEqual(bad.map(() => true));
  const sound = ['2.15.1', '2.15.10', '2.16.0-RC.1', '3.0.0'];
  expect(sound.map(warned)).toEqual(sound.map(() => false));
  expect(natsRisk('2.9.10', 1)).toBeNull();
  expect(natsRisk('2.9.10', 3)).toMatch(/^NATS 2\.9\.10 can lose .*install 2\.15\.1 or later/);
});
