// Screenshots of the herd with 0 to 5,000 bots, in both themes and four widths. SHOTS_OUT sets the directory, HERD_SHOTS the numbers
// of bots.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { call } from '../harness/api.js';
import { startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { fell, herdBots, herdConfig } from './herd-bots.js';

const OUT = process.env['SHOTS_OUT'] ?? 'dist/shots';
const COUNTS = (process.env['HERD_SHOTS'] ?? '0,5,200,2000,5000').split(',').map(Number);
const WIDTHS = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
];
/** Lines per second of all bots. */
const LINES = 300;

let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launchChromium();
});
afterAll(() => browser?.close());

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(OUT, `herd-${name}.png`) });
}

it.each(COUNTS)('%i bots', async (count) => {
  const bots = herdBots(count, count > 1000 ? 0 : Math.ceil(LINES / Math.max(1, count)));
  // A rate is a whole number: of many bots only some write.
  for (const [n, bot] of bots.entries()) {
    if (count > 1000 && bot.kind === 'synthetic' && n % Math.floor(count / LINES) === 0) {
      bot['config'] = { events_per_second: 1, message_bytes: 80 };
    }
  }
  const service = await startService({ config: herdConfig(bots) });
  try {
    await fell(service, bots, 3);
    const token = await service.token();
    for (const dark of [false, true]) {
      for (const size of WIDTHS) {
        const { context, page } = await openPage(browser, { ...size, dark });
        await openWithToken(page, service, token);
        if (count > 0) await page.locator(`[data-herd="${count}"]`).waitFor();
        await page.waitForTimeout(2500);
        const name = `${count}-${dark ? 'dark' : 'light'}-${size.width}`;
        await shoot(page, name);
        if (count >= 200) {
          await show(page, '#/overview?by=label:team');
          await page.waitForTimeout(500);
          await page.locator('.herd-cells').hover({ position: { x: 60, y: 50 } });
          await page.waitForTimeout(400);
          await shoot(page, `${name}-teams`);
          await show(page, '#/overview?by=label:region&show=failed,backoff');
          await page.waitForTimeout(500);
          await shoot(page, `${name}-failed`);
        }
        await context.close();
      }
    }
    if (count < 200) return;
    const { context, page } = await openPage(browser, { width: 1440, height: 900 });
    await openWithToken(page, service, token);
    await show(page, '#/overview?by=host');
    await page.locator(`[data-herd="${count}"]`).waitFor();
    const box = await page.locator('.herd-cells').boundingBox();
    if (box) {
      await page.mouse.move(box.x + 80, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 400, box.y + 90, { steps: 8 });
      await page.mouse.move(box.x + 300, box.y + 160, { steps: 8 });
      await page.mouse.move(box.x + 90, box.y + 140, { steps: 8 });
      await shoot(page, `${count}-lasso`);
      await page.mouse.up();
    }
    await call(service, 'POST', '/invoke', {
      body: { session_id: null, command: 'drill', args: { kill: 'host', fault: 'hang', host: 1 } },
    });
    await page.locator('[data-state=hangs]').waitFor();
    await page.waitForTimeout(500);
    await shoot(page, `${count}-hangs`);
    await show(page, '#/overview?as=table&by=host');
    await page.waitForTimeout(500);
    await shoot(page, `${count}-table`);
    await context.close();
  } finally {
    await service.stop();
  }
});
