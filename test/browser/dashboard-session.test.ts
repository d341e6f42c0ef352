// Sign-in to the dashboard, across several tabs and tokens.

import type { Browser, BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call, exchangePin } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import { type Made, makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, signIn, startForDashboard } from './dashboard-page.js';

const KEPT = "sessionStorage.getItem('drover.token')";

let browser: Browser;
let service: Service;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  ({ context, page } = await openPage(browser));
  onTestFinished(() => context.close());
});

const make = (name: string): Promise<Made> => makeToken(service, { name, scopes: ['admin'] });
const statusOf = async (token: string): Promise<number> =>
  (await call(service, 'GET', '/api-info', { token })).status;

/** A page with this token stored from an earlier visit. */
async function keep(place: string, token: string): Promise<void> {
  // A page of the same origin outside the dashboard.
  await page.goto(`${service.url}/health`);
  await page.evaluate(`${place}.setItem('drover.token', ${JSON.stringify(token)})`);
}

it('uses the token of the other tabs, not the one that a tab has stored', async () => {
  const [older, newer] = [await make('older'), await make('newer')];
  await keep('sessionStorage', older.token);
  const other = await context.newPage();
  await openWithToken(other, service, newer.token);
  await page.goto(service.url);
  await page.locator('[data-connection=open]').waitFor();
  // Also after a reload, when no other tab may be left.
  for (const tab of [page, other]) {
    await expect.poll(() => tab.evaluate<string>(KEPT)).toBe(newer.token);
  }
  expect(await statusOf(older.token)).toBe(200);
});

it('explains what to configure when the service does not know the name of the page', async () => {
  // Chromium resolves it to this machine, as a hostile name server would.
  const host = `rebound.localhost:${service.port}`;
  await page.goto(`http://${host}/`);
  await page.getByLabel('Digit 1 of 6').click();
  await page.keyboard.type(service.pin);
  const fault = page.locator('.sign-in-state .fault');
  await fault.getByText('pages at "rebound.localhost"').waitFor();
  expect(await fault.textContent()).toContain('http.allowed_hosts');
});

it.each([
  ['in a shared worker', '', true],
  ['in one of the tabs', 'delete globalThis.SharedWorker', true],
  [
    'in each tab, which then works alone',
    'delete globalThis.SharedWorker; delete Navigator.prototype.locks',
    false,
  ],
])('signs in and out with the stream %s', async (_, without, isOne) => {
  if (without !== '') await context.addInitScript(without);
  await signIn(page, service);
  const second = await context.newPage();
  await second.goto(service.url);
  if (isOne) await second.locator('[data-connection=open]').waitFor();
  else await signIn(second, service);
  // After a reload it is still signed in, regardless of the leader.
  for (const tab of [page, second]) {
    await tab.reload();
    await tab.locator('[data-connection=open]').waitFor();
  }
  await second.getByRole('button', { name: 'Sign out' }).click();
  await second.getByLabel('Digit 1 of 6').waitFor();
  if (isOne) await page.getByLabel('Digit 1 of 6').waitFor();
  await signIn(second, service);
  if (isOne) await page.locator('[data-connection=open]').waitFor();
});

it('opens the view that comes with a token, but no view outside this page', async () => {
  const { token } = await make('one');
  await page.goto(`${service.url}/#token=${encodeURIComponent(token)}&to=%23%2Flog%3Fq%3Dx`);
  await page.locator('[data-connection=open]').waitFor();
  expect(page.url()).toBe(`${service.url}/#/log?q=x`);
  const elsewhere = encodeURIComponent('http://evil.example/#/log');
  await page.goto(`${service.url}/#token=${encodeURIComponent(token)}&to=${elsewhere}`);
  await page.waitForURL(`${service.url}/#/overview`);
  await page.locator('[data-connection=open]').waitFor();
});

it('revokes the stored token that a sign-in replaces', async () => {
  await page.goto(service.url);
  await page.getByLabel('Digit 1 of 6').click();
  // Another tab that does not share its session has signed in meanwhile.
  const before = await exchangePin(service);
  await page.evaluate(`localStorage.setItem('drover.token', ${JSON.stringify(before)})`);
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
  await expect.poll(() => statusOf(before)).toBe(401);
});

it('does not revoke a stored token that was made for others when a sign-in replaces it', async () => {
  await page.goto(service.url);
  await page.getByLabel('Digit 1 of 6').click();
  const before = await make('of a script');
  await page.evaluate(`localStorage.setItem('drover.token', ${JSON.stringify(before.token)})`);
  // It asks what the token is.
  const asked = page.waitForResponse(
    async (response) =>
      response.url().endsWith('/api/tokens/current') &&
      (await response.request().headerValue('authorization')) === `Bearer ${before.token}`,
  );
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
  await asked;
  expect(await statusOf(before.token)).toBe(200);
});

it('keeps the session when the token in the address is not valid', async () => {
  const before = await make('kept');
  await keep('localStorage', before.token);
  await page.goto(`${service.url}/#token=nonsense`);
  await page.getByText('is not valid').waitFor();
  await page.locator('[data-connection=open]').waitFor();
  expect(await page.evaluate<string>(KEPT)).toBe(before.token);
});

it.each([
  ['that the browser has stored', (token: string) => keep('localStorage', token), 401],
  ['that the tab has stored', (token: string) => keep('sessionStorage', token), 200],
  [
    'of another tab',
    async (token: string) => openWithToken(await context.newPage(), service, token),
    200,
  ],
])('asks before the token in the address replaces the session %s', async (_, begin, after) => {
  const [before, handed] = [await exchangePin(service), await make('handed')];
  await begin(before);
  await openWithToken(page, service, handed.token);
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.evaluate<string>(KEPT)).toBe(before);
  // A page that is open already.
  await page.evaluate(`location.hash = ${JSON.stringify(`token=${handed.token}`)}`);
  await page.getByRole('button', { name: 'Switch' }).click();
  await expect.poll(() => page.evaluate<string>(KEPT)).toBe(handed.token);
  await page.locator('[data-connection=open]').waitFor();
  // Only the browser's own token ends; others may still use the token of a tab.
  await expect.poll(() => statusOf(before)).toBe(after);
  expect(await page.evaluate('localStorage.length')).toBe(0);
});

it('uses the token in the address when the stored one has ended', async () => {
  const [before, handed] = [await make('ended'), await make('handed')];
  await keep('localStorage', before.token);
  await call(service, 'DELETE', `/api/tokens/${before.id}`);
  await openWithToken(page, service, handed.token);
  expect(await page.evaluate<string>(KEPT)).toBe(handed.token);
  expect(await page.evaluate('localStorage.length')).toBe(0);
});

it('marks the token of this browser, and warns before it is revoked', async () => {
  const [own, other] = [await make('own'), await make('other')];
  await openWithToken(page, service, own.token);
  await show(page, '#/tokens');
  await page.locator('[data-token=own]').getByText('this browser').waitFor();
  expect(await page.getByText('this browser').count()).toBe(1);
  // In sight at any width.
  for (const width of [700, 960, 1010]) {
    await page.setViewportSize({ width, height: 700 });
    const box = await page.getByRole('button', { name: 'Revoke other' }).boundingBox();
    expect((box?.x ?? width) + (box?.width ?? 0)).toBeLessThan(width);
  }
  await page.getByRole('button', { name: 'Revoke other' }).click();
  expect(await page.getByText('You are signed in with this token').count()).toBe(0);
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('other revoked').waitFor();
  expect(await statusOf(other.token)).toBe(401);
  await page.getByRole('button', { name: 'Revoke own' }).click();
  await page.getByText('You are signed in with this token').waitFor();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await statusOf(own.token)).toBe(401);
});

it('does not repeat at a later sign-out why it started without a token', async () => {
  await page.goto(`${service.url}/#token=nonsense`);
  await page.getByText('is not valid').waitFor();
  await page.getByLabel('Digit 1 of 6').click();
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await page.getByText('is not valid').count()).toBe(0);
  await signIn(page, service);
});

it('hides data of one token from the next, and clears the page at sign-out', async () => {
  await openWithToken(page, service, await service.token());
  await show(page, '#/bots');
  await page.getByLabel('Select painter-1').click();
  await page.locator('[data-selected]').waitFor();
  await show(page, '#/log');
  // A line that belongs to no bot.
  await call(service, 'POST', '/auth/pin', { token: null, body: { pin: 'not one' } });
  await page.locator('.log-row', { hasText: 'auth' }).first().click();
  await page.locator('[data-following=false]').waitFor();
  await page.keyboard.press('Escape');
  const scopes = async (): Promise<string[]> => {
    await page.getByLabel('Search lines').fill('scope:');
    return page.locator('.offers [role=option]').allInnerTexts();
  };
  await expect.poll(scopes).toContain('auth');
  await page.getByLabel('Search lines').fill('');
  const limited = await makeToken(service, {
    name: 'one bot',
    scopes: ['read'],
    bots: ['painter-1'],
  });
  const other = await context.newPage();
  await openWithToken(other, service, limited.token);
  await other.getByRole('button', { name: 'Switch' }).click();
  await expect.poll(() => page.evaluate<string>(KEPT)).toBe(limited.token);
  await expect.poll(() => page.locator('.log-row', { hasText: 'auth' }).count()).toBe(0);
  expect(await scopes()).not.toContain('auth');
  await page.getByLabel('Search lines').fill('');
  // A message that would stay for a few seconds.
  await page.keyboard.press('Escape');
  await page.keyboard.press('c');
  await page.getByText('Select a line first').waitFor();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('button', { name: 'Sign out and revoke' }).click();
  await page.getByLabel('Digit 1 of 6').waitFor();
  expect(await page.getByText('Select a line first').count()).toBe(0);
  await signIn(page, service);
  await show(page, '#/bots');
  await page.getByLabel('Select painter-1').waitFor();
  expect(await page.locator('[data-selected]').count()).toBe(0);
});

it('reports that a token could not be revoked, even when no response arrives', async () => {
  const refuse = (route: Route): Promise<void> => route.abort();
  for (const answer of [refuse, () => {}]) {
    await openWithToken(page, service, (await make('stays')).token);
    await page.getByRole('button', { name: 'stays' }).waitFor();
    await page.route('**/api/tokens/current', answer);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out and revoke' }).click();
    await page.getByLabel('Digit 1 of 6').waitFor();
    await page.getByText('You are signed out here, but the token could not be revoked').waitFor();
    await page.unroute('**/api/tokens/current', answer);
  }
});

it('starts even when the check of its token gets no response', async () => {
  await page.route('**/api-info', () => {});
  await openWithToken(page, service, (await make('unproven')).token);
  expect(await page.getByLabel('Digit 1 of 6').count()).toBe(0);
});
