// Editing: changes that are kept and named, a look at them before saving, secrets, the history, and one change for many bots.

import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act, snapshot } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

let browser: Browser;
let service: Service;
let ada: string;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
  ada = (await makeToken(service, { name: 'Ada', scopes: ['admin'] })).token;
  for (const id of ['easel-1', 'easel-2', 'easel-3']) {
    const body = { id, kind: 'painter', config: { greeting: 'hi' }, labels: { team: 'art' } };
    await call(service, 'POST', '/api/bots', { body });
  }
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  opened = await openPage(browser, { width: 1280, height: 900 });
  page = opened.page;
  await openWithToken(page, service, ada);
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const change = (path: string): Locator =>
  page.getByRole('list', { name: 'What saving changes' }).locator(`[data-change="${path}"]`);
const save = (): Promise<void> => page.getByRole('button', { name: 'Save' }).click();
const configOf = async (id: string): Promise<{ config: object; secrets: string[] }> =>
  (await call(service, 'GET', `/api/bots/${id}/config`)).json as never;

async function violations(): Promise<string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}

it('unsaved changes are kept while one looks at something else, named there, and seen before they are saved', async () => {
  await show(page, '#/bots/easel-1?tab=config');
  await page.getByLabel('size').fill('7');
  await page.getByLabel('Labels').fill('team=art\nwall=north');
  await expect.poll(() => change('config.size').innerText()).toMatch(/3[\s\S]*7/);
  await expect.poll(() => change('labels.wall').innerText()).toMatch(/none[\s\S]*north/);
  await page.getByRole('heading', { name: '2 unsaved changes' }).waitFor();
  await page.getByRole('tab', { name: /unsaved changes/ }).waitFor();
  await show(page, '#/log');
  await page.locator('[data-draft=easel-1]', { hasText: 'size, labels.wall' }).waitFor();
  await page.getByRole('link', { name: 'easel-1' }).first().click();
  await expect.poll(() => page.getByLabel('size').inputValue()).toBe('7');
  expect(await page.locator('[data-draft]').count()).toBe(0);
  expect(await violations()).toEqual([]);
  await save();
  await page.getByText('easel-1 saved').waitFor();
  expect((await configOf('easel-1')).config).toMatchObject({ size: 7 });
  expect((await snapshot(service, 'easel-1')).labels).toEqual({ team: 'art', wall: 'north' });
  await show(page, '#/log');
  await expect.poll(() => page.locator('[data-draft]').count()).toBe(0);
});

it('unsaved changes are thrown away from where they are named', async () => {
  await show(page, '#/bots/easel-2?tab=config');
  await page.getByLabel('size').fill('9');
  await show(page, '#/settings');
  const draft = page.locator('[data-draft=easel-2]');
  await draft.getByRole('button', { name: 'Discard' }).click();
  await expect.poll(() => draft.count()).toBe(0);
  await show(page, '#/bots/easel-2?tab=config');
  await expect.poll(() => page.getByLabel('size').inputValue()).toBe('3');
});

it('a bot of a fleet says so, and what was changed by hand', async () => {
  const config = { greeting: 'hi' };
  const body = { bots: [{ id: 'framed', kind: 'painter', config, labels: { team: 'art' } }] };
  expect((await call(service, 'POST', '/api/fleet/gallery', { body })).status).toBe(200);
  await show(page, '#/bots/framed');
  const facts = page.locator('.facts');
  await facts.getByText('gallery', { exact: true }).waitFor();
  await call(service, 'PATCH', '/api/bots/framed', { body: { labels: { team: 'x' } } });
  await facts.getByText('gallery · drift', { exact: true }).waitFor();
  await show(page, '#/bots/framed?tab=config');
  await page.getByText('managed by fleet gallery · drift: labels.team').waitFor();
  await call(service, 'POST', '/api/fleet/gallery', { body: { bots: [], prune: true } });
});

it('a secret is set, replaced and removed, and never shown', async () => {
  const secret = 'hunter2-hunter2';
  await show(page, '#/bots/easel-3?tab=config');
  await page.getByRole('button', { name: 'Set secret' }).click();
  await page.getByLabel('secret').fill(secret);
  await expect.poll(() => change('config.secret').innerText()).toMatch(/none[\s\S]*a new value/);
  await save();
  await page.getByRole('button', { name: 'Replace secret' }).waitFor();
  expect((await configOf('easel-3')).secrets).toEqual(['secret']);
  // Who looks for it and changes her mind leaves it.
  await page.getByRole('button', { name: 'Replace secret' }).click();
  expect(await page.getByLabel('secret').inputValue()).toBe('');
  await page.getByRole('button', { name: 'Keep the current one' }).click();
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Remove secret' }).click();
  await expect.poll(() => change('config.secret').innerText()).toMatch(/set[\s\S]*none/);
  await save();
  await page.getByRole('button', { name: 'Set secret' }).waitFor();
  expect((await configOf('easel-3')).secrets).toEqual([]);
  await page.locator('[data-version=Ada]').nth(1).getByText('••• (changed)').waitFor();
  expect(await page.content()).not.toContain(secret);
});

it('the history says who changed what, and what was before is restored after a look at it', async () => {
  await show(page, '#/bots/painter-1?tab=config');
  await page.getByText('No changes in the journal.').waitFor();
  await call(service, 'PATCH', '/api/bots/painter-1', {
    token: (await makeToken(service, { name: 'Grace', scopes: ['control'] })).token,
    body: { config: { greeting: 'good evening', colour: 'green' } },
  });
  await page.getByLabel('size').fill('4');
  await save();
  await expect.poll(() => page.locator('[data-version]').count()).toBe(2);
  const grace = page.locator('[data-version=Grace]');
  await grace.getByText('good evening').waitFor();
  await grace.getByRole('button', { name: /^Restore the earlier state/ }).click();
  await expect
    .poll(() => change('config.greeting').innerText())
    .toMatch(/good evening[\s\S]*good morning/);
  await change('config.size').waitFor();
  expect(await violations()).toEqual([]);
  await save();
  await expect.poll(() => page.locator('[data-version]').count()).toBe(3);
  expect((await configOf('painter-1')).config).toMatchObject({
    greeting: 'good morning',
    colour: 'red',
    size: 3,
  });
});

describe('one change for many bots', () => {
  it('says how many it changes and restarts, shows what became of each, and is tried again for those that failed', async () => {
    await act(service, 'easel-3', 'stop');
    await show(page, '#/bots?q=easel');
    await page.locator('[data-shown="3"]').waitFor();
    await page.getByLabel('Select all shown bots').click();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Choose what to change.').waitFor();
    await dialog.getByLabel('Change words').check();
    await dialog.getByLabel('words', { exact: true }).fill('red\nblue');
    await dialog.getByLabel('Labels').fill('team=school\n-wall');
    await dialog
      .getByText('It changes 3 bots of kind painter. 2 running bots will restart.')
      .waitFor();
    expect(await violations()).toEqual([]);
    // One request fails.
    await page.route('**/api/bots/easel-2', (route) => route.abort(), { times: 1 });
    await dialog.getByRole('button', { name: 'Change 3 bots' }).click();
    await dialog.getByText('3 of 3 answered, 1 failed').waitFor();
    await dialog.locator('[data-answer=easel-1]', { hasText: 'changed' }).waitFor();
    await dialog.getByRole('button', { name: 'Retry 1 failed' }).click();
    await dialog.getByText('3 of 3 answered', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    for (const id of ['easel-1', 'easel-2', 'easel-3']) {
      expect((await configOf(id)).config).toMatchObject({ words: ['red', 'blue'], greeting: 'hi' });
      expect((await snapshot(service, id)).labels).toEqual({ team: 'school' });
    }
    expect((await snapshot(service, 'easel-3')).desired).toBe('stopped');
  });
});
