// A host's heartbeat, with real timers: it beats while code runs, and only then.

import { afterEach, expect, it } from 'vitest';
import { type CurrentRun, currentRun, runAsBot } from '../../../src/bot-host/current-bot.js';
import { Pulse } from '../../../src/bot-host/pulse.js';
import type { Logger } from '../../../src/bot-sdk/index.js';
import { Heartbeat } from '../../../src/shared/memory/heartbeat.js';

const BOT: CurrentRun = {
  id: 'bot-1',
  kind: { kind: 'k' },
  number: 1,
  log: {} as Logger,
  fail: () => {},
  isGone: false,
};

let pulse: Pulse;
afterEach(() => pulse.stop());

it('beats before the first code after a pause runs, tells main once, and stops when nothing runs', async () => {
  const heartbeat = new Heartbeat(Heartbeat.create());
  let told = 0;
  const contexts: unknown[] = [];
  const usage: string[] = [];
  pulse = new Pulse({
    heartbeat,
    lag: { observe: () => void contexts.push(currentRun()) },
    limit: 2 ** 40,
    usage: { tick: () => usage.push('tick'), end: () => usage.push('end') },
    woke: () => {
      told += 1;
    },
  });
  expect([heartbeat.isAwake, heartbeat.count]).toEqual([false, 0]);
  for (let pause = 1; pause <= 2; pause++) {
    const before = heartbeat.count;
    runAsBot(BOT, pulse.note);
    expect([heartbeat.isAwake, heartbeat.count, told]).toEqual([true, before + 1, pause]);
    expect(heartbeat.heap?.used).toBeGreaterThan(0);
    const noting = setInterval(pulse.note, 5);
    await expect.poll(() => heartbeat.count).toBeGreaterThan(before + 3);
    expect([heartbeat.isAwake, told]).toEqual([true, pause]);
    clearInterval(noting);
    await expect.poll(() => heartbeat.isAwake).toBe(false);
  }
  expect(usage.join()).toMatch(/^(tick,)+end,(tick,)+end$/);
  // Though a bot's code has started it, the timer is not the bot's.
  expect(new Set(contexts)).toEqual(new Set([undefined]));
});
