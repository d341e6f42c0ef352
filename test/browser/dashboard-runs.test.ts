// Runs: recordings and reports that are opened on the page, used as a person would.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { recording, STARTED_AT_MS } from '../harness/recordings.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show } from './dashboard-page.js';
import { GOOD, JUNIT, NIGHTLY, type RunFile } from './run-files.js';

let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startService();
  token = await service.token();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  opened = await openPage(browser, { width: 1280, height: 900 });
  page = opened.page;
  await openWithToken(page, service, token);
  await show(page, '#/runs');
  await page.getByRole('button', { name: 'Open files' }).waitFor();
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

/** Drops files on the page, as from the desktop. */
async function drop(...files: RunFile[]): Promise<void> {
  const data = await page.evaluateHandle(
    `(() => {
      const data = new DataTransfer();
      for (const { name, text } of ${JSON.stringify(files)}) data.items.add(new File([text], name));
      return data;
    })()`,
  );
  await page.locator('main').dispatchEvent('dragover', { dataTransfer: data });
  await page.locator('main').dispatchEvent('drop', { dataTransfer: data });
}

/** Chooses files in the browser's dialog. */
async function choose(...files: RunFile[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Open files' }).focus();
  await page.keyboard.press('Enter');
  await (await chooser).setFiles(
    files.map(({ name, text }) => ({ name, mimeType: '', buffer: Buffer.from(text) })),
  );
}

const log = (name: string): Locator =>
  page.locator('.view-full', { has: page.getByRole('heading', { name }) }).getByRole('grid');
const part = (name: string): Locator =>
  page.getByRole('group', { name: 'Parts of the run' }).getByRole('radio', { name });
const parameter = (name: string): string | null =>
  new URLSearchParams(page.url().split('?')[1] ?? '').get(name);
const bars = (): Locator => page.getByRole('slider', { name: 'Lines over time' });

it('a dropped recording has a log with queries, and its address has them', async () => {
  await drop(NIGHTLY);
  await log('nightly.ndjson').getByText('good morning').first().waitFor();
  expect(page.url()).toContain('#/runs/nightly.ndjson');
  await page.getByRole('combobox', { name: 'Search lines' }).fill('level:error');
  await log('nightly.ndjson').getByText('lost the world').first().waitFor();
  await expect.poll(() => log('nightly.ndjson').getByText('good morning').count()).toBe(0);
  expect(parameter('q')).toBe('level:error');
  // A click on a value narrows further, and a line is read whole with its time.
  await log('nightly.ndjson').locator('[data-field=bot]').first().click();
  await expect.poll(() => parameter('q')).toMatch(/^level:error bot:/);
  await log('nightly.ndjson').getByText('lost the world').first().click();
  const details = page.getByRole('region', { name: 'Line details' });
  await details.getByText('2026-11-20 14:02:09').waitFor();
  // Times are since the start of the run.
  await log('nightly.ndjson').getByText('+0:06.000').first().waitFor();
  await details.getByRole('button', { name: 'Lines around' }).click();
  const around = page.getByRole('region', { name: 'Lines around' });
  await around.getByText('stroke 23 of painter-').first().waitFor();
  // Markup in a file is text.
  expect(await page.locator('main img, main script').count()).toBe(0);
});

it('a range is brushed with the keyboard, and taken back', async () => {
  await drop(NIGHTLY);
  await bars().focus();
  await page.keyboard.press('Home');
  for (let bar = 1; bar < 4; bar++) await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('from')).toBe('2026-11-20T13:02:03Z');
  expect(Date.parse(parameter('to') ?? '')).toBeLessThan(STARTED_AT_MS + 12_000);
  await log('nightly.ndjson').getByText('good morning').first().waitFor();
  await page.locator('.histogram-said', { hasText: /^\d+ lines$|warning/ }).waitFor();
  await page.keyboard.press('l');
  await expect.poll(() => parameter('from')).toBe(null);
  await page.locator('.histogram-said', { hasText: '4 errors' }).waitFor();
});

it('the herd is scrubbed, and a bot leads to its lines', async () => {
  await drop(NIGHTLY);
  await part('Herd').click();
  const counts = page.getByRole('list', { name: 'Bots by status' });
  await counts.locator('[data-count=backoff]', { hasText: '2' }).waitFor();
  await page.getByRole('slider', { name: 'Moment shown by the herd' }).fill('3000');
  await counts.locator('[data-count=in_world]', { hasText: '2' }).waitFor();
  await counts.locator('[data-count=backoff]', { hasText: '0' }).waitFor();
  await expect.poll(() => parameter('t')).toBe('2026-11-20T13:02:06Z');
  // Nothing in it can be acted on.
  await page.getByRole('listbox', { name: 'Herd' }).focus();
  await page.keyboard.press('Control+a');
  expect(await page.getByRole('button', { name: /Select|Stop|Restart/ }).count()).toBe(0);
  await page.keyboard.press('End');
  await page.locator('.peek').getByText('errors').waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('q')).toBe('bot:painter-2');
  await log('nightly.ndjson').getByText('painter-2').first().waitFor();
});

it('problems are grouped by cause, and lead to the log', async () => {
  await drop(NIGHTLY);
  await part('Problems').click();
  const failed = page.locator('.cause', { hasText: 'Failed' });
  await failed.getByText('2 times').waitFor();
  await page.locator('.cause', { hasText: 'Error line' }).getByText('4 times').waitFor();
  await page.getByText('Nothing else').waitFor({ state: 'detached' });
  await failed.click();
  await page.getByText('lost the world at 10.0.0.1:4000').first().waitFor();
  expect(await page.getByRole('button', { name: /Restart/ }).count()).toBe(0);
  await page.getByRole('link', { name: '2026-11-20 14:02:09' }).first().click();
  await log('nightly.ndjson').locator('.is-selected').getByText('lost the world').waitFor();
  expect(parameter('part')).toBe('log');
});

it('a report alone has expectations only, and its recording gives it the rest', async () => {
  await choose(JUNIT);
  const expectations = page.getByRole('region', { name: 'Expectations' });
  await expectations.getByText('no errors').waitFor();
  await page.getByText('A report has only expectations.').waitFor();
  await expectations.getByText('found one after 6 s').waitFor();
  await page.getByRole('link', { name: 'All runs' }).click();
  await drop(NIGHTLY, JUNIT);
  await page.getByText('1 of 3 expectations failed').waitFor();
  await part('Expectations').click();
  await expectations.getByRole('button', { name: 'failed' }).click();
  await expect.poll(() => expectations.locator('[data-result]').count()).toBe(1);
  await expectations.getByRole('link', { name: '+0:06.000' }).click();
  await log('nightly.ndjson').locator('.is-selected').getByText('lost the world').waitFor();
});

it('a report that is dropped on a recording is shown with it', async () => {
  await drop(NIGHTLY);
  await part('Expectations').click();
  await page.getByText('A recording has no expectations.').waitFor();
  await drop(JUNIT);
  await page.getByRole('region', { name: 'Expectations' }).getByText('no errors').waitFor();
});

it('a broken or cut off file says so in one line, and shows what was readable', async () => {
  await drop({ name: 'photo.jpg', text: 'not a run' }, { name: 'other.xml', text: '<a>' });
  await page.getByText('It cannot be opened: the file is neither a recording').waitFor();
  await page.getByText('It cannot be opened: the file is not a JUnit report').waitFor();
  await drop({ name: 'cut.ndjson', text: GOOD.text.slice(0, -120) });
  await page.getByText('The recording has no end').waitFor();
  await log('cut.ndjson').getByText('good morning').first().waitFor();
});

it('an address of a run that is not open asks for its file, and then shows what it says', async () => {
  await show(page, '#/runs/nightly.ndjson?q=level:error');
  await page.getByText('nightly.ndjson is not open in this tab').waitFor();
  await choose(NIGHTLY);
  await log('nightly.ndjson').getByText('lost the world').first().waitFor();
  expect(await log('nightly.ndjson').getByText('good morning').count()).toBe(0);
});

it('runs of the service are listed, and an address opens one with its report', async () => {
  await page.getByText('Files in the directory “runs” of its data directory').waitFor();
  const menu = page.getByRole('navigation');
  await show(page, '#/settings');
  expect(await menu.getByRole('link', { name: 'Runs' }).count()).toBe(0);
  const dir = path.join(service.dataDir, 'runs');
  mkdirSync(dir);
  try {
    writeFileSync(path.join(dir, 'kept.ndjson'), NIGHTLY.text);
    writeFileSync(path.join(dir, 'kept.xml'), JUNIT.text);
    writeFileSync(path.join(dir, 'good.ndjson'), GOOD.text);
    await show(page, '#/settings');
    await show(page, '#/runs');
    await page.getByRole('link', { name: 'kept.ndjson' }).click();
    await page.getByText('1 of 3 expectations failed').waitFor();
    await log('kept.ndjson').getByText('good morning').first().waitFor();
    // Another tab has it from the address, and the menu has the page now.
    await show(page, '#/runs/good.ndjson?t=2026-11-20T13:02:09Z&to=2026-11-20T13:02:12Z');
    await page.reload();
    await log('good.ndjson').locator('.is-selected').waitFor();
    await show(page, '#/settings');
    await menu.getByRole('link', { name: 'Runs' }).waitFor();
  } finally {
    rmSync(dir, { recursive: true });
  }
});

it('a large recording is read while the page answers', async () => {
  const steps = Array.from({ length: 60_000 }, (_, at) => ({ at, line: `busy ${at}` }));
  await drop({ name: 'large.ndjson', text: recording(steps, 60_000) });
  await log('large.ndjson').getByText('busy 3', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Jump to/ }).click();
  await log('large.ndjson').getByText('busy 59999').waitFor();
  await page.getByRole('combobox', { name: 'Search lines' }).fill('busy 4321');
  await log('large.ndjson').getByText('busy 43210').waitFor();
  await expect.poll(() => log('large.ndjson').locator('.log-row').count()).toBe(16);
});

it('a search that takes long says how far it is, and can be cancelled', async () => {
  const steps = Array.from({ length: 30_000 }, (_, at) => ({ at, line: `busy ${at}` }));
  await drop({ name: 'large.ndjson', text: recording(steps, 30_000) });
  await log('large.ndjson').getByText('busy 3', { exact: true }).waitFor();
  // Its worker reads more than the first part of the file when it is told to.
  const worker = page.workers().find((one) => one.url().includes('run-worker'));
  await worker?.evaluate(`{
    const read = Blob.prototype.arrayBuffer;
    let parts = 0;
    globalThis.opened = new Promise((open) => { globalThis.open = open; });
    Blob.prototype.arrayBuffer = async function () {
      parts += 1;
      if (parts > 1) await globalThis.opened;
      return read.call(this);
    };
  }`);
  await page.getByRole('combobox', { name: 'Search lines' }).fill('/busy \\d*7$/');
  await page.getByText(/^Searching, [1-9]\d %/).waitFor();
  await log('large.ndjson').getByText('busy 17', { exact: true }).waitFor();
  await page.evaluate(AxeBuilder.source);
  const violations = await page.evaluate<string[]>(
    'axe.run().then(({ violations }) => violations.map(({ id }) => id))',
  );
  expect(violations).toEqual([]);
  await page.getByRole('button', { name: 'Cancel the search' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText(/^Cancelled after [1-9]\d % of the lines\./).waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Search again');
  // What was found stays, and can be read.
  await log('large.ndjson').getByText('busy 17', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Jump to/ }).click();
  expect(await log('large.ndjson').getByText('busy 29997', { exact: true }).count()).toBe(0);

  await page.getByRole('button', { name: 'Search again' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText(/^Searching, 0 %/).waitFor();
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Cancel the search');
  // A key that is held ends it once.
  await page.keyboard.down('Enter');
  await page.getByText(/^Cancelled after 0 %/).waitFor();
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Search again');

  await worker?.evaluate('open()');
  await page.keyboard.press('Enter');
  await page.locator('.histogram-said', { hasText: '3,000 lines' }).waitFor();
  expect(await page.getByText(/^Cancelled after/).count()).toBe(0);
  await page.getByRole('button', { name: /^Jump to/ }).click();
  await log('large.ndjson').getByText('busy 29997', { exact: true }).waitFor();
});

it('has no fault for axe-core, and fits, from 360 to 2560 px', async () => {
  await drop(GOOD, NIGHTLY);
  await page.getByRole('link', { name: 'nightly.ndjson' }).waitFor();
  for (const [width, dark] of [
    [360, false],
    [768, true],
    [2560, false],
  ] as const) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await page.setViewportSize({ width, height: 900 });
    for (const [href, shown] of [
      ['#/runs', '.run-list'],
      ['#/runs/nightly.ndjson', '.log-row time'],
      ['#/runs/nightly.ndjson?part=herd', '[data-herd]'],
      ['#/runs/nightly.ndjson?part=problems', '.cause'],
      ['#/runs/nightly.ndjson?part=expectations', '.run-body'],
    ] as const) {
      await show(page, href);
      await page.locator(shown).first().waitFor();
      await page.evaluate(AxeBuilder.source);
      const faults = await page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html.slice(0, 200)))",
      );
      expect(faults, `${href} at ${width} px, dark: ${dark}`).toEqual([]);
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(over, `${href} at ${width} px is too wide`).toBe(0);
    }
  }
}, 200_000);
