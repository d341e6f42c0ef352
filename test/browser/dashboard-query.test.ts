// The query of Bots and of Log, as a person uses it: typed with completion, clicked together, kept under a name, sent as a link.

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
beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
  for (const [id, team] of [
    ['sleeper-1', 'art'],
    ['sleeper-2', 'music'],
  ]) {
    const body = { id, kind: 'synthetic', desired: 'stopped', labels: { team } };
    await call(service, 'POST', '/api/bots', { body });
  }
});
afterAll(async () => {
  await service?.stop();
  await browser?.close();
});
beforeEach(async () => {
  const opened = await openPage(browser);
  page = opened.page;
  await openWithToken(page, service, await service.token());
  onTestFinished(async () => {
    await opened.context.close();
    expect(opened.complaints).toEqual([]);
  });
});

const shownBots = async (): Promise<string[]> =>
  (await page.locator('[data-bot]').evaluateAll((rows) => rows.map((row) => row.id)))
    .map((id) => id.replace('bot-', ''))
    .sort();
const query = (name: string): Promise<string> => page.getByLabel(`Search ${name}`).inputValue();
const inAddress = (): string => new URLSearchParams(page.url().split('?')[1]).get('q') ?? '';

it('finds bots with what completion offers, with the keyboard only', async () => {
  await show(page, '#/bots');
  await page.locator('[data-bot]').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('lab');
  await page.getByRole('option', { name: 'label:' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name: 'team=music' }).waitFor();
  await page.keyboard.type('mus');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect.poll(() => query('bots')).toBe('label:team=music ');
  await expect.poll(shownBots).toEqual(['sleeper-2']);
  await page.keyboard.type('-status:stopped');
  await page.keyboard.press('Enter');
  await expect.poll(shownBots).toEqual([]);
  // The chips can be reached and removed.
  await page.getByRole('button', { name: 'Remove -status:stopped' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(shownBots).toEqual(['sleeper-2']);
  expect(inAddress().trim()).toBe('label:team=music');
});

it('adds what is clicked in the table, and excludes it with Alt', async () => {
  await show(page, '#/bots');
  const sleeper = page.locator('[data-bot=sleeper-1]');
  await sleeper.locator('.cell-kind button').click();
  await expect.poll(shownBots).toEqual(['sleeper-1', 'sleeper-2']);
  await sleeper.getByText('team=art').click();
  await expect.poll(shownBots).toEqual(['sleeper-1']);
  expect(inAddress()).toBe('kind:synthetic label:team=art');
  await show(page, '#/bots');
  await sleeper.locator('.cell-status button').click({ modifiers: ['Alt'] });
  await expect.poll(shownBots).toEqual(['demo-1', 'demo-2', 'demo-3', 'painter-1']);
  expect(await query('bots')).toBe('-status:stopped');
  // A bot's page leads back to its likes.
  await show(page, '#/bots/sleeper-2');
  await page.getByRole('link', { name: 'team=music' }).click();
  await expect.poll(shownBots).toEqual(['sleeper-2']);
});

it('says what is wrong and where, and keeps what it showed', async () => {
  await show(page, '#/bots?q=kind:synthetic');
  await expect.poll(shownBots).toEqual(['sleeper-1', 'sleeper-2']);
  await page.getByLabel('Search bots').fill('kind:synthetic stauts:failed');
  await page.getByText('did you mean status?').waitFor();
  await page.getByText('(at character 16)').waitFor();
  expect(await shownBots()).toEqual(['sleeper-1', 'sleeper-2']);
  await page.getByLabel('Clear the query').click();
  await expect.poll(async () => (await shownBots()).length).toBeGreaterThan(2);
  // Also in a link.
  await show(page, '#/bots?q=kind:');
  await page.getByText('kind: needs a value').waitFor();
});

it('asks the journal and judges live lines by the same query', async () => {
  const print = (text: string) => invoke(service, 'painter-1', 'print', { text });
  await print('took 1234 ms');
  await print('took 56 ms');
  await show(page, '#/log?q=%2Ftook+%5Cd%7B4%7D%2F+label:team%3Dart');
  const rows = page.locator('.log-row');
  await expect.poll(() => rows.count()).toBe(1);
  await print('took 78 ms');
  await print('took 9999 ms');
  await rows.getByText('took 9999 ms').waitFor();
  expect(await rows.count()).toBe(2);
  // Only the journal has them after a reload.
  await page.reload();
  await rows.getByText('took 1234 ms').waitFor();
  await expect.poll(() => rows.count()).toBe(2);
  // A click on a value of a line adds it.
  await rows.first().locator('[data-field=scope]').click();
  await expect.poll(inAddress).toContain('scope:');
  await rows
    .first()
    .locator('[data-field=level]')
    .click({ modifiers: ['Alt'] });
  await expect.poll(inAddress).toMatch(/-level:\w+/);
  await page.getByText('No lines match the filter.').waitFor();
});

it('keeps views under names, each with the whole address', async () => {
  await show(page, '#/bots?q=kind:synthetic&sort=status&down=1');
  await expect.poll(shownBots).toEqual(['sleeper-1', 'sleeper-2']);
  await page.getByLabel('Saved views').click();
  await page.getByLabel('Name of the view').fill('Asleep');
  await page.keyboard.press('Enter');
  await page.getByText('Saved as “Asleep”.').waitFor();
  await show(page, '#/bots');
  await expect.poll(async () => (await shownBots()).length).toBeGreaterThan(2);
  await page.reload();
  await page.getByLabel('Saved views').click();
  await page.getByRole('link', { name: 'Asleep' }).click();
  await expect.poll(shownBots).toEqual(['sleeper-1', 'sleeper-2']);
  expect(page.url()).toMatch(/sort=status&down=1$/);
  // The log has its own.
  await show(page, '#/log');
  await page.getByLabel('Saved views').click();
  await page.getByText('No saved views yet.').waitFor();
  await show(page, '#/bots');
  await page.getByLabel('Saved views').click();
  await page.getByLabel('Remove the view Asleep').click();
  await page.getByText('No saved views yet.').waitFor();
});

it('has no fault for axe-core, and fits, from 360 to 2560 px', async () => {
  const long = `"a text that is long ${'x'.repeat(80)}" status:in_world,stopped,failed -kind:irc`;
  for (const width of [360, 768, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [view, typed] of [
      ['bots', 'st'],
      ['lines', 'le'],
    ] as const) {
      await show(page, view === 'bots' ? '#/bots' : '#/log');
      const box = page.getByLabel(`Search ${view}`);
      await box.fill(`${long} ${typed}`);
      await page.locator('.offers [role=option]').first().waitFor();
      await page.locator('.term').nth(2).waitFor();
      await page.evaluate(AxeBuilder.source);
      const faults = await page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))",
      );
      expect(faults, `${view} at ${width} px`).toEqual([]);
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(over, `${view} at ${width} px is too wide`).toBe(0);
      await box.fill('');
    }
  }
});
