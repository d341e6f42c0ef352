// `npm run long -- shots`: a picture of every view of the built dashboard, at four widths in both themes. Each picture is a test, so
// `npm run long -- shots -t '390 light log'` takes some. SHOTS_OUT sets the directory, SHOTS_BOTS the size of the herd.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken } from './dashboard-page.js';
import { SHOTS, type Shot } from './shots-list.js';
import { type LivingHerd, startEmpty, startHerd } from './shots-service.js';

const OUT = process.env['SHOTS_OUT'] ?? 'dist/shots';

const SIZES = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
];
const LOOKS = SIZES.flatMap((size) => [
  { look: `${size.width} light`, dark: false, ...size },
  { look: `${size.width} dark`, dark: true, ...size },
]);

/** For what arrives after a view is drawn: counts, charts, lines. */
const SETTLE_MS = 700;

let browser: Browser;
let herd: LivingHerd;
let empty: Service;

beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  [browser, herd, empty] = await Promise.all([launchChromium(), startHerd(), startEmpty()]);
});

afterAll(async () => {
  await browser?.close();
  await herd?.end();
  await empty?.stop();
});

describe.each(LOOKS.map((one) => [one.look, one] as const))('%s', (look, options) => {
  const opened = new Map<Shot['at'], { page: Page; context: BrowserContext }>();

  async function pageFor({ at, href }: Shot): Promise<{ page: Page; service: Service }> {
    const service = at === 'empty' ? empty : herd.service;
    const known = opened.get(at);
    const { page, context } = known ?? (await openPage(browser, options));
    opened.set(at, { page, context });
    if (known === undefined && at !== 'sign-in') {
      await openWithToken(page, service, await service.token());
    }
    await page.goto('about:blank');
    await page.goto(`${service.url}/${href}`);
    const isThere = at === 'sign-in' ? page.getByLabel('Digit 1 of 6') : page.locator('main');
    await isThere.waitFor();
    await page.waitForTimeout(SETTLE_MS);
    return { page, service };
  }

  afterAll(async () => {
    for (const { context } of opened.values()) await context.close();
  });

  it.each(SHOTS.map((one) => [one.name, one] as const))('%s', async (name, shot) => {
    const { page, service } = await pageFor(shot);
    try {
      await shot.prepare?.(page, service);
      await page.waitForTimeout(SETTLE_MS);
    } finally {
      const file = `${name}-${look.replace(' ', '-')}.png`;
      await page.screenshot({ path: path.join(OUT, file) });
      await page.unrouteAll();
    }
  });
});
