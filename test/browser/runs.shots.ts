// Screenshots of runs: the list, one run with each of its parts, two side by side; both themes, four widths. SHOTS_OUT sets the
// directory.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { GOOD, JUNIT, NIGHTLY } from './run-files.js';

const OUT = process.env['SHOTS_OUT'] ?? 'dist/shots';
const WIDTHS = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
];
const VIEWS = {
  list: '#/runs',
  log: '#/runs/nightly.ndjson?at=6000',
  herd: '#/runs/nightly.ndjson?show=herd&at=3000',
  causes: '#/runs/nightly.ndjson?show=causes',
  expectations: '#/runs/nightly.ndjson?show=expectations',
  two: '#/runs/good.ndjson?with=nightly.ndjson&at=6000',
  missing: '#/runs/other.ndjson',
};

let browser: Browser;
let service: Service;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launchChromium();
  service = await startService();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function open(page: Page, files: readonly { name: string; text: string }[]): Promise<void> {
  await show(page, '#/runs');
  const input = page.locator('input[type=file]');
  await input.waitFor({ state: 'attached' });
  await input.setInputFiles(
    files.map(({ name, text }) => ({ name, mimeType: '', buffer: Buffer.from(text) })),
  );
  await page.waitForTimeout(800);
}

it.each([false, true])('dark: %s', async (dark) => {
  const token = await service.token();
  for (const size of WIDTHS) {
    const { context, page } = await openPage(browser, { ...size, dark });
    await openWithToken(page, service, token);
    const broken = { name: 'broken.ndjson', text: 'not a recording' };
    await open(page, [NIGHTLY, JUNIT]);
    await open(page, [GOOD, broken]);
    for (const [name, href] of Object.entries(VIEWS)) {
      await show(page, href);
      await page.waitForTimeout(700);
      const file = `runs-${name}-${dark ? 'dark' : 'light'}-${size.width}.png`;
      await page.screenshot({ path: path.join(OUT, file) });
    }
    await context.close();
  }
});
