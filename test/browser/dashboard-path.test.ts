// The dashboard under paths of a proxy, two services on one origin.

import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type PathProxy, startPathProxy } from '../harness/path-proxy.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, show } from './dashboard-page.js';

let browser: Browser;
let one: Service;
let two: Service;
let proxy: PathProxy;
let context: BrowserContext;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [browser, one, two] = await Promise.all([launchChromium(), startService(), startService()]);
  proxy = await startPathProxy({ '/one/': one.port, '/two/deep/': two.port });
});
afterAll(async () => {
  await browser?.close();
  await proxy?.close();
  await Promise.all([one?.stop(), two?.stop()]);
});
beforeEach(async () => {
  ({ context, page, complaints } = await openPage(browser));
  proxy.seen.length = 0;
  onTestFinished(() => context.close());
});

async function signInAt(tab: Page, path: string, { pin }: Service): Promise<void> {
  await tab.goto(`${proxy.origin}${path}`);
  await tab.getByLabel('Digit 1 of 6').click();
  await tab.getByLabel('Keep me signed in').check();
  await tab.getByLabel('Digit 1 of 6').click();
  await tab.keyboard.type(pin);
  await tab.locator('[data-connection=open]').waitFor();
}

const outside = (path: string): string[] =>
  proxy.seen.map((request) => request.path).filter((asked) => !asked.startsWith(path));

it('loads its files, streams, calls and links under the path, with a shared worker and without', async () => {
  await signInAt(page, '/one/', one);
  await show(page, '#/tokens');
  await page.getByText('admin').first().waitFor();
  const alone = await context.newPage();
  await alone.addInitScript('delete globalThis.SharedWorker');
  await alone.goto(`${proxy.origin}/one/#/log`);
  await alone.locator('[data-connection=open]').waitFor();
  expect(outside('/one/')).toEqual([]);
  expect(proxy.seen.map(({ path }) => path.replace(/[?].*/, ''))).toEqual(
    expect.arrayContaining(['/one/', '/one/auth/pin', '/one/events', '/one/api/tokens']),
  );
  expect(complaints).toEqual([]);
});

it('gives the token of one service to no other service of the origin', async () => {
  await signInAt(page, '/one/', one);
  const other = await context.newPage();
  await signInAt(other, '/two/deep/', two);
  await page.reload();
  await page.locator('[data-connection=open]').waitFor();
  await other.reload();
  await other.locator('[data-connection=open]').waitFor();
  const tokens = (path: string): Set<string | undefined> =>
    new Set(
      proxy.seen.filter((request) => request.path.startsWith(path)).map(({ token }) => token),
    );
  const [first, second] = [tokens('/one/'), tokens('/two/deep/')];
  expect([...first].filter((token) => token !== undefined && second.has(token))).toEqual([]);
});

it('the API reference links to the description, whose server is the path', async () => {
  await page.goto(`${proxy.origin}/one/docs`);
  await page.getByRole('link', { name: 'openapi.json', exact: true }).click();
  await page.waitForURL(`${proxy.origin}/one/openapi.json`);
  const { servers } = (await (await fetch(page.url())).json()) as { servers: { url: string }[] };
  const base = new URL(servers[0]?.url ?? '', page.url()).href.replace(/\/$/, '');
  expect(await (await fetch(`${base}/health`)).text()).toBe('ok');
  expect(outside('/one/')).toEqual([]);
});
