// The dashboard's single stream: shared by tabs, interrupted and resumed, across restarts of the service.

import AxeBuilder from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call, exchangePin } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import { freePort } from '../harness/ports.js';
import { Relay } from '../harness/relay.js';
import { makeDir, removeDir, type Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

let browser: Browser;
const dataDir = makeDir();
let service: Service;
let token: string;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({
    dataDir,
    port: await freePort(),
    config: { stream: { retry_ms: 200, heartbeat_ms: 1000 }, drills: { enabled: true } },
  });
  token = await service.token();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  removeDir(dataDir);
});

/** Only this bot: lines of others would push its lines out of view. */
const LOG = '#/log?q=bot:painter-1';

async function openStreams(of = service): Promise<number> {
  const { json } = await call(of, 'GET', '/api/pressure', { token: await of.token() });
  return (json as { streams: { open: number } }).streams.open;
}

const print = (text: string) => invoke(service, 'painter-1', 'print', { text });

/** Shared workers of this service's dashboard, across all pages of the browser. */
async function workers(of = service): Promise<number> {
  const debug = await browser.newBrowserCDPSession();
  const { targetInfos } = await debug.send('Target.getTargets');
  await debug.detach();
  return targetInfos.filter(({ type, url }) => type === 'shared_worker' && url.startsWith(of.url))
    .length;
}

async function seesLine(page: Page, text: string): Promise<void> {
  await page.locator('.log-row', { hasText: text }).first().waitFor();
}

/** Text of the log's rows, from top to bottom. While the log follows, the page reuses the elements of old rows. */
function rowTexts(page: Page): Promise<string[]> {
  return page.locator('.log-row .cell-message, .gap-mark').evaluateAll((all) =>
    all
      .map((row) => ({ top: row.getBoundingClientRect().top, text: row.textContent ?? '' }))
      .sort((a, b) => a.top - b.top)
      .map(({ text }) => text),
  );
}

/** Another tab of the same browser. */
async function anotherTab(context: BrowserContext, of = service): Promise<Page> {
  const page = await context.newPage();
  // No stored token: the other tabs provide one.
  await page.goto(`${of.url}/${LOG}`);
  await page.locator('[data-connection=open]').waitFor();
  return page;
}

describe.each([
  ['in a shared worker', '', 1],
  [
    'led by one of the tabs, where there are no shared workers',
    'delete globalThis.SharedWorker',
    0,
  ],
])('one stream for all tabs, %s', (_, without, workerCount) => {
  it('is shared, also with tabs opened later, and outlives the tab that opened it', async () => {
    const { context, page, complaints } = await openPage(browser);
    if (without !== '') await context.addInitScript(without);
    await openWithToken(page, service, token);
    await show(page, LOG);
    const second = await anotherTab(context);
    const third = await anotherTab(context);
    await print(`heard by all${without}`);
    for (const tab of [page, second, third]) await seesLine(tab, `heard by all${without}`);
    await expect.poll(openStreams).toBe(1);
    await expect.poll(workers).toBe(workerCount);
    await page.close();
    await second.locator('[data-connection=open]').waitFor();
    await expect.poll(openStreams).toBe(1);
    await print(`heard by two${without}`);
    for (const tab of [second, third]) await seesLine(tab, `heard by two${without}`);
    // Signing out in one tab signs out all tabs.
    await show(third, '#/overview');
    expect(complaints).toEqual([]);
    await context.close();
    await expect.poll(openStreams).toBe(0);
  });
});

it('a network that is dead is said soon, though nothing breaks; the page reconnects when it is back', async () => {
  const relay = await Relay.before(service.port);
  const { context, page } = await openPage(browser);
  await page.goto(`${relay.url}/#token=${encodeURIComponent(token)}`);
  await page.locator('[data-connection=open]').waitFor();
  relay.hang();
  // After a minute at the latest it has always been said: a test waits less.
  await page.locator('[data-connection=waiting]').waitFor();
  await page.getByText('Connection lost.').waitFor();
  relay.wake();
  await page.locator('[data-connection=open]').waitFor();
  await context.close();
});

it('a slow network is not live: the page says how far behind it is, until it is not', async () => {
  const relay = await Relay.before(service.port);
  const { context, page } = await openPage(browser);
  await page.goto(`${relay.url}/#token=${encodeURIComponent(token)}`);
  await page.locator('[data-connection=open][data-late=false]').waitFor();
  relay.slow(60_000);
  const flood = { text: 'far away', times: 300, repeat: 20 };
  const behind = page.locator('[data-connection=open][data-late=true]', {
    hasText: /\d+ s behind/,
  });
  const isBehind = behind.waitFor();
  let isOver = false;
  const flooding = (async () => {
    while (!isOver) await invoke(service, 'painter-1', 'print', flood);
  })();
  await isBehind;
  isOver = true;
  await flooding;
  relay.slow(Number.POSITIVE_INFINITY);
  await page.locator('[data-connection=open][data-late=false]').waitFor();
  await context.close();
});

it('makes another tab the leader when the leader hangs', async () => {
  const { context, page } = await openPage(browser);
  await context.addInitScript('delete globalThis.SharedWorker');
  await openWithToken(page, service, token);
  await show(page, LOG);
  const second = await anotherTab(context);
  await print('while the first leads');
  await seesLine(second, 'while the first leads');
  // The debugger freezes the tab, as browsers freeze background tabs: not one statement runs.
  const debug = await context.newCDPSession(page);
  await debug.send('Debugger.enable');
  const paused = new Promise((resolve) => debug.once('Debugger.paused', resolve));
  await debug.send('Debugger.pause');
  await paused;
  await print('while the first hangs');
  await seesLine(second, 'while the first hangs');
  await debug.send('Debugger.disable');
  await expect.poll(openStreams).toBe(1);
  await print('when it is awake again');
  for (const tab of [page, second]) await seesLine(tab, 'when it is awake again');
  for (const tab of [page, second]) {
    expect(await tab.locator('.log-row', { hasText: 'while the first' }).count()).toBe(2);
  }
  await context.close();
});

it('works without the shared worker when it does not load', async () => {
  const { context, page } = await openPage(browser);
  // A classic worker with the same name makes the browser refuse the module worker.
  await context.addInitScript(`
    const Real = SharedWorker;
    globalThis.SharedWorker = class {
      constructor(url, options) {
        new Real(url, { ...options, type: 'classic' });
        return new Real(url, options);
      }
    };
  `);
  await openWithToken(page, service, token);
  await show(page, LOG);
  const second = await anotherTab(context);
  await print('heard without a worker');
  for (const tab of [page, second]) await seesLine(tab, 'heard without a worker');
  await expect.poll(openStreams).toBe(1);
  await context.close();
});

it('marks a gap at its position', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, token);
  await show(page, '#/log?q=%22side+of+the+gap%22');
  await print('this side of the gap');
  await seesLine(page, 'this side of the gap');
  await invoke(service, null, 'drill', { kill: 'broadcaster' });
  await page.locator('.row-gap', { hasText: 'may be missing here' }).last().waitFor();
  await print('that side of the gap');
  await seesLine(page, 'that side of the gap');
  const rows = await rowTexts(page);
  expect(rows.slice(-3)).toEqual([
    'this side of the gap',
    expect.stringContaining('missing'),
    'that side of the gap',
  ]);
  await context.close();
});

it('signs out all tabs together', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, await exchangePin(service));
  const second = await anotherTab(context);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await second.getByLabel('Digit 1 of 6').waitFor();
  await context.close();
});

it('uses the clock of the service when its own is an hour ahead', async () => {
  const { context, page } = await openPage(browser);
  // The tab's own hub: the clock of a worker cannot be set.
  await context.addInitScript(`
    delete globalThis.SharedWorker;
    delete Navigator.prototype.locks;
    const now = Date.now.bind(Date);
    Date.now = () => now() + 3_600_000;
  `);
  await openWithToken(page, service, token);
  await page.getByText("This machine's clock is 1 h ahead of the service's").waitFor();
  await show(page, '#/bots');
  await expect
    .poll(() => page.locator('[data-bot=demo-1] .cell-since').innerText())
    .toMatch(/^\d+ (s|min)$/);
  await context.close();
});

it('shows the current state after the tab was frozen', async () => {
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, token);
  await show(page, '#/log');
  // A tab that is not drawn reads nothing.
  await page.evaluate(`{
    const held = [];
    const real = requestAnimationFrame;
    globalThis.requestAnimationFrame = (callback) => held.push(callback);
    globalThis.wake = () => {
      globalThis.requestAnimationFrame = real;
      for (const callback of held) real(callback);
    };
  }`);
  await invoke(service, 'painter-1', 'print', { text: 'while it slept %n', times: 25_000 });
  await print('the last one');
  await page.evaluate('wake()');
  await seesLine(page, 'the last one');
  expect(await page.locator('.log-row', { hasText: 'the last one' }).count()).toBe(1);
  // The buffer is bounded: 20,000 lines, plus a tenth before it is trimmed.
  const foot = await page.locator('.log-foot').innerText();
  expect(foot).toContain('scroll up for older lines');
  expect(Number(foot.replaceAll(',', '').match(/^\d+/)?.[0])).toBeLessThanOrEqual(22_000);
  await context.close();
});

it('has no serious accessibility violation in any view, in light and dark', async () => {
  for (const dark of [false, true]) {
    const { context, page, complaints } = await openPage(browser, { dark });
    await page.goto(service.url);
    await page.getByLabel('Digit 1 of 6').waitFor();
    await holdAgainstAxe(page, 'sign-in');
    await openWithToken(page, service, token);
    await print('\u001b[33mcolours\u001b[0m \u001b[90mgrey\u001b[0m');
    await invoke(service, 'painter-1', 'print', { text: 'bad', level: 'error' });
    // More than its list of statuses has room for.
    await invoke(service, 'painter-1', 'flicker', { times: 20 });
    for (const href of [
      '#/overview',
      '#/bots',
      '#/bots/painter-1',
      '#/bots/demo-1',
      '#/bots/painter-1?tab=incidents',
      '#/bots/painter-1?tab=config',
      '#/log',
      '#/tokens',
      '#/settings',
    ]) {
      await show(page, href);
      await page.locator('main .page, main .list, main .bot-part').first().waitFor();
      await holdAgainstAxe(page, href);
    }
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'New bot' }).click();
    await holdAgainstAxe(page, 'new bot');
    expect(complaints).toEqual([]);
    await context.close();
  }
});

it('reconnects all tabs after the service was killed and restarted, with a shared worker', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const options = { dataDir: dir, port: await freePort() };
  let own = await startForDashboard(options);
  const { context, page, complaints } = await openPage(browser);
  await openWithToken(page, own, await own.token());
  const tabs = [page, await anotherTab(context, own)];
  for (const tab of tabs) await show(tab, LOG);
  await expect.poll(() => workers(own)).toBe(1);
  await invoke(own, 'painter-1', 'print', { text: 'before the kill' });
  for (const tab of tabs) await seesLine(tab, 'before the kill');
  await own.kill();
  for (const tab of tabs) await tab.getByText(/Reconnecting in \d+ s|Reconnecting…/).waitFor();
  own = await startForDashboard(options);
  // Unless it has reconnected by itself meanwhile. One tab reconnects for all.
  const isOpen = page.locator('[data-connection=open]');
  await page.getByRole('button', { name: 'Reconnect now' }).or(isOpen).first().click();
  for (const tab of tabs) await tab.locator('[data-connection=open]').waitFor();
  const say = () => invoke(own, 'painter-1', 'print', { text: 'after the kill' });
  await expect.poll(async () => (await say()).status).toBe(200);
  for (const tab of tabs) await seesLine(tab, 'after the kill');
  await expect.poll(() => openStreams(own)).toBe(1);
  await expect.poll(() => workers(own)).toBe(1);
  expect(complaints).toEqual([]);
  await context.close();
});

// This test comes last: the harness stops a service with the test that started it.
it('shows that the service is gone, and continues when it is back', async () => {
  const { context, page, complaints } = await openPage(browser);
  // The page itself opens the stream, because the test can delay a page's requests.
  await context.addInitScript('delete globalThis.SharedWorker');
  await openWithToken(page, service, token);
  await show(page, LOG);
  await print('before');
  await seesLine(page, 'before');
  const second = await anotherTab(context);
  await show(second, '#/bots/painter-1?tab=config');
  await second.getByLabel('size').fill('8');
  const { port } = service;
  await service.kill();
  await page.getByText(/Reconnecting in \d+ s|Reconnecting…/).waitFor();
  // Screen readers announce it once. The countdown is visual only.
  const said = await page
    .locator('main [role=status]', { hasText: 'Connection lost' })
    .ariaSnapshot();
  expect(said).toContain('The data on this page may be out of date.');
  expect(said).not.toMatch(/Reconnecting/);
  await show(page, '#/bots/painter-1?tab=config');
  await page.locator('.bot-part .unanswered', { hasNotText: 'Loading' }).waitFor();
  service = await startForDashboard({ dataDir, port, config: { drills: { enabled: true } } });
  // Unless it has reconnected by itself meanwhile.
  const isOpen = page.locator('[data-connection=open]');
  await page.getByRole('button', { name: 'Reconnect now' }).or(isOpen).first().click();
  await isOpen.waitFor();
  // The failed request is repeated now, and typed text survives it.
  expect(await page.getByLabel('size').inputValue()).toBe('3');
  expect(await second.getByLabel('size').inputValue()).toBe('8');
  await show(page, LOG);
  await expect.poll(async () => (await print('after')).status).toBe(200);
  await seesLine(page, 'after');
  await show(page, '#/bots');
  await page.locator('[data-bot=demo-1] .status', { hasText: 'in_world' }).waitFor();
  // The earlier line is still present.
  await show(page, LOG);
  await seesLine(page, 'before');

  // Again with a clean shutdown: no line from the page's disconnected time is missing.
  await show(page, '#/log?q=%22of+the+run%22');
  const run = (n: number) => invoke(service, 'painter-1', 'print', { text: `${n} of the run` });
  for (const n of [1, 2, 3]) await run(n);
  await seesLine(page, '3 of the run');
  let letThrough = () => {};
  const held = new Promise<void>((resolve) => {
    letThrough = resolve;
  });
  const isStream = ({ pathname }: URL) => pathname === '/events';
  await page.route(isStream, async (route) => {
    await held;
    await route.continue();
  });
  await service.stop();
  service = await startForDashboard({ dataDir, port });
  await expect.poll(async () => (await run(4)).status).toBe(200);
  for (const n of [5, 6]) await run(n);
  letThrough();
  await page.locator('[data-connection=open]').waitFor();
  await run(7);
  await seesLine(page, '7 of the run');
  const rows = await rowTexts(page);
  expect(rows.slice(rows.indexOf('1 of the run'))).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((n) => `${n} of the run`),
  );
  expect(complaints).toEqual([]);
  await context.close();
});

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

async function holdAgainstAxe(page: Page, where: string): Promise<void> {
  // Through the debugger, which the page's content security policy does not restrict.
  await page.evaluate(AxeBuilder.source);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as Violation[];
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`)
          .join('\n')}`,
    );
  expect(serious, where).toEqual([]);
}
