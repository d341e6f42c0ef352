// Operations and rollouts in the page: the list that is live, the steps, the picture of the bots, what a limited token sees.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { makeDir, removeDir, type Service, startService } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show } from './dashboard-page.js';

const COUNT = 12;
const IDS = Array.from({ length: COUNT }, (_, n) => `trader-${n + 1}`);

let kinds: string;
let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;

/** The module of the kind. @param note makes it another version. @param life what a bot does at its start. */
function write(note: string, life = "ctx.setStatus('trading')"): void {
  writeFileSync(
    path.join(kinds, 'trader.mjs'),
    `// ${note}
    export default {
      kind: 'trader', description: 'Buys and sells.', ready: 'trading', state() {}, commands: {},
      config: { type: 'object', properties: { pace: { type: 'number', default: 1 } }, additionalProperties: false },
      async run(ctx) { ${life}; await ctx.sleep(2 ** 30); },
    };`,
  );
}

beforeAll(async () => {
  kinds = makeDir();
  write('first');
  browser = await launchChromium();
  service = await startService({
    config: {
      kinds: [kinds],
      bots: IDS.map((id) => ({
        id,
        kind: 'trader',
        labels: { team: id === 'trader-1' ? 'a' : 'b' },
      })),
    },
  });
  token = await service.token();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  removeDir(kinds);
});
beforeEach(async () => {
  opened = await openPage(browser, { width: 1280, height: 1000 });
  page = opened.page;
  await openWithToken(page, service, token);
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const post = (route: string, body?: unknown) =>
  call(service, 'POST', route, body === undefined ? {} : { body });
const row = (id: string): Locator => page.locator(`[data-operation="${id}"]`);
const state = (text: string): Locator => page.locator('.view-head .tag', { hasText: text });
const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
const picture = (): Locator => page.getByRole('listbox', { name: 'The bots of the operation' });
/** The chip of the legend with so many bots. */
const cells = (text: string, count: number): Locator =>
  page.locator('.herd-chip', { hasText: text }).locator('.chip-count', { hasText: String(count) });

async function violations(): Promise<string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}

/** Restarts all bots, one a minute: it lasts until it is canceled. */
async function beginSlow(): Promise<string> {
  const body = { action: 'restart', ids: IDS, parallel: 1, stagger_ms: 60_000 };
  const { json } = await post('/api/bots/actions?wait=0', body);
  return (json as { operation: { id: string } }).operation.id;
}

async function confirm(step: string): Promise<void> {
  await button(step).click();
  await page.getByRole('dialog').getByRole('button', { name: step, exact: true }).click();
}

it('the list shows an operation as it begins, and how far it is', async () => {
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await page.getByRole('heading', { name: 'Operations' }).waitFor();
  const id = await beginSlow();
  await row(id).getByText('restart 12 bots').waitFor();
  await row(id).getByText('1 done').waitFor();
  await row(id).getByText('11 waiting').waitFor();
  await row(id).locator('.tag', { hasText: 'running' }).waitFor();
  expect(await violations()).toEqual([]);
  await post(`/api/operations/${id}/cancel`);
  // Without a reload: the stream says it.
  await row(id).locator('.tag', { hasText: 'canceled' }).waitFor();
  await row(id).getByText('11 skipped').waitFor();
});

it('an operation is paused, resumed and canceled, and says why bots were skipped', async () => {
  const id = await beginSlow();
  await show(page, `#/operations/${id}`);
  await state('running').waitFor();
  await button('Pause').click();
  await state('paused').waitFor();
  await button('Resume').click();
  await state('running').waitFor();
  await confirm('Cancel the rest');
  await state('canceled').waitFor();
  const reasons = page.locator('.operation-reasons li');
  await expect.poll(() => reasons.count()).toBe(11);
  await reasons.first().getByText('canceled by').waitFor();
  expect(await button('Pause').count()).toBe(0);
});

it('a version that fails is rolled out from its kind: the canaries go back, and the picture shows it', async () => {
  write('second', `throw new Error('the price has no currency')`);
  const kind = page.locator('[data-kind=trader]');
  await kind.getByText('files changed').waitFor();
  await kind.getByText('12 bots').waitFor();
  await kind.getByRole('button', { name: 'Roll out…' }).click();
  await page.getByLabel('Canaries').fill('3');
  expect(await violations()).toEqual([]);
  await button('Start the rollout').click();
  await state('stopped').waitFor();
  await page.getByText('the price has no currency').first().waitFor();
  const back = page.locator('dd', { has: page.locator('a[href*="#/operations/"]') }).first();
  await back.getByText('take back: roll out trader').waitFor();
  await cells('taken back', 3).waitFor();
  await cells('skipped', 9).waitFor();
  // A version that was taken back cannot be taken back again.
  expect(await button('Take back').count()).toBe(0);
  await picture().focus();
  await page.keyboard.press('Control+Home');
  await page.locator('.peek strong', { hasText: 'trader-1' }).waitFor();
  expect(await picture().getByRole('option').getAttribute('aria-label')).toBe(
    'trader-1, taken back',
  );
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'trader-1' }).waitFor();
});

it('a rollout waits after its canaries, is promoted, and is taken back', async () => {
  write('third');
  await page.locator('[data-kind=trader]').getByText('files changed').waitFor();
  await page.locator('[data-kind=trader]').getByRole('button', { name: 'Roll out…' }).click();
  await page.getByLabel('Canaries').fill('2');
  await button('Start the rollout').click();
  await state('waits to be promoted').waitFor();
  await cells('done', 2).waitFor();
  await cells('waiting', 10).waitFor();
  await page.getByText('with the status trading, within 30 s').waitFor();
  expect(await violations()).toEqual([]);
  await confirm('Promote');
  await state('done').waitFor();
  await cells('done', 12).waitFor();
  await confirm('Take back');
  await cells('taken back', 12).waitFor();
  await page.getByRole('link', { name: 'take back: roll out trader' }).click();
  await state('done').waitFor();
  await page.getByText('12 taken back').waitFor();
});

it('a configuration is rolled out to selected bots; what the service refuses is shown', async () => {
  await show(page, '#/bots');
  await page.getByRole('checkbox', { name: 'Select trader-2', exact: true }).click();
  await button('Roll out…').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('New version of trader').uncheck();
  expect(await button('Start the rollout').isDisabled()).toBe(true);
  await dialog.getByLabel('Configuration change').fill('{"pace": "fast"}');
  await button('Start the rollout').click();
  await dialog.getByRole('alert').getByText('config.pace').waitFor();
  await dialog.getByLabel('Configuration change').fill('{"pace": 3}');
  await button('Start the rollout').click();
  await state('done').waitFor();
  await cells('done', 1).waitFor();
});

it('many bots are one operation; one that takes longer has a link to it', async () => {
  await show(page, '#/bots');
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  const requests: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/bots/actions')) requests.push(request.url());
  });
  await page.route('**/api/bots/actions*', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), parallel: 1, stagger_ms: 60_000 };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await button('Restart').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restart 12 bots' }).click();
  await page.locator('.toast', { hasText: 'restart 12 bots' }).getByRole('link').click();
  await state('running').waitFor();
  expect(requests.length).toBe(1);
  await confirm('Cancel the rest');
  // The outcome comes at the end, as for a short one.
  await page.locator('.toast', { hasText: '1 bot restarted' }).waitFor();
  await page.locator('.toast.error', { hasText: 'and 10 more' }).waitFor();
});

it('a kind whose files have changed is reloaded: its bots run two versions once one starts again', async () => {
  const kind = page.locator('[data-kind=trader]');
  await kind.getByRole('button', { name: 'Roll out…' }).waitFor();
  // What was taken back is still on the disk.
  await post('/api/kinds/trader/reload');
  const reload = kind.getByRole('button', { name: 'Reload' });
  await reload.waitFor({ state: 'detached' });
  write('fourth');
  await reload.click();
  await page.getByText('12 bots run another one').waitFor();
  await kind.getByText('not the version for new starts').waitFor();
  await post('/api/bots/trader-5/restart');
  await kind.locator('li', { hasText: '11 bots' }).waitFor();
  await kind.locator('li').getByText('1 bot', { exact: true }).waitFor();
});

it('a token that is limited to some bots sees what is done to them, and cannot steer it', async () => {
  const id = await beginSlow();
  const limited = await makeToken(service, {
    name: 'team a',
    scopes: ['read', 'control'],
    labels: { team: 'a' },
  });
  await opened.context.close();
  opened = await openPage(browser);
  page = opened.page;
  await openWithToken(page, service, limited.token);
  await show(page, '#/operations');
  await row(id).getByText('action: 1 bot of this token').click();
  await cells('done', 1).waitFor();
  await page.locator('[data-herd="1"]').waitFor();
  expect(await button('Pause').count()).toBe(0);
  await post(`/api/operations/${id}/cancel`);
  await state('canceled').waitFor();
});
