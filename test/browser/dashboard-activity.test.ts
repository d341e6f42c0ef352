// Who did what: the name at the sign-in, the list of activities, and their marks on the time axis.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, show, signIn, startForDashboard } from './dashboard-page.js';

const MANY = Array.from({ length: 12 }, (_, n) => `many-${n}`);

let browser: Browser;
let service: Service;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
  for (const id of MANY) {
    const body = { id, kind: 'synthetic', config: { events_per_second: 0 } };
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
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const row = (text: string) => page.locator('.activities li', { hasText: text });

it('who restarted many bots is found in the menu, and which they were', async () => {
  const { token } = await makeToken(service, { name: 'deploy', scopes: ['control'] });
  await call(service, 'POST', '/api/bots/actions', {
    token,
    body: { action: 'restart', ids: [...MANY, 'gone'] },
  });
  await page.goto(`${service.url}/`);
  await page.getByLabel('Your name').fill('Grace');
  await signIn(page, service);
  await page.getByRole('link', { name: 'Activity' }).click();
  const restart = row('deploy restarted 13 bots');
  await restart.getByText('1 of them failed').waitFor();
  await restart.getByText('The bots').click();
  await restart.getByText('many-11').waitFor();
  await row('Grace signed in').waitFor();
});

it('a change shows what was before, and a query selects by who did it', async () => {
  await page.goto(`${service.url}/`);
  await page.getByLabel('Your name').fill('Ada');
  await signIn(page, service);
  const { token } = await makeToken(service, { name: 'Tuner', scopes: ['admin'] });
  await call(service, 'PATCH', '/api/bots/many-3', {
    token,
    body: { config: { events_per_second: 7 } },
  });
  await show(page, '#/activity?q=actor:Tuner');
  const change = row('Tuner changed many-3');
  await change.getByText('What changed').click();
  await change.locator('[data-change="config.events_per_second"]').getByText('7').waitFor();
  expect(await row('signed in').count()).toBe(0);
  await show(page, '#/log');
  await page.locator('.histogram-done[title="Tuner changed many-3"]').waitFor();
  // The browser keeps the name.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await page.getByLabel('Your name').inputValue()).toBe('Ada');
});
