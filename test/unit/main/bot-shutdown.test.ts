// A start that crosses the shutdown in an order that cannot be forced from outside: the line `starting` is published before
// the host has answered the stop. Host and stream are fakes.

import { expect, it } from 'vitest';
import { NO_OTHER_BOTS } from '../../../src/cluster/cluster.js';
import { Bot, type BotDependencies } from '../../../src/main/bots/bot.js';
import { StartPace } from '../../../src/main/bots/start-pace.js';
import { RESTART_AT_ONCE } from './restart-at-once.js';

it('a start that crosses the shutdown does not run the bot after its stop', async () => {
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
    pace: new StartPace({ total: null, byKind: {} }),
    hosts: {
      clear: async () => null,
      place: async () => host,
      leave: () => {},
    },
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
    isolationOf: () => 'thread',
    versionFor: () => '1',
    cluster: NO_OTHER_BOTS,
  } as unknown as BotDependencies;
  const running = { config: {}, labels: {}, desired: 'running' as const, dedicated: false };
  const bot = new Bot({ id: 'a', kind: 'k', restart: RESTART_AT_ONCE, ...running }, dependencies);
  const lap = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const begun = bot.begin(false, null, Promise.resolve());
  await lap();
  told();
  await begun;
  expect(started).toEqual(['a']);
  // Its run returns. The restart is no operation, so the shutdown does not wait for it.
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
