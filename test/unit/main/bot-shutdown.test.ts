// Run by vitest. A start and the end of the service that cross in the one order that cannot be brought about from outside:
// the line `starting` is out before the host has answered the stop. So the bot's surroundings are played here.

import { expect, it } from 'vitest';
import { Bot, type BotDependencies } from '../../../src/main/bots/bot.js';

it('a start that the end of the service crosses does not start the bot behind its stop', async () => {
  let told = (): void => {};
  let stopped = (): void => {};
  const started: string[] = [];
  const statuses: unknown[] = [];
  const host = {
    number: 0,
    startBot: async ({ id }: { id: string }) => void started.push(id),
    stopBot: () => new Promise<void>((resolve) => (stopped = resolve)),
  };
  const dependencies = {
    hosts: { clear: async () => false, place: async () => host, leave: () => {} },
    events: {
      tell: () => {},
      publish: (_: unknown, { patch }: { patch: { status: string } }) => {
        statuses.push(patch.status);
        if (patch.status !== 'starting') return Promise.resolve();
        return new Promise<void>((resolve) => (told = resolve));
      },
    },
    configFor: () => ({}),
    save: async () => {},
    failed: () => {},
    restarted: () => {},
    graceMs: 10_000,
  } as unknown as BotDependencies;
  const restart = {
    policy: 'always' as const,
    max_restarts: 5,
    window_ms: 60_000,
    backoff_ms: 0,
    backoff_cap_ms: 0,
    healthy_ms: 5000,
  };
  const running = { config: {}, labels: {}, desired: 'running' as const, dedicated: false };
  const bot = new Bot({ id: 'a', kind: 'k', restart, ...running }, dependencies);
  const lap = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const restored = bot.restore(null);
  await lap();
  told();
  await restored;
  expect(started).toEqual(['a']);
  // Its run returns: the restart is the policy's, no operation that the end would wait for.
  bot.exited({ error: null, restart: true });
  while (statuses.at(-1) !== 'starting' || statuses.length < 3) await lap();
  const ended = bot.shutDown(10_000);
  await lap();
  told();
  await lap();
  stopped();
  await ended;
  expect(started).toEqual(['a']);
  expect(statuses).toEqual(['starting', 'backoff', 'starting', 'stopped']);
});
