// Incidents by cause, as an operator finds one fault of many bots, looks at what was beside it, and puts it right.

import AxeBuilder from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { DASHBOARD_KINDS, type Opened, openPage, openWithToken, show } from './dashboard-page.js';

const TRADERS = Array.from({ length: 6 }, (_, n) => `trader-${n + 1}`);
const LOADS = 40;

let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startService({
    config: {
      kinds: [DASHBOARD_KINDS],
      hosts: { count: 2 },
      drills: { enabled: true },
      bots: [
        ...TRADERS.map((id) => ({
          id,
          kind: 'painter',
          config: { greeting: `I am ${id}` },
          restart: { policy: 'never' },
        })),
        ...Array.from({ length: LOADS }, (_, n) => ({
          id: `load-${n}`,
          kind: 'synthetic',
          config: { events_per_second: 0 },
        })),
      ],
    },
  });
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
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const cause = (title: string) => page.locator('.cause', { hasText: title });
const happening = (text: string | RegExp) => page.locator('.happenings li', { hasText: text });
/** Each in other words, for the same cause. */
const fallOf = (id: string, n: number): Promise<unknown> =>
  invoke(service, id, 'fall', { why: `no reply from 10.0.0.${n}:6667 after ${n * 31} ms` });

it('five bots that fail for one cause are one row; all of them are restarted, then stopped', async () => {
  const fallen = TRADERS.slice(0, 5);
  for (const [n, id] of fallen.entries()) await fallOf(id, n + 1);
  await invoke(service, 'trader-6', 'fall', { why: 'out of paint' });

  await page.keyboard.press('g');
  await page.keyboard.press('p');
  const row = cause('no reply from <address> after <n>');
  await row.getByText('5 times').waitFor();
  await row.getByText('5 bots').waitFor();
  await row.getByText('Crash').waitFor();
  await cause('out of paint').getByText('1 time').waitFor();
  await cause('out of paint').getByText('trader-6').waitFor();

  await row.click();
  await page.getByRole('heading', { name: /no reply from <address>/ }).waitFor();
  expect(page.url()).toMatch(/#\/problems\/[0-9a-f]{16}$/);
  await page.locator('.group-bots', { hasText: 'trader-5' }).waitFor();
  await page.getByRole('button', { name: 'Restart all (5 bots)' }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart 5 bots?' });
  await dialog.getByText('trader-1, trader-2, trader-3').waitFor();
  await dialog.getByRole('button', { name: /5 bots/ }).click();
  await page.getByText('5 bots restarted').waitFor();
  await page.locator('.group-bots li', { hasText: 'painting' }).nth(4).waitFor();
  // The other cause is left alone.
  expect((await snapshot(service, 'trader-6')).status).toBe('failed');

  await page.getByRole('button', { name: 'Stop all (5 bots)' }).click();
  await page.getByRole('button', { name: 'Stop 5 bots' }).click();
  await page.getByText('5 bots stopped').waitFor();
  await page.getByRole('button', { name: 'Stop all (0 bots)' }).waitFor();
  await expect.poll(async () => (await snapshot(service, 'trader-1')).desired).toBe('stopped');
});

it('a report has lines with their times, the last in sight, and leads to the log at that moment', async () => {
  await call(service, 'POST', '/api/bots/trader-1/start');
  await invoke(service, 'trader-1', 'print', { text: 'step %n of a long way', times: 30 });
  await invoke(service, 'trader-1', 'fall', { why: 'the long way has an end' });
  await show(page, '#/problems');
  await cause('the long way has an end').click();
  const report = page.locator('.incidents details').first();
  await report.locator('summary').click();
  const lines = report.getByRole('region', { name: 'Last lines' });
  const last = lines.getByText('step 30 of a long way');
  await last.waitFor();
  await expect
    .poll(() => lines.locator('time').last().innerText())
    .toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
  const [top, left] = await page.evaluate<[number, number]>(
    `(({ scrollHeight, clientHeight, scrollTop }) =>
      [scrollTop, scrollHeight - clientHeight - scrollTop])(document.querySelector('.last-lines'))`,
  );
  expect(top).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(1);

  const { json } = await call(service, 'GET', '/api/bots/trader-1/incidents?limit=1');
  const [{ at_ms: at }] = (json as { incidents: [{ at_ms: number }] }).incidents;
  await report.getByRole('link', { name: 'Open the log at this moment' }).click();
  await page.getByRole('heading', { name: 'Log' }).waitFor();
  const query = new URLSearchParams(page.url().split('?')[1]);
  expect(query.get('q')).toBe('bot:trader-1');
  expect(Date.parse(query.get('from') ?? '')).toBeLessThan(at);
  expect(Date.parse(query.get('to') ?? '')).toBeGreaterThan(at);
  await page.locator('.log-row', { hasText: 'step 30 of a long way' }).waitFor();
});

it('beside the incidents are commands, changes, requests, the start of the service, and what went down with a host', async () => {
  await call(service, 'PATCH', '/api/bots/trader-2', { body: { config: { size: 7 } } });
  await call(service, 'POST', '/api/bots/trader-3/start');
  const body = { session_id: ['trader-3', 'trader-4'], command: 'print', args: { text: 'x' } };
  await call(service, 'POST', '/invoke', { body });
  await show(page, '#/problems');
  await happening(/changed trader-2: size/).waitFor();
  await happening(/started .*trader-3/).waitFor();
  await happening(/ran print on .*trader-3/).waitFor();
  await happening(/could not run print on .*trader-4/).waitFor();
  await happening(/the service has started: Drover \d/).waitFor();
  // The first incident of a cause is a link to it.
  await happening('out of paint').getByRole('link', { name: 'out of paint' }).waitFor();

  const hosts = (await call(service, 'GET', '/api/hosts')).json as {
    hosts: { host: number; bots: number }[];
  };
  const { bots } = hosts.hosts.find(({ host }) => host === 0) ?? { bots: -1 };
  await invoke(service, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
  await happening(`${bots} bots went down with host 0`).waitFor();
  const row = cause('bot host <n> was lost');
  await row.getByText(`${bots} bots`).waitFor();
  await row.click();
  await page.getByRole('button', { name: `Restart all (${bots} bots)` }).waitFor();
});

it('while incidents keep coming, one search runs on: what is known is shown, and that the rest is not known yet', async () => {
  const held: (() => void)[] = [];
  // The past alerts are another question.
  await page.route(/\/api\/events\?.*query=(scope|activity)/, async (route) => {
    await new Promise<void>((release) => held.push(release));
    await route.continue();
  });
  await call(service, 'POST', '/api/bots/trader-5/start');
  await invoke(service, 'trader-5', 'print', { text: 'beside the storm' });
  await show(page, '#/problems');
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByText('Searching the journal').waitFor();
  for (let n = 1; n <= 2; n++) {
    await invoke(service, 'trader-5', 'fall', { why: 'a storm' });
    // Each is announced by an error line.
    await cause('a storm')
      .getByText(n === 1 ? '1 time' : `${n} times`)
      .waitFor();
    await call(service, 'POST', '/api/bots/trader-5/start');
    // Before that it has nothing that a command could make fall.
    await eventually(async () => (await snapshot(service, 'trader-5')).status === 'painting', 'it');
  }
  // One for commands, one for what was changed, one for starts of the service.
  expect(held).toHaveLength(3);
  // From the reports, without the journal.
  await happening('bots went down with host 0').waitFor();
  await timeline.getByText('Searching the journal').waitFor();
  expect(await timeline.getByText('Nothing else').count()).toBe(0);
  for (const release of held) release();
  await happening(/ran print on .*trader-5/).waitFor();
  // The next one asks for what is new since, and keeps what it has while it has no answer.
  await expect.poll(() => held.length).toBe(6);
  await happening(/ran print on .*trader-5/).waitFor();
  for (const release of held) release();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

it('the axis has the time in which there were incidents, not the whole day', async () => {
  await show(page, '#/problems');
  await cause('out of paint').waitFor();
  const first = await page.locator('.lane-tick').first().innerText();
  const [hours = 0, minutes = 0] = first.split(':').map(Number);
  const now = await page.evaluate<number>('new Date().getHours() * 60 + new Date().getMinutes()');
  // The tests of this file take some minutes.
  expect((now - hours * 60 - minutes + 1440) % 1440).toBeLessThanOrEqual(121);
});

it('a range of the address is that of the page, and a cause without incidents in it says so', async () => {
  await show(page, '#/problems?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z');
  await page.getByText('No incidents in this time range.').waitFor();
  await show(page, '#/problems/0000000000000000');
  await page.getByText('No incidents with this cause in this time range.').waitFor();
  await page.getByRole('link', { name: 'All problems' }).click();
  await page.locator('.cause').first().waitFor();
});

it('rules that fire and causes are one list under one query, and the old addresses lead to it', async () => {
  const body = { name: 'loads', query: 'kind:synthetic', condition: 'bots', threshold: 1 };
  const { json } = await call(service, 'POST', '/api/rules', {
    body: { ...body, severity: 'warn' },
  });
  await show(page, '#/alerts');
  const alert = page.locator('.cause[data-alert="loads"]');
  await alert.waitFor();
  // It is a problem now: before all that was.
  await expect.poll(() => page.locator('.causes li').first().innerText()).toContain('loads');
  await page.getByRole('combobox', { name: 'Search lines' }).fill('level:error "no reply"');
  await alert.waitFor({ state: 'detached' });
  await cause('no reply from').waitFor();
  await cause('out of paint').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Search lines' }).fill('bot:trader-6');
  await cause('out of paint').waitFor();
  await cause('no reply from').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Search lines' }).fill('scope:nowhere');
  await page.getByText('Nothing in this time range matches the query.').waitFor();
  // What fires now is not of a time that is over.
  await show(page, '#/incidents?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z');
  await page.getByText('No incidents in this time range.').waitFor();
  expect(await alert.count()).toBe(0);
  await call(service, 'DELETE', `/api/rules/${(json as { id: string }).id}`);
});

it('the keyboard alone leads to a cause and back, and the rows can be sorted', async () => {
  await show(page, '#/problems');
  await page.locator('.cause').first().waitFor();
  await page.getByLabel('Sort by').selectOption({ label: 'Most frequent' });
  await expect
    .poll(() => page.locator('.cause').first().innerText())
    .toContain('no reply from <address>');
  expect(page.url()).toContain('sort=count');
  const causes = page.locator('.cause');
  const count = await causes.count();
  expect(count).toBeGreaterThan(1);
  // One stop of the Tab key for all of them.
  expect(await causes.and(page.locator('[tabindex="0"]')).count()).toBe(1);
  await causes.first().focus();
  const focused = (): Promise<number> =>
    page.evaluate("[...document.querySelectorAll('.cause')].indexOf(document.activeElement)");
  for (const [key, at] of [
    ['ArrowDown', 1],
    ['End', count - 1],
    ['ArrowDown', count - 1],
    ['Home', 0],
  ] as const) {
    await page.keyboard.press(key);
    expect(await focused(), key).toBe(at);
  }
  await page.keyboard.press('Tab');
  expect(await focused()).toBe(-1);
  await page.keyboard.press('Shift+Tab');
  expect(await focused()).toBe(0);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /no reply from/ }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await page.locator('.cause').first().waitFor();
});

it('a token that may only read sees the same, and says what it lacks to act', async () => {
  const { token: reading } = await makeToken(service, { scopes: ['read'] });
  const { context, page: other } = await openPage(browser);
  await openWithToken(other, service, reading);
  await show(other, '#/problems');
  await other.locator('.cause', { hasText: 'no reply from' }).click();
  await other
    .getByText(/control/)
    .first()
    .waitFor();
  expect(await other.getByRole('button', { name: /Restart all/ }).count()).toBe(0);
  await context.close();
});

it('a bot in backoff says when its next try is, and which one; it can be tried now', async () => {
  const restart = { max_restarts: 10, backoff_ms: 600_000, backoff_cap_ms: 600_000 };
  const body = { id: 'waiting', kind: 'painter', config: { greeting: 'hi' }, restart };
  await call(service, 'POST', '/api/bots', { body });
  await expect.poll(async () => (await snapshot(service, 'waiting')).status).toBe('painting');
  await invoke(service, 'waiting', 'fall', { why: 'tired' });
  await show(page, '#/bots?q=waiting');
  const text = /next try in \d+ min, attempt 1 of 10/;
  await page.locator('[data-bot=waiting]').getByText(text).waitFor();
  await show(page, '#/bots/waiting');
  await page.getByText(text).waitFor();
  await page.getByRole('button', { name: 'Try now' }).click();
  await page.locator('.view-note .status', { hasText: 'painting' }).waitFor();
  expect(await page.getByText(text).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Try now' }).count()).toBe(0);
  await call(service, 'DELETE', '/api/bots/waiting');
});

it('has no violation of accessibility rules and fits, from 360 to 2560 px, in both themes', async () => {
  await show(page, '#/problems');
  const href = await cause('no reply from').getAttribute('href');
  for (const [width, dark] of [
    [360, false],
    [768, true],
    [1280, false],
    [2560, true],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    for (const address of ['#/problems', href ?? '']) {
      await show(page, address);
      await page.locator('.happenings li').first().waitFor();
      if (address === href) {
        await page.locator('.incidents summary').first().click();
        await page.locator('.last-lines').waitFor();
      }
      const over = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(over, `${address} ${width}`).toBe(0);
      await page.evaluate(AxeBuilder.source);
      const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
      );
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
      expect(found, `${address} ${width}`).toEqual([]);
      if (address === href) await page.locator('.incidents summary').first().click();
    }
  }
});
