// Runs: recordings and reports that are opened on the page, used as a person would.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { recording } from '../harness/recordings.js';
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

const log = (name: string): Locator => page.getByRole('grid', { name: `Lines of ${name}` });
const part = (name: string): Locator =>
  page.getByRole('group', { name: 'Parts of the run' }).getByRole('radio', { name });
const parameter = (name: string): string | null =>
  new URLSearchParams(page.url().split('?')[1] ?? '').get(name);
const bars = (name: string): Locator =>
  page.getByRole('slider', { name: `Lines over time of ${name}` });

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
  await details.getByText('+0:06.000').waitFor();
  await details.getByRole('button', { name: 'All lines around it' }).click();
  await log('nightly.ndjson').locator('.is-active').getByText('lost the world').waitFor();
  expect([parameter('q'), parameter('at')]).toEqual([null, '6000']);
  // Markup in a file is text.
  expect(await page.locator('main img, main script').count()).toBe(0);
});

it('a range is brushed with the keyboard, and taken back', async () => {
  await drop(NIGHTLY);
  await bars('nightly.ndjson').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+PageDown');
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('after')).toBe('0');
  const before = Number(parameter('before'));
  expect(before).toBeGreaterThan(0);
  await log('nightly.ndjson').getByText('good morning').first().waitFor();
  await expect.poll(() => log('nightly.ndjson').getByText('lost the world').count()).toBe(0);
  await page.getByTitle('Show the whole run').click();
  await expect.poll(() => parameter('after')).toBe(null);
});

it('the herd is scrubbed, and a bot leads to its lines', async () => {
  await drop(NIGHTLY);
  await part('Herd').click();
  const counts = page.getByRole('list', { name: 'Bots by status' });
  await counts.getByText('backoff').waitFor();
  await page.getByRole('slider', { name: 'Moment that the herd shows' }).fill('3000');
  await counts.getByText('in_world').waitFor();
  await expect.poll(() => counts.getByText('backoff').count()).toBe(0);
  await expect.poll(() => parameter('at')).toBe('3000');
  await page.getByRole('listbox', { name: 'Bots of the run' }).focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('q')).toBe('bot:painter-2');
  await log('nightly.ndjson').getByText('painter-2').first().waitFor();
});

it('incidents are grouped by cause, and lead to the log', async () => {
  await drop(NIGHTLY);
  await part('Incidents').click();
  const causes = page.getByRole('region', { name: 'Incidents' });
  const cause = causes.getByRole('listitem').filter({ hasText: 'Bot failed' });
  await cause.getByText('2 times').waitFor();
  await cause.getByRole('button', { name: 'first' }).click();
  await log('nightly.ndjson').locator('.is-active').waitFor();
  expect(parameter('show')).toBe('log');
});

it('a report alone has expectations only, and its recording gives it the rest', async () => {
  await choose(JUNIT);
  const expectations = page.getByRole('region', { name: 'Expectations' });
  await expectations.getByText('no errors').waitFor();
  await page.getByText('A report has expectations only.').waitFor();
  await expectations.getByText('found one after 6 s').waitFor();
  await page.getByRole('link', { name: 'All runs' }).click();
  await drop(NIGHTLY, JUNIT);
  await page.getByText('1 of 3 expectations failed').waitFor();
  await part('Expectations').click();
  await expectations.getByRole('button', { name: 'failed' }).click();
  await expect.poll(() => expectations.locator('[data-result]').count()).toBe(1);
  await expectations.getByRole('button', { name: '+0:06.000' }).click();
  await log('nightly.ndjson').locator('.is-active').getByText('lost the world').waitFor();
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
  await page.getByText('It cannot be opened: the file is no JUnit report').waitFor();
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
  await page.getByText('Files in the directory runs of its data directory').waitFor();
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
    await show(page, '#/runs/good.ndjson?at=6000');
    await page.reload();
    await log('good.ndjson').locator('.is-active').waitFor();
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
  await log('large.ndjson').focus();
  await page.keyboard.press('End');
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
  await log('large.ndjson').focus();
  await page.keyboard.press('End');
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
  await page.getByText('3,000 lines', { exact: true }).waitFor();
  expect(await page.getByText(/^Cancelled after/).count()).toBe(0);
  await log('large.ndjson').focus();
  await page.keyboard.press('End');
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
      ['#/runs/nightly.ndjson?show=herd', '[data-herd]'],
      ['#/runs/nightly.ndjson?show=causes', '.run-cause'],
      ['#/runs/nightly.ndjson?show=expectations', '.run-body'],
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
