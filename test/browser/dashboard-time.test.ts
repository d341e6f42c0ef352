// The time range of the page, used as a person would: typed, picked, brushed; the herd of a past moment; the lines around a line.

import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import { pastPage } from '../harness/history.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { DASHBOARD_KINDS, type Opened, openPage, openWithToken, show } from './dashboard-page.js';

const PAINTERS = ['painter-1', 'painter-2', 'painter-3'];

let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;
/** When each thing happened, in ms: seconds lie between them. */
let early: number;
let fell: number;
let late: number;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startService({
    config: {
      kinds: [DASHBOARD_KINDS],
      bots: PAINTERS.map((id) => ({
        id,
        kind: 'painter',
        config: { greeting: `I am ${id}` },
        restart: { max_restarts: 0 },
      })),
    },
  });
  token = await service.token();
  const all = async () => Promise.all(PAINTERS.map((id) => snapshot(service, id)));
  await eventually(
    async () => (await all()).every(({ status }) => status === 'painting'),
    'the painters paint',
  );
  // They do so at the beginning of the second in which the first line is.
  await untilAfter(Math.max(...(await all()).map(({ since_ms }) => since_ms)) + 1000);
  early = await print('an early brush');
  await untilAfter(early + 3000);
  await invoke(service, 'painter-2', 'fall', { why: 'the easel broke' });
  await eventually(
    async () => (await snapshot(service, 'painter-2')).status === 'failed',
    'it has fallen',
  );
  fell = (await snapshot(service, 'painter-2')).since_ms;
  await untilAfter(fell + 3000);
  late = await print('a late brush');
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

/** @returns the time of the line. */
async function print(text: string): Promise<number> {
  await invoke(service, 'painter-1', 'print', { text });
  let at: number | undefined;
  await eventually(async () => {
    const { events } = await pastPage(service, `?q=${encodeURIComponent(text)}&event=log`);
    at = events.find(({ data }) => data.message === text)?.data.timestamp_ms;
    return at !== undefined;
  }, `the line ${text}`);
  return at as number;
}

async function untilAfter(ms: number): Promise<void> {
  while (Date.now() <= ms) await new Promise((resolve) => setTimeout(resolve, ms - Date.now() + 1));
}

/** As the page shows it: `14:02:11`. */
function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' });
}

const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const second = (ms: number): number => Math.floor(ms / 1000) * 1000;
const range = (): Locator => page.locator('[data-range]');
const row = (text: string): Locator => page.locator('.log-row', { hasText: text });
const histogram = (): Locator => page.getByRole('slider', { name: 'Lines over time' });
const count = (status: string): Locator => page.locator(`[data-count="${status}"]`);
/** Of the shown moment. A status that was shown keeps its chip when no bot has it any more. */
async function failed(): Promise<number> {
  const [shown = '0'] = await count('failed').allInnerTexts();
  return Number(shown);
}
async function sizeOf(element: Locator): Promise<{ width: number; height: number }> {
  const box = await element.boundingBox();
  if (!box) throw new Error('it is not drawn');
  return box;
}
const parameter = (name: string): string | null =>
  new URLSearchParams(page.url().split('?')[1] ?? '').get(name);

async function type(text: string): Promise<void> {
  await range().waitFor();
  await page.keyboard.press('t');
  await page.getByLabel('Type a time range').fill(text);
  await page.keyboard.press('Enter');
}

it('a range that is typed is what the log shows, until a key brings it back to now', async () => {
  await show(page, '#/log');
  await row('a late brush').first().waitFor();
  await row('an early brush').first().waitFor();
  await type(`${clock(early)} - ${clock(second(early) + 2000)}`);
  await row('a late brush').first().waitFor({ state: 'detached' });
  await row('an early brush').first().waitFor();
  expect(parameter('from')).toBe(iso(second(early)));
  expect(parameter('to')).toBe(iso(second(early) + 2000));
  await page.locator('[data-top=end]', { hasText: 'of the range' }).waitFor();
  // What is new is not in it.
  await print('meanwhile');
  expect(await row('meanwhile').count()).toBe(0);
  await page.goBack();
  await row('a late brush').first().waitFor();
  await page.goForward();
  await row('a late brush').first().waitFor({ state: 'detached' });
  await page.locator('.log-list').focus();
  await page.keyboard.press('l');
  await row('a late brush').first().waitFor();
  expect(parameter('to')).toBeNull();
  await row('meanwhile').first().waitFor();
});

it('a time that cannot be read is explained, and a preset is one click', async () => {
  await show(page, '#/log');
  await type('25:00');
  await page.getByRole('alert').getByText('“25:00” is not a time').waitFor();
  await page.getByLabel('Type a time range').fill('last 20 min');
  await page.keyboard.press('Enter');
  await expect.poll(() => range().innerText()).toBe('Last 20 min');
  expect(parameter('from')).toBe('-20m');
  await page.getByLabel('Time range: Last 20 min').click();
  await page.getByRole('button', { name: 'Last 1 h' }).click();
  await expect.poll(() => range().innerText()).toBe('Last 1 h');
});

it('a moment opens the log there, with its line', async () => {
  await show(page, '#/log');
  await type(clock(late));
  await page.locator('.log-row.is-active').first().waitFor();
  const [first] = await page.locator('.log-row.is-active .cell-time').allInnerTexts();
  expect(first?.slice(0, 8) ?? '').toBe(clock(late));
  await row('a late brush').first().waitFor();
});

it('the histogram counts what the query selects; a drag over it is a range, a click a moment', async () => {
  const from = second(early) - 2000;
  const to = second(late) + 3000;
  await show(page, `#/log?from=${from}&to=${to}&q=brush`);
  await page.locator('.histogram-said', { hasText: /^[2-9]\d* lines$/ }).waitFor();
  // Another query counts other lines.
  await page.getByLabel('Search lines').fill('level:error "easel broke"');
  await page.locator('.histogram-said', { hasText: /error/ }).waitFor();
  const box = await histogram().boundingBox();
  if (!box) throw new Error('there is no histogram');
  const x = (ms: number): number => box.x + ((ms - from) / (to - from)) * box.width;
  const y = box.y + box.height / 2;
  await page.mouse.move(x(fell - 1500), y);
  await page.mouse.down();
  await page.mouse.move(x(fell), y, { steps: 4 });
  await page.mouse.move(x(fell + 1500), y, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => parameter('from')).toBe(iso(second(fell - 1500)));
  expect(parameter('to')).toBe(iso(second(fell + 1500) + 1000));
  // The query stays.
  await row('easel broke').first().waitFor();
  expect(await row('a late brush').count()).toBe(0);
  await histogram().click();
  await expect.poll(() => parameter('t')).not.toBeNull();
  await page.locator('.histogram-moment').waitFor();
});

it('the histogram has keys', async () => {
  // Its first bars are over: a range that reaches to now has no end.
  const from = second(early) - 60_000;
  await show(page, `#/log?from=${from}&to=${from + 600_000}`);
  await histogram().focus();
  await page.keyboard.press('Home');
  // A whole minute is shown without its seconds.
  const first = clock(Math.floor(from / 10_000) * 10_000).replace(/:00$/, '');
  await expect
    .poll(() => histogram().getAttribute('aria-valuetext'))
    .toMatch(new RegExp(`^${first} to `));
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('t')).not.toBeNull();
  await histogram().focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  await expect.poll(() => parameter('t')).toBeNull();
  const length = Date.parse(parameter('to') ?? '') - Date.parse(parameter('from') ?? '');
  // Two bars.
  expect(length).toBe(20_000);
});

it('the herd shows the states of the moment, the chart and the log go with it, and back', async () => {
  await show(page, `#/log?from=${second(early)}&to=${second(late)}`);
  await row('easel broke').first().waitFor();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  // At the end of the range it had fallen; before it painted.
  await count('failed').getByText('1').waitFor();
  expect(Number(parameter('to'))).toBe(second(late));
  const moment = page.getByRole('slider', { name: 'Moment shown by the herd' });
  await moment.focus();
  await page.keyboard.press('Home');
  await count('painting').getByText('3').waitFor();
  await expect.poll(failed).toBe(0);
  await expect.poll(() => parameter('t')).toBe(iso(second(early)));
  for (let steps = 0; steps < 12 && (await failed()) === 0; steps++) {
    const before = parameter('t');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => parameter('t')).not.toBe(before);
    const at = Date.parse(parameter('t') ?? '');
    await page.locator(`[data-moment="${at}"]`).waitFor();
    await count('all').getByText('3').waitFor();
    // The journal has it a while after the bot's own time.
    if (at < fell) expect(await failed()).toBe(0);
    if (at > fell + 2000) expect(await failed()).toBe(1);
  }
  expect(await failed()).toBe(1);
  await page.getByRole('link', { name: 'Log at this moment' }).click();
  await page.locator('.log-row.is-active').first().waitFor();
  const [first] = await page.locator('.log-row.is-active .cell-time').allInnerTexts();
  expect((first ?? '').slice(0, 8) >= clock(fell)).toBe(true);
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.getByRole('button', { name: 'Live', exact: true }).click();
  await page.locator('.moment output', { hasText: 'now' }).waitFor();
  await count('failed').getByText('1').waitFor();
  expect(parameter('to')).toBeNull();
});

it('what the journal does not know of a moment is said', async () => {
  const before = early - 86_400_000;
  await show(page, `#/overview?from=${before}&to=${before + 60_000}`);
  await page.getByText('Nothing is known about this moment').waitFor();
  await page.getByText(/The journal has all states from .* on/).waitFor();
});

it('a click on the chart is a moment, a drag a range', async () => {
  await show(page, '#/overview?from=-15m');
  const chart = (label: RegExp): Locator =>
    page.getByRole('img', { name: label }).locator('.u-over');
  const live = chart(/last 15 min/);
  const { width } = await sizeOf(live);
  await live.click({ position: { x: width / 2, y: 40 } });
  await expect.poll(() => parameter('t')).not.toBeNull();
  const [from, to, t] = ['from', 'to', 't'].map((name) => Date.parse(parameter(name) ?? ''));
  // In the middle, give or take what is left of a second and of a pixel.
  expect(Math.abs((t ?? 0) - ((from ?? 0) + (to ?? 0)) / 2)).toBeLessThan(5000);
  await page.locator(`[data-moment="${t}"]`).waitFor();
  // That of the range is read, and takes the place of the live one.
  const fixed = chart(/\d – \d/);
  const { width: now } = await sizeOf(fixed);
  await fixed.dragTo(fixed, {
    sourcePosition: { x: now * 0.25, y: 40 },
    targetPosition: { x: now * 0.75, y: 40 },
  });
  await expect.poll(() => parameter('t')).toBeNull();
  const length = Date.parse(parameter('to') ?? '') - Date.parse(parameter('from') ?? '');
  expect(Math.abs(length - 450_000)).toBeLessThan(15_000);
});

it('shows a line with the lines around it, and the filter is still there', async () => {
  await show(page, '#/log?q=easel');
  await row('the easel broke').first().click();
  await page.getByRole('button', { name: 'Lines around' }).click();
  const context = page.getByRole('region', { name: 'Lines around' });
  await context.locator('.log-row', { hasText: 'I am painter-2' }).waitFor();
  await context.locator('.log-row', { hasText: 'the easel broke' }).first().waitFor();
  expect(await context.getByText('I am painter-1').count()).toBe(0);
  expect(await page.getByLabel('Search lines').inputValue()).toBe('easel');
  // The page can be shared as it is.
  await page.reload();
  await context.locator('.log-row', { hasText: 'I am painter-2' }).waitFor();
  await page.keyboard.press('Escape');
  await context.waitFor({ state: 'detached' });
  await row('the easel broke').first().waitFor();
  expect(parameter('q')).toBe('easel');
});

it('has no fault for axe-core, and fits, from 360 to 2560 px, in both themes', async () => {
  const from = second(early);
  const id = (await pastPage(service, '?session=painter-2&event=log&limit=1')).events[0]?.id;
  for (const [width, dark] of [
    [360, false],
    [768, true],
    [1280, true],
    [2560, false],
  ] as const) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await page.setViewportSize({ width, height: 900 });
    for (const href of [
      `#/overview?from=${from}&to=${second(late)}&t=${second(fell)}`,
      `#/log?from=${from}&to=${second(late)}&t=${second(fell)}&q=-level:state`,
      `#/log?around=painter-2:${id}`,
    ]) {
      await show(page, href);
      await page.locator(href.includes('log') ? '.histogram' : '.moment output').waitFor();
      if (href.includes('around')) await page.locator('.line-context .log-row').first().waitFor();
      else {
        await page.keyboard.press('t');
        await page.getByLabel('Type a time range').fill('nonsense');
        await page.keyboard.press('Enter');
        await page.getByRole('alert').waitFor();
      }
      await page.evaluate(AxeBuilder.source);
      const faults = await page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html.slice(0, 200)))",
      );
      expect(faults, `${href} at ${width} px, dark: ${dark}`).toEqual([]);
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(over, `${href} at ${width} px is too wide`).toBe(0);
      await page.keyboard.press('Escape');
    }
  }
}, 300_000);
