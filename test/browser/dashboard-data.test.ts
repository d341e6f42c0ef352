// The data of bots, as a person reads it: on the page of a bot with what it was, and as columns of the table; the keys of the table, and
// what else is small.

import AxeBuilder from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

let browser: Browser;
let service: Service;
let page: Page;
const PAINTERS = ['painter-1', 'painter-2', 'painter-10'];
beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
  for (const id of PAINTERS.slice(1)) {
    const config = { greeting: 'hello' };
    await call(service, 'POST', '/api/bots', { body: { id, kind: 'painter', config } });
  }
});
afterAll(async () => {
  await service?.stop();
  await browser?.close();
});
beforeEach(async () => {
  const opened = await openPage(browser, { width: 1440, height: 900 });
  page = opened.page;
  await page.addInitScript(WATCH_MARKS);
  await openWithToken(page, service, await service.token());
  onTestFinished(async () => {
    await opened.context.close();
    expect(opened.complaints).toEqual([]);
  });
});

/** A mark is gone after some seconds, which a busy machine may need to look for it. */
const WATCH_MARKS = `
  globalThis.marked = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.classList.contains('is-changed')) marked.push(target.innerText);
    }
  }).observe(document, { subtree: true, attributeFilter: ['class'] });
`;
const marked = (): Promise<string[]> => page.evaluate('marked');

const measure = (id: string, what: string, amount: number): Promise<unknown> =>
  invoke(service, id, 'measure', { what, amount });
const field = (path: string) => page.locator(`.bot-data [data-field="${path}"]`);

async function expectAccessible(): Promise<void> {
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))",
  );
  expect(found).toEqual([]);
}

it('finds one of 200 fields, sees it change, and pins it for all bots of the kind', async () => {
  await invoke(service, 'painter-1', 'shelve', { count: 200 });
  await show(page, '#/bots/painter-1');
  await field('shelf.pot-1').waitFor();
  await page.getByRole('searchbox', { name: 'Search the data' }).fill('pot-17');
  await expect.poll(() => page.locator('.bot-data [data-field]').count()).toBe(11);
  await page.getByRole('searchbox', { name: 'Search the data' }).fill('1,230');
  await field('shelf.pot-123').waitFor();
  await field('shelf.pot-123').getByRole('button', { name: 'Pin shelf.pot-123' }).click();
  await page.getByRole('searchbox', { name: 'Search the data' }).fill('');
  const pinned = page.getByRole('list', { name: 'Pinned fields' });
  await pinned.getByText('shelf.pot-123').waitFor();
  // What it was in the last hour.
  await pinned.getByRole('img', { name: 'In the last hour always 1,230' }).waitFor();
  await expectAccessible();
  await measure('painter-1', 'colours', 5);
  await field('colours').waitFor();
  await measure('painter-1', 'colours', 6);
  await field('colours').getByTitle('6\nchanged').waitFor();
  expect(await marked()).toContain('6');
  // Another bot of the kind, which has nothing of it yet; and after a reload of the page.
  await show(page, '#/bots/painter-2');
  await pinned.getByText('shelf.pot-123').waitFor();
  await page.reload();
  await pinned.getByText('shelf.pot-123').waitFor();
  await pinned.getByRole('button', { name: 'Pin shelf.pot-123' }).press('Enter');
  await pinned.waitFor({ state: 'detached' });
});

it('shows a field over time, from the journal and as it changes, and the address keeps it', async () => {
  for (const value of [100, 40, 70]) {
    await measure('painter-1', 'gold', value);
    // Each is a separate event.
    await expect
      .poll(async () => {
        const { json } = await call(service, 'GET', '/api/bots/painter-1');
        return (json as { data: Record<string, unknown> }).data['gold'];
      })
      .toBe(value);
  }
  await invoke(service, 'painter-1', 'show', { name: 'place', value: 'castle' });
  await show(page, '#/bots/painter-1');
  await field('gold').getByRole('button', { name: 'gold', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'gold of painter-1' });
  await dialog.getByRole('img', { name: 'gold between 40 and 100 in the last 1 h' }).waitFor();
  await measure('painter-1', 'gold', 120);
  await dialog.getByRole('img', { name: 'gold between 40 and 120 in the last 1 h' }).waitFor();
  await dialog.getByRole('radio', { name: '15 min' }).check();
  await dialog.getByRole('img', { name: 'gold between 40 and 120 in the last 15 min' }).waitFor();
  await expectAccessible();
  await dialog.getByText('Values').click();
  await expect
    .poll(() => dialog.locator('tbody tr td:nth-child(2)').allInnerTexts())
    .toContain('120');
  await page.reload();
  await dialog.getByRole('img', { name: /^gold between 40 and 120/ }).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  // A text has no line, but what it was from when to when.
  await field('place').getByRole('button', { name: 'place', exact: true }).click();
  await page.getByRole('dialog').getByRole('cell', { name: 'castle' }).waitFor();
});

it('begins below the log on a narrow screen', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await measure('painter-1', 'gold', 1);
  await show(page, '#/bots/painter-1');
  await field('gold').waitFor();
  const [log, data] = await Promise.all(
    ['.bot-lines', '.bot-data'].map((part) => page.locator(part).boundingBox()),
  );
  expect(data?.y).toBeGreaterThanOrEqual((log?.y ?? 0) + (log?.height ?? Infinity));
  await expectAccessible();
});

const titles = (): Promise<string[]> =>
  page.locator('.list-head .sort > span:first-child').allInnerTexts();
const header = (title: string) =>
  page.getByRole('columnheader', { name: title, exact: true }).getByRole('button');
const cellOf = (id: string, at: number) =>
  page.locator(`[data-bot="${id}"] [role=gridcell]`).nth(at);

it('shows fields of a kind as columns: chosen, sorted by their numbers, kept in the address', async () => {
  for (const [id, gold] of [
    ['painter-1', 9],
    ['painter-2', 100],
    ['painter-10', 20],
  ] as const) {
    await measure(id, 'gold', gold);
  }
  await show(page, '#/bots?q=kind:painter');
  await page.getByLabel('Columns', { exact: true }).click();
  await page.getByRole('searchbox', { name: 'Search columns' }).fill('gold');
  const further = page.getByRole('list', { name: 'More columns: painter' });
  await further.getByRole('checkbox', { name: 'gold' }).click();
  await page.keyboard.press('Escape');
  await header('gold').click();
  const order = (): Promise<(string | null)[]> =>
    page
      .locator('[data-bot]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-bot')));
  await expect.poll(order).toEqual(['painter-1', 'painter-10', 'painter-2']);
  await header('gold').click();
  await expect.poll(order).toEqual(['painter-2', 'painter-10', 'painter-1']);
  const at = 1 + (await titles()).indexOf('gold');
  await expect.poll(() => cellOf('painter-2', at).innerText()).toBe('100');
  // What changes is marked, and sorted again. A cell that is still marked would not change its class.
  await expect.poll(() => page.locator('.value.is-changed').count(), { timeout: 30_000 }).toBe(0);
  await measure('painter-1', 'gold', 5000);
  await cellOf('painter-1', at).getByTitle('5,000\nchanged').waitFor();
  expect(await marked()).toContain('5,000');
  await expect.poll(order).toEqual(['painter-1', 'painter-2', 'painter-10']);
  await expectAccessible();
  // Who gets the address sees the same.
  const address = page.url();
  const other = await openPage(browser);
  onTestFinished(() => other.context.close());
  await openWithToken(other.page, service, await service.token());
  await other.page.goto(address);
  await other.page.getByRole('columnheader', { name: 'gold' }).waitFor();
  expect(await other.page.locator('[data-bot]').first().getAttribute('data-bot')).toBe('painter-1');
});

it('columns are moved and resized with the keyboard and the mouse, and are so after a reload', async () => {
  await show(page, '#/bots');
  await expect.poll(titles).toContain('Restarts');
  const before = await titles();
  const at = before.indexOf('Restarts');
  await header('Restarts').focus();
  await page.keyboard.press('Control+Shift+ArrowLeft');
  await expect.poll(titles).toEqual(before.with(at, before[at - 1] ?? '').with(at - 1, 'Restarts'));
  const width = async (title: string): Promise<number> =>
    (await page.getByRole('columnheader', { name: title, exact: true }).boundingBox())?.width ?? 0;
  const was = await width('Restarts');
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => width('Restarts')).toBeCloseTo(was + 16, -1);
  const grip = page.getByRole('columnheader', { name: 'Kind', exact: true }).locator('.resizer');
  const box = await grip.boundingBox();
  const kind = await width('Kind');
  await page.mouse.move((box?.x ?? 0) + 4, (box?.y ?? 0) + 10);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 64, (box?.y ?? 0) + 10);
  await page.mouse.up();
  await expect.poll(() => width('Kind')).toBeCloseTo(kind + 60, -1);
  await header('Kind').dragTo(header('Bot'));
  await expect.poll(async () => (await titles())[0]).toBe('Kind');
  await page.reload();
  await expect.poll(async () => (await titles())[0]).toBe('Kind');
  expect(await width('Restarts')).toBeCloseTo(was + 16, -1);
  await page.getByLabel('Columns', { exact: true }).click();
  await page.getByRole('button', { name: 'Reset columns and widths' }).click();
  await expect.poll(titles).toEqual(before);
});

it('pinned fields are columns where all bots are of the kind, and part of the rows of a phone', async () => {
  await measure('painter-1', 'gold', 7);
  await show(page, '#/bots/painter-1');
  await field('gold').getByRole('button', { name: 'Pin gold' }).click();
  await show(page, '#/bots?q=kind:painter');
  await page.getByRole('columnheader', { name: 'gold' }).waitFor();
  await show(page, '#/bots');
  await page.getByRole('columnheader', { name: 'gold' }).waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 390, height: 844 });
  await show(page, '#/bots?q=kind:painter');
  await page.locator('[data-bot=painter-1] .in-line', { hasText: 'gold 7' }).waitFor();
  await expectAccessible();
});

it('a row is one stop of the Tab key; arrows lead through the row and to the next one', async () => {
  await show(page, '#/bots?q=kind:painter');
  await page.locator('[data-bot=painter-10]').waitFor();
  const stops = await page
    .locator('.bots-list [role=row]')
    .evaluateAll((rows) =>
      rows.map((row) => row.querySelectorAll(':is(a, button, input):not([tabindex="-1"])').length),
    );
  expect(stops).toEqual([1, 1, 1, 1]);
  const focused = (): Promise<string> =>
    page.evaluate(
      "(document.activeElement.closest('[data-bot]')?.dataset.bot ?? '') + ' ' + (document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText)",
    );
  await page.locator('[data-bot=painter-1] a').focus();
  await page.keyboard.press('Tab');
  await expect.poll(focused).toBe('painter-2 painter-2');
  await page.keyboard.press('ArrowRight');
  await expect.poll(focused).toBe('painter-2 painter');
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).toBe('painter-10 painter');
  await page.keyboard.press('Home');
  await expect.poll(focused).toBe('painter-10 Select painter-10');
  await page.keyboard.press('Space');
  await page.locator('[data-bot=painter-10][aria-selected=true]').waitFor();
  // Titles are one stop too.
  await header('Bot').focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(focused).toBe(' Kind');
  await page.keyboard.press('Enter');
  await page
    .getByRole('columnheader', { name: 'Kind', exact: true })
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor();
});

it('errors are seen below the chart, whose levels the legend shows and hides', async () => {
  await show(page, '#/overview');
  const errors = page.locator('[data-severity=error] [role=img]');
  await errors.waitFor();
  await invoke(service, 'painter-1', 'print', { text: 'it burns', level: 'error', times: 2 });
  await page.getByRole('img', { name: /^Lines with the level error in \d+ of/ }).waitFor();
  const legend = (level: string) => page.locator('.legend').getByRole('button', { name: level });
  await legend('info').click();
  await expect.poll(() => legend('info').getAttribute('aria-pressed')).toBe('false');
  expect(page.url()).toContain('levels=');
  await legend('error').click({ modifiers: ['Alt'] });
  await expect
    .poll(() => page.locator('.legend [aria-pressed=true]').allInnerTexts())
    .toEqual(['error']);
  await expectAccessible();
});

it('has lower rows where it is compact', async () => {
  await show(page, '#/settings');
  const heights: number[] = [];
  for (const density of ['Comfortable', 'Compact']) {
    await page.getByRole('radio', { name: density }).check();
    await show(page, '#/bots');
    heights.push((await page.locator('[data-bot=painter-1]').boundingBox())?.height ?? 0);
    await expectAccessible();
    await show(page, '#/settings');
  }
  const [comfortable = 0, compact = 0] = heights;
  expect(comfortable).toBeGreaterThan(compact);
  expect(compact).toBeGreaterThan(0);
});
