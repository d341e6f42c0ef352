// The heap of a page that follows the log of 2,000 bots with 500 lines/s. PAGEHEAP_SECONDS sets for how long. Other work on the
// machine does not matter: each sample follows a garbage collection.

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { heapOf } from './page-probe.js';

const SECONDS = Number(process.env['PAGEHEAP_SECONDS'] ?? 600);
const SAMPLE_S = 30;
const BOTS = 2000;
/** Every fourth bot says a line a second. */
const TALKING = 4;
const MAX_HEAP = 25_000_000;
/** The mean of the last quarter ÷ that of the second one: until then the lists of the page fill up. */
const MAX_GROWTH = 1.1;

let browser: Browser;
let service: Service;
beforeAll(async () => {
  browser = await launchChromium();
  service = await startService({
    config: {
      bots: Array.from({ length: BOTS }, (_, n) => ({
        id: `bot-${n}`,
        kind: 'synthetic',
        labels: { team: `team-${n % 12}` },
        config: { events_per_second: n % TALKING === 0 ? 1 : 0, message_bytes: 100 },
      })),
      hosts: { count: 2 },
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

it(
  `follows the log for ${SECONDS} s`,
  async () => {
    const { page } = await openPage(browser, { width: 1440, height: 900 });
    const cdp = await page.context().newCDPSession(page);
    await openWithToken(page, service, await service.token());
    await page.locator(`[data-herd="${BOTS}"]`).waitFor();
    await show(page, '#/log');
    const heaps: number[] = [];
    for (let at = 0; at < SECONDS; at += SAMPLE_S) {
      await page.waitForTimeout(SAMPLE_S * 1000);
      heaps.push((await heapOf(cdp)) / 1e6);
      console.log(`heap after ${at + SAMPLE_S} s: ${heaps.at(-1)?.toFixed(1)} MB`);
    }
    const quarter = Math.floor(heaps.length / 4);
    const growth = mean(heaps.slice(-quarter)) / mean(heaps.slice(quarter, 2 * quarter));
    console.log(`last quarter ÷ second quarter: ${growth.toFixed(3)}`);
    expect(Math.max(...heaps) * 1e6, heaps.join(', ')).toBeLessThanOrEqual(MAX_HEAP);
    expect(growth, heaps.join(', ')).toBeLessThanOrEqual(MAX_GROWTH);
  },
  (SECONDS + 120) * 1000,
);
