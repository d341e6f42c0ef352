// History in the log of the dashboard: seamless scrolling back into the journal, search, and links to lines.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { invoke, snapshot } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

/** Three pages of history. */
const PAST = 1100;

let browser: Browser;
let service: Service;
beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
  await print('number %n.', PAST);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function print(text: string, times = 1): Promise<void> {
  const answer = await invoke(service, 'painter-1', 'print', { text, times });
  expect(answer.status, answer.text).toBe(200);
}

/** Numbers of the drawn lines, from top to bottom. */
async function numbers(page: Page): Promise<number[]> {
  const rows = await page
    .locator('.list-row')
    .evaluateAll((all) =>
      all.map((row) => ({ top: row.getBoundingClientRect().top, text: row.textContent })),
    );
  rows.sort((a, b) => a.top - b.top);
  return rows.flatMap(({ text }) => /number (\d+)\.$/.exec(text)?.[1] ?? []).map(Number);
}

/** Scrolls by one turn of the wheel, and waits until the rows now in view are drawn. */
async function scrollUp(page: Page): Promise<void> {
  const list = page.locator('.log-list');
  await list.evaluate((box) => {
    box.scrollTop -= 600;
  });
  await expect
    .poll(
      () =>
        list.evaluate((box) => {
          const { top, bottom } = box.getBoundingClientRect();
          const rows = [...box.querySelectorAll('.list-row')].map((row) =>
            row.getBoundingClientRect(),
          );
          const isCovered = (y: number): boolean =>
            rows.some((row) => row.top <= y && row.bottom > y);
          // Above the first line there is a note that nothing comes before it.
          const isEnd = box.scrollTop === 0 && box.querySelector('[data-top=end]') !== null;
          return (isEnd || isCovered(top + 1)) && isCovered(bottom - 1);
        }),
      { interval: 10 },
    )
    .toBe(true);
}

it('scrolls back to the first line, and from history into live lines, with each line once', async () => {
  const { context, page, complaints } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await show(page, '#/log?q=number');
  const last = async (): Promise<number> => (await numbers(page)).at(-1) ?? 0;
  // If this test runs again, there are more lines.
  await expect.poll(last).toBeGreaterThanOrEqual(PAST);
  // Live lines continue from there.
  const live = (await last()) + 1;
  await invoke(service, 'painter-1', 'print', { text: `number ${live}.` });
  await page.locator('.log-row', { hasText: `number ${live}.` }).waitFor();
  const seen = new Set(await numbers(page));
  // Dozens of turns of the wheel: as long as the test may take.
  while (!seen.has(1)) {
    await scrollUp(page);
    const drawn = await numbers(page);
    // No seam: the drawn numbers are consecutive.
    for (const [at, number] of drawn.entries()) expect(number).toBe((drawn[0] ?? 0) + at);
    for (const number of drawn) seen.add(number);
  }
  const missing = Array.from({ length: live }, (_, at) => at + 1).filter((n) => !seen.has(n));
  expect(missing).toEqual([]);
  await page.locator('[data-top=end]').waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

it('finds old lines, and scrolls to the line of a link', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await show(page, '#/log?q=%22number+17.%22');
  const found = page.locator('.log-row', { hasText: 'number 17.' });
  await found.waitFor();
  const id = await found.getAttribute('data-id');
  await show(page, `#/log?at=${id}`);
  await page.locator('.log-row.is-active', { hasText: 'number 17.' }).waitFor();
  const drawn = await numbers(page);
  expect(drawn).toContain(16);
  expect(drawn).toContain(18);
  // From there down to the live lines.
  const list = page.locator('.log-list');
  await expect
    .poll(async () => {
      await list.evaluate((box) => box.scrollTo(0, box.scrollHeight));
      return (await numbers(page)).at(-1);
    })
    .toBeGreaterThanOrEqual(PAST);
  await print('the present');
  await page.locator('.log-row', { hasText: 'the present' }).first().waitFor();
  await context.close();
});

it('keeps the scroll position after a link when older lines load', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await show(page, `#/log?q=%22number+${PAST - 100}.%22`);
  const id = await page
    .locator('.log-row', { hasText: `number ${PAST - 100}.` })
    .getAttribute('data-id');
  // The page holds none of the lines: all of them load from the journal, page by page.
  await page.goto(`${service.url}/#/log?at=${id}`);
  await page.reload();
  await page.locator('.log-row.is-active', { hasText: `number ${PAST - 100}.` }).waitFor();
  const lines = async (): Promise<number> =>
    Number.parseInt((await page.locator('.log-foot').innerText()).replace(',', ''), 10);
  await page.locator('[data-top=more]').waitFor();
  const before = await lines();
  let seen = await numbers(page);
  await expect
    .poll(
      async () => {
        seen = await numbers(page);
        await scrollUp(page);
        return lines();
      },
      { interval: 10 },
    )
    .toBeGreaterThan(before);
  const drawn = await numbers(page);
  // One turn of the wheel further up, not back at the line of the link.
  expect(drawn[0]).toBeLessThanOrEqual(seen[0] ?? 0);
  expect(drawn).not.toContain(PAST - 100);
  await context.close();
});

it('shows the last lines of bots from before the page was opened, and newer ones as they arrive', async () => {
  // The result is a line too, which may come before or after those of the bot.
  await print('said before', 2);
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await show(page, '#/bots');
  const last = page.locator('[data-bot=painter-1] .cell-line');
  // The table is redrawn every second.
  await expect.poll(() => last.innerText()).toMatch(/^said before$|"written":2/);
  await print('said since', 3);
  await expect.poll(() => last.innerText()).toMatch(/^said since$|"written":3/);
  await context.close();
});

it('downloads everything in the journal that matches a filter', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await show(page, '#/log?q=number');
  await page.getByLabel('Download').click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /All lines in the journal/ }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const events = Buffer.concat(chunks).toString().trim().split('\n');
  expect(events.length).toBeGreaterThanOrEqual(PAST);
  expect(JSON.parse(events[0] ?? '')).toMatchObject({
    event: 'log',
    data: { message: 'number 1.' },
  });
  await context.close();
});

it('draws the counts of the journal', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await page.getByLabel('1 h').check();
  await page.getByRole('img', { name: /last 1 h/ }).waitFor();
  await context.close();
});

it('continues a search automatically while it has found little, and further on request', async () => {
  const own = await startForDashboard();
  onTestFinished(async () => void (await own.stop()));
  const fill = async (times: number): Promise<void> => {
    await invoke(own, 'painter-1', 'print', { text: 'off the wire %n', times });
  };
  // More pages without a match than one search reads, with a few matches between them.
  await expect.poll(async () => (await snapshot(own, 'demo-1')).status).toBe('in_world');
  await fill(6000);
  await invoke(own, 'demo-1', 'say', { text: 'a word in between' });
  await fill(6000);
  const { context, page } = await openPage(browser);
  await openWithToken(page, own, await own.token());
  await show(page, '#/log?q=direction:*+bot:demo-1,painter-1');
  await page.locator('[data-top=end]').waitFor();
  const found = await page.locator('.log-row').allInnerTexts();
  expect(found.length).toBeGreaterThan(1);
  expect(found.join()).toContain('a word in between');
  await context.close();
});

it('retries while too many searches run', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  let refused = 0;
  // The service's own response: that many concurrent searches are hard to produce.
  await page.route('**/api/events?*', (route) => {
    if (refused === 2) return route.continue();
    refused += 1;
    return route.fulfill({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { error: 'too many requests are waiting for an answer, retry in 1s' },
    });
  });
  await show(page, '#/log?q=%22number+17.%22');
  await page.locator('.log-row', { hasText: 'number 17.' }).waitFor();
  expect(refused).toBe(2);
  await context.close();
});

it('reports that history could not be loaded, and retries on request', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await service.token());
  await page.route('**/api/events?*', (route) => route.abort());
  await show(page, '#/log?q=%22number+17.%22');
  await page.locator('[data-top=failed]').waitFor();
  await page.unroute('**/api/events?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.log-row', { hasText: 'number 17.' }).waitFor();
  await context.close();
});

it('says that there is no history when the journal is off', async () => {
  const own = await startForDashboard({ demo: false, config: { journal: { enabled: false } } });
  onTestFinished(async () => void (await own.stop()));
  const { context, page } = await openPage(browser);
  await openWithToken(page, own, await own.token());
  await show(page, '#/log');
  await page.locator('[data-top=off]', { hasText: 'the journal is off' }).waitFor();
  await context.close();
});
