// The log of the dashboard at 2,000 lines per second: long tasks, frames, heap. LOGRATE_SECONDS sets the duration, half of
// it spent following and half scrolling through loaded lines.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { during, heapOf, type Measured, PROBE, worstOf } from './page-probe.js';

const SECONDS = Number(process.env['LOGRATE_SECONDS'] ?? 60);
const BOTS = 8;
const LINES_PER_SECOND = 2000;
const MAX_LONG_TASK_MS = 200;
const MIN_FRAMES = 50;
const ROUNDS = 4;
/** Time for the page to return to its earlier position, in ms. */
const SETTLE_MS = 2000;
/** Permitted heap growth from the first round to the last. */
const MAX_HEAP_GROWTH = 1.25;

let browser: Browser;
let service: Service;
beforeAll(async () => {
  browser = await launchChromium();
  service = await startService({
    config: {
      bots: Array.from({ length: BOTS }, (_, at) => ({
        id: `load-${at}`,
        kind: 'synthetic',
        config: { events_per_second: LINES_PER_SECOND / BOTS, message_bytes: 120 },
      })),
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** Scrolls like a person who reads back: mostly up, sometimes a little down. */
async function scroll(page: Page, ms: number): Promise<void> {
  await page.locator('.log-list').hover();
  const end = performance.now() + ms;
  for (let turn = 0; performance.now() < end; turn++) {
    await page.mouse.wheel(0, turn % 5 === 4 ? 300 : -120);
    await page.waitForTimeout(16);
  }
}

it(`${LINES_PER_SECOND} lines/s for ${SECONDS} s`, async () => {
  const { page } = await openPage(browser, { width: 1440, height: 900 });
  const cdp = await page.context().newCDPSession(page);
  await openWithToken(page, service, await service.token());
  await show(page, '#/log');
  // Until the ring of the page is full.
  await expect
    .poll(
      async () => Number((await page.locator('.log-foot').innerText()).replace(/,|\D.*$/g, '')),
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThanOrEqual(20_000);
  await page.evaluate(PROBE);
  const length = (SECONDS / ROUNDS / 2) * 1000;
  const following: Measured[] = [];
  const scrolling: Measured[] = [];
  const heaps: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    following.push(await during(page, () => page.waitForTimeout(length)));
    scrolling.push(await during(page, () => scroll(page, length)));
    await page.getByRole('button', { name: /Jump to|new lines/ }).click();
    await page.waitForTimeout(SETTLE_MS);
    heaps.push(await heapOf(cdp));
  }
  const worst = {
    following: worstOf(following),
    scrolling: worstOf(scrolling),
    growth: (heaps.at(-1) ?? 0) / (heaps[0] ?? 1),
  };
  for (const [name, { fps, long, longest }] of [
    ['following', worst.following],
    ['scrolling', worst.scrolling],
  ] as const) {
    const figures = `${fps.toFixed(1)} frames/s, ${long} long tasks, longest ${longest.toFixed(0)} ms`;
    console.log(`${name}, worst of ${ROUNDS} rounds: ${figures}`);
  }
  console.log(`heap after each: ${heaps.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')} MB`);
  const why = JSON.stringify(worst);
  expect(worst.following.longest, why).toBeLessThan(MAX_LONG_TASK_MS);
  expect(worst.scrolling.longest, why).toBeLessThan(MAX_LONG_TASK_MS);
  expect(worst.scrolling.fps, why).toBeGreaterThanOrEqual(MIN_FRAMES);
  expect(worst.growth, why).toBeLessThan(MAX_HEAP_GROWTH);
});
