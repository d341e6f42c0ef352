// Who uses the dashboard: sign-in with a token and with a link, what the list of tokens says of each, and "who am I".

import AxeBuilder from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call, exchangePin } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import { makeLink, makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

const KEPT = "sessionStorage.getItem('drover.token')";

let browser: Browser;
let service: Service;
let context: BrowserContext;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  ({ context, page, complaints } = await openPage(browser));
  onTestFinished(() => context.close());
});

const statusOf = async (token: string): Promise<number> =>
  (await call(service, 'GET', '/api-info', { token })).status;
const isSignedIn = (tab: Page): Promise<void> => tab.locator('[data-connection=open]').waitFor();

/** A browser of somebody else. */
async function anotherBrowser(): Promise<Page> {
  const other = await openPage(browser);
  onTestFinished(() => other.context.close());
  return other.page;
}

it('signs in with a token, says so when it is wrong, and does not revoke it with the sign-out', async () => {
  const { token } = await makeToken(service, { name: 'nightly', scopes: ['read'] });
  await page.goto(service.url);
  await page.getByRole('button', { name: 'Sign in with a token' }).click();
  const field = page.getByLabel('Token');
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('sign-in-token');
  for (const [wrong, says] of [
    [token.slice(1), 'Wrong token: the service does not know it'],
    [`${token} ${token}`, 'This is not a token'],
  ] as const) {
    await page.keyboard.press('Control+A');
    await page.keyboard.type(wrong);
    await page.keyboard.press('Enter');
    await page.locator('.sign-in-state .fault').getByText(says).waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
  }
  await page.keyboard.press('Control+A');
  await page.keyboard.type(` ${token}`);
  await page.getByLabel('Keep me signed in').check();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await isSignedIn(page);
  expect(await page.evaluate<string>("localStorage.getItem('drover.token')")).toBe(token);

  await page.getByRole('button', { name: 'Sign out' }).click();
  const question = page.getByRole('dialog', { name: 'Sign out' });
  await question.getByText('nightly').waitFor();
  await question.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
  expect(await statusOf(token)).toBe(200);
  expect(complaints).toEqual([]);
});

it('makes a link that signs another browser in, once, and leaves nothing of it in the address', async () => {
  await openWithToken(page, service, await exchangePin(service));
  await show(page, '#/tokens');
  await page.getByRole('heading', { name: 'Tokens' }).waitFor();
  await page.keyboard.press('i');
  const form = page.getByRole('dialog', { name: 'New sign-in link' });
  await form.getByLabel('Name').fill('Ada');
  await form.getByLabel('invoke').check();
  await page.keyboard.press('Enter');
  const made = page.getByRole('dialog', { name: 'Sign-in link for Ada' });
  await made.getByText('expires in').waitFor();
  const url = await made.locator('[data-created]').innerText();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await made.getByRole('button', { name: 'Copy' }).click();
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(url);
  await made.getByRole('button', { name: 'Done' }).click();

  const other = await anotherBrowser();
  const requests: string[] = [];
  other.on('request', (request) => {
    requests.push(`${request.url()} ${JSON.stringify(request.headers())}`);
  });
  await other.goto(url);
  const offer = other.locator('[data-invitation]');
  await offer.getByText('made a link that signs you in').waitFor();
  expect(await offer.innerText()).toMatch(
    /^pin \(node\) made a link .*Name\s+Ada\s+Scopes\s+read\s+invoke\s+Bots\s+all bots\s+Link expires\s+in /s,
  );
  expect(other.url()).toBe(`${service.url}/#/overview`);
  // The button has the focus.
  await other.keyboard.press('Enter');
  await isSignedIn(other);
  await other.getByRole('button', { name: 'Ada' }).waitFor();
  const link = url.slice(url.indexOf('=') + 1);
  expect(requests.filter((request) => request.includes(link))).toEqual([]);
  expect(await other.evaluate('history.length')).toBe(2);
  await other.goBack();
  expect(other.url()).not.toContain(link);

  const late = await anotherBrowser();
  await late.goto(url);
  await late.getByText('has already been used').waitFor();
  await late.getByLabel('Digit 1 of 6').waitFor();
  await page.locator('[data-token=Ada]').getByText('with a link from pin').waitFor();
});

it('asks before a link replaces the session, and ends the sign-in that it replaces', async () => {
  const before = await exchangePin(service);
  await openWithToken(page, service, before);
  const { link } = await makeLink(service, { name: 'Grace' });
  const open = (one: string): Promise<unknown> =>
    page.evaluate(`location.hash = ${JSON.stringify(`sign-in=${one}`)}`);
  await open(link);
  const question = page.getByRole('dialog', { name: 'Sign in with this link?' });
  await question.getByText('Grace').waitFor();
  expect(page.url()).toBe(`${service.url}/#/overview`);
  await question.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.evaluate<string>(KEPT)).toBe(before);
  // It was not used.
  await open(link);
  await question.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Grace' }).waitFor();
  await isSignedIn(page);
  await expect.poll(() => statusOf(before)).toBe(401);
  const own = await page.evaluate<string>(KEPT);
  await open(link);
  await page.getByText('has already been used').waitFor();
  expect(await page.evaluate<string>(KEPT)).toBe(own);
  // Made by signing in: it ends with the sign-out.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await statusOf(own)).toBe(401);
});

it('says who is signed in and what they may do, and which token is used where', async () => {
  const { token } = await makeToken(service, {
    name: 'one bot',
    scopes: ['read', 'control'],
    bots: ['painter-1'],
  });
  await openWithToken(page, service, token);
  await page.getByRole('button', { name: 'one bot' }).click();
  const card = page.getByRole('dialog', { name: 'Who am I' });
  const facts = card.locator('[data-who-am-i]');
  await facts.waitFor();
  expect(await facts.innerText()).toMatch(
    /Name\s+one bot\s+Scopes\s+read\s+control\s+Bots\s+painter-1\s+Created\s+.* ago by pin \(node\)\s+Expires\s+never\s+Signed in as\s+Chrome on Linux, 127\.0\.0\.1/s,
  );
  await page.keyboard.press('Escape');
  await expect.poll(() => card.count()).toBe(0);

  const other = await anotherBrowser();
  await openWithToken(other, service, await exchangePin(service));
  await show(other, '#/tokens');
  const own = other.locator('tr', { hasText: 'this browser' });
  await own.getByText('Chrome on Linux, 127.0.0.1').waitFor();
  expect(await own.innerText()).toMatch(/with the PIN.*in (29|30) d.*if unused/s);
  const first = other.locator('[data-token="one bot"]');
  expect(await first.innerText()).toMatch(/by pin.*Chrome on Linux, 127\.0\.0\.1.*never/s);
  await other.getByRole('button', { name: 'pin' }).first().click();
  await other.getByText('may do everything').waitFor();
});

it('has no serious accessibility violation where people sign in, in light and dark, wide and narrow', async () => {
  const check = async (tab: Page, where: string): Promise<void> => {
    await tab.evaluate(AxeBuilder.source);
    const found = await tab.evaluate<string[]>(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`,
    );
    expect(found, where).toEqual([]);
    // Nothing is cut off at the side.
    expect(await tab.evaluate('document.documentElement.scrollWidth - innerWidth'), where).toBe(0);
  };
  for (const [dark, width] of [
    [false, 1440],
    [true, 390],
  ] as const) {
    const own = await openPage(browser, { dark, width });
    const { page: tab } = own;
    await tab.goto(service.url);
    await tab.getByRole('button', { name: 'Sign in with a token' }).click();
    await tab.getByLabel('Token').fill('x');
    await tab.keyboard.press('Enter');
    await tab.locator('.sign-in-state .fault').waitFor();
    await check(tab, 'token');
    const { link } = await makeLink(service, { labels: { team: 'art' } });
    await tab.goto(`${service.url}/#sign-in=${link}`);
    await tab.locator('[data-invitation]').waitFor();
    await check(tab, 'link');
    await openWithToken(tab, service, await exchangePin(service));
    await tab.getByRole('button', { name: 'pin' }).click();
    await tab.locator('[data-who-am-i]').waitFor();
    await check(tab, 'who am I');
    const tooWide =
      "[...document.querySelectorAll('dialog button')].filter((one) => one.scrollWidth > one.clientWidth).length";
    expect(await tab.evaluate(tooWide), 'buttons with text that does not fit in').toBe(0);
    await tab.keyboard.press('Escape');
    await show(tab, '#/tokens');
    await tab.locator('[data-token]').first().waitFor();
    await check(tab, 'tokens');
    await own.context.close();
    expect(own.complaints).toEqual([]);
  }
});
