// Rules and alerts: a person makes a rule from the query on the page, does other things, and hears of it once.

import AxeBuilder from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import {
  listen,
  type Opened,
  openPage,
  openWithToken,
  show,
  startForDashboard,
} from './dashboard-page.js';

let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;
/** The notifications that all tabs have raised. */
let notified: string[];

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
  token = await service.token();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  opened = await openPage(browser);
  page = opened.page;
  notified = [];
  await opened.context.grantPermissions(['notifications'], { origin: service.url });
  await opened.context.exposeFunction('told', (text: string) => notified.push(text));
  await opened.context.addInitScript(`
    const Real = Notification;
    window.Notification = class extends Real {
      constructor(title, options) {
        super(title, options);
        window.told(title + ': ' + options.body);
      }
    };
  `);
  await openWithToken(page, service, token);
});
afterEach(async () => {
  await opened.context.close();
  const { json } = await call(service, 'GET', '/api/rules');
  for (const { id } of (json as { rules: { id: string }[] }).rules) {
    await call(service, 'DELETE', `/api/rules/${id}`);
  }
  expect(opened.complaints).toEqual([]);
});

const rule = (name: string, state: string, on = page) =>
  on.locator(`[data-rule="${name}"][data-state=${state}]`);
const icon = (on: Page): Promise<string> =>
  on.evaluate("document.querySelector('link[rel=icon]').href");
const print = (text: string, times = 1): Promise<unknown> =>
  invoke(service, 'painter-1', 'print', { text, times, level: 'error' });

it('a rule from the query of the log tells a person once, in each tab and by one notification', async () => {
  const elsewhere = await opened.context.newPage();
  const complaints = listen(elsewhere);
  await elsewhere.goto(service.url);
  await elsewhere.locator('[data-connection=open]').waitFor();
  const ownIcon = await icon(elsewhere);
  await show(page, '#/log?q=level%3Aerror%20paint');
  await page.getByRole('link', { name: 'Alert on this' }).click();
  const dialog = page.getByRole('dialog', { name: 'New rule' });
  expect(await dialog.getByRole('combobox', { name: 'Search lines' }).inputValue()).toBe(
    'level:error paint',
  );
  await dialog.getByLabel('Name').fill('no paint');
  await dialog.getByLabel('At least').fill('2');
  await page.keyboard.press('Enter');
  await rule('no paint', 'ok').waitFor();
  await page.getByRole('button', { name: 'Notify me' }).click();
  await page.getByRole('button', { name: 'Notifications are on' }).waitFor();
  expect(await page.title()).toBe('Problems · Drover');

  await print('out of paint %n', 2);
  await rule('no paint', 'firing').waitFor();
  expect(await page.title()).toBe('(1) Problems · Drover');
  await elsewhere.getByText('1 rule is firing: no paint').waitFor();
  expect(await elsewhere.title()).toBe('(1) Overview · Drover');
  await expect.poll(() => icon(elsewhere)).toMatch(/^data:image\/png;base64,/);
  await expect.poll(() => notified.length).toBe(1);
  expect(notified).toEqual([
    'Drover: rule "no paint" fires: 2 lines in 60 s, at least 2: painter-1',
  ]);
  const history = page.getByRole('region', { name: 'Past alerts' });
  await history.locator('[data-alert=firing]', { hasText: 'rule "no paint" fires' }).waitFor();

  await elsewhere.getByRole('link', { name: 'Show problems' }).click();
  await rule('no paint', 'firing', elsewhere).waitFor();
  await elsewhere.getByRole('button', { name: 'Delete no paint' }).click();
  await elsewhere.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await elsewhere.getByText('No rules yet.').waitFor();
  await expect.poll(() => elsewhere.title()).toBe('Problems · Drover');
  await expect.poll(() => page.title()).toBe('Problems · Drover');
  await expect.poll(() => icon(elsewhere)).toBe(ownIcon);
  await history.locator('[data-alert=resolved]', { hasText: 'rule "no paint" is over' }).waitFor();
  expect(notified.length).toBe(1);
  expect(complaints).toEqual([]);
});

it('with the keyboard: a rule about data of bots, seen wrong, corrected, switched off', async () => {
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await page.getByText('No rules yet.').waitFor();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'New rule' });
  await dialog.waitFor();
  await page.keyboard.type('thirsty');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Bots');
  await page.keyboard.press('Tab');
  await page.keyboard.type('data.water<');
  await page.keyboard.press('Enter');
  await dialog.getByText('data.water< needs a value').waitFor();
  await page.keyboard.type('10');
  await dialog.getByLabel('At least').fill('1.5');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').getByText('must be a whole number').waitFor();
  await dialog.getByLabel('At least').fill('1');
  await page.keyboard.press('Enter');
  await rule('thirsty', 'ok').waitFor();
  await invoke(service, 'painter-1', 'measure', { what: 'water', amount: 3 });
  await rule('thirsty', 'firing').getByRole('link', { name: 'painter-1' }).waitFor();
  // The switch is before the buttons of the row.
  await page.getByRole('checkbox', { name: 'thirsty is on' }).focus();
  await page.keyboard.press('Space');
  await rule('thirsty', 'off').waitFor();
  await expect.poll(() => page.title()).toBe('Problems · Drover');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const edit = page.getByRole('dialog', { name: 'Edit thirsty' });
  expect(await edit.getByRole('combobox', { name: 'Search bots' }).inputValue()).toBe(
    'data.water<10',
  );
  await page.keyboard.press('Escape');
  await edit.waitFor({ state: 'detached' });
  expect(notified).toEqual([]);
});

it('who may only read sees rules and what fires; a token that is limited to some bots is told why not', async () => {
  const body = { name: 'quiet', query: 'nothing says this', condition: 'absence', window_ms: 5000 };
  await call(service, 'POST', '/api/rules', { body });
  const reader = await makeToken(service, { scopes: ['read'] });
  const limited = await makeToken(service, { scopes: ['read', 'control'], bots: ['painter-1'] });
  const other = await openPage(browser);
  await openWithToken(other.page, service, reader.token);
  await show(other.page, '#/problems');
  await rule('quiet', 'firing', other.page).waitFor();
  await other.page.getByText('You need the scope “control” to change rules.').waitFor();
  expect(await other.page.getByRole('button', { name: 'Delete quiet' }).count()).toBe(0);
  await other.context.close();
  const third = await openPage(browser);
  await openWithToken(third.page, service, limited.token);
  await show(third.page, '#/problems');
  await third.page.getByText('Rules apply to all bots, and your token is limited').waitFor();
  expect(await third.page.title()).toBe('Problems · Drover');
  await third.context.close();
});

it.each([
  { width: 360, height: 740, dark: true },
  { width: 2560, height: 1440, dark: false },
])('has no accessibility violation and fits at $width px', async ({ width, height, dark }) => {
  for (const severity of ['error', 'info']) {
    const body = { name: severity, query: 'x', condition: 'absence', window_ms: 5000, severity };
    await call(service, 'POST', '/api/rules', { body });
  }
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  await page.evaluate(AxeBuilder.source);
  const violations = () =>
    page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))",
    );
  await page.getByText('2 rules are firing: error, info').waitFor();
  expect(await violations()).toEqual([]);
  await show(page, '#/problems');
  await rule('info', 'firing').waitFor();
  await page.getByRole('region', { name: 'Past alerts' }).locator('[data-alert]').first().waitFor();
  expect(await violations()).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  await page.getByRole('button', { name: 'Edit error' }).click();
  await page.getByRole('dialog').waitFor();
  expect(await violations()).toEqual([]);
});
