// Screenshots of the time range: picker, histogram, a past moment of the herd, the lines around a line; both themes, four widths.
// SHOTS_OUT sets the directory.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { call } from '../harness/api.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { fell, herdBots, herdConfig } from './herd-bots.js';

const OUT = process.env['SHOTS_OUT'] ?? 'dist/shots';
const BOTS = 300;
const WIDTHS = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
];

let browser: Browser;
let service: Service;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launchChromium();
  const bots = herdBots(BOTS, 1);
  service = await startService({ config: herdConfig(bots) });
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  await fell(service, bots, 2);
  await new Promise((resolve) => setTimeout(resolve, 8000));
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(1200);
  await page.screenshot({ path: path.join(OUT, `range-${name}.png`) });
}

it.each([false, true])('dark: %s', async (dark) => {
  const token = await service.token();
  for (const size of WIDTHS) {
    const { context, page } = await openPage(browser, { ...size, dark });
    const name = (what: string): string => `${what}-${dark ? 'dark' : 'light'}-${size.width}`;
    await openWithToken(page, service, token);
    await show(page, '#/log?from=-5m');
    await shoot(page, name('log'));
    await page.keyboard.press('t');
    await page.getByLabel('Type a time range').fill('noon');
    await page.keyboard.press('Enter');
    await shoot(page, name('picker'));
    await page.keyboard.press('Escape');
    await show(page, '#/log?q=level:error');
    await page.locator('.log-row').first().click();
    await shoot(page, name('line'));
    await page.keyboard.press('x');
    await shoot(page, name('around'));
    const { json } = await call(service, 'GET', '/api/incidents?limit=1');
    const [{ at_ms: fallMs = Date.now() } = {}] =
      (json as { incidents?: { at_ms: number }[] }).incidents ?? [];
    await show(page, `#/overview?from=${fallMs - 15_000}&to=${fallMs + 6000}&t=${fallMs - 5000}`);
    await shoot(page, name('past'));
    await show(page, `#/overview?from=${fallMs - 900_000}&to=${fallMs}&t=${fallMs - 20_000}`);
    await shoot(page, name('unknown'));
    await context.close();
  }
});
