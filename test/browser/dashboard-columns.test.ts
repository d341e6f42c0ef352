// Columns of the log, of tokens and of nodes, as a person chooses, moves and resizes them with the mouse, the keyboard and a finger; the
// rows of the log as one stop of the Tab key; and what lies nearby: the palette by touch, close buttons, forms in dialogs.

import { readFileSync } from 'node:fs';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { mockCluster, threeNodes } from './dashboard-cluster.js';
import {
  type OpenOptions,
  openPage,
  openWithToken,
  show,
  startForDashboard,
} from './dashboard-page.js';

const AXE = readFileSync(
  new URL('../../node_modules/axe-core/axe.min.js', import.meta.url),
  'utf8',
);
const LONG = 'a-bot-with-a-name-as-long-as-in-large-herds';

let browser: Browser;
let service: Service;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ demo: false });
  await call(service, 'POST', '/api/bots', {
    body: { id: LONG, kind: 'painter', config: { greeting: 'hello' } },
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(() => open());

async function open(options: OpenOptions = {}): Promise<void> {
  const opened = await openPage(browser, options);
  ({ page, complaints } = opened);
  onTestFinished(() => opened.context.close());
  await openWithToken(page, service, await service.token());
}

async function expectAccessible(): Promise<void> {
  await page.evaluate(AXE);
  const found = await page.evaluate<string[]>(
    'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html)))',
  );
  expect(found).toEqual([]);
  expect(complaints).toEqual([]);
}

const print = (text: string, bot = 'painter-1', level = 'info'): Promise<unknown> =>
  invoke(service, bot, 'print', { text, level });
const log = (): Locator => page.getByRole('grid', { name: 'Lines', exact: true });
const line = (text: string): Locator => page.locator('.log-row', { hasText: text });
const titles = (): Promise<string[]> => page.locator('.sort > span:first-child').allInnerTexts();
const header = (title: string): Locator =>
  page.getByRole('columnheader', { name: title, exact: true });
const width = async (title: string): Promise<number> =>
  (await header(title).boundingBox())?.width ?? 0;
const isCut = (element: Locator): Promise<boolean> =>
  element.evaluate((one) => one.scrollWidth > one.clientWidth);
const openMenu = (): Promise<void> => page.getByLabel('Columns', { exact: true }).click();
const check = (title: string): Locator => page.getByRole('checkbox', { name: title, exact: true });
/** What the arrows have reached: the row, or a value in it. */
const reached = (): Promise<string | null> =>
  page.evaluate<string | null>(
    "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.innerText ?? null",
  );
const isListFocused = (): Promise<boolean> =>
  page.evaluate<boolean>("document.activeElement.classList.contains('log-list')");

it('the columns of the log are chosen, kept, in the address, and reset', async () => {
  await print('to be read');
  await show(page, '#/log?q=bot:painter-1');
  await line('to be read').first().waitFor();
  const usual = ['Time', 'Level', 'Scope', 'Bot', '↔', 'Message'];
  expect(await titles()).toEqual(usual);
  await openMenu();
  await check('Kind').check();
  await check('Scope').uncheck();
  expect(await check('Message').isDisabled()).toBe(true);
  // A single service has no nodes.
  expect(await check('Node').count()).toBe(0);
  await page.getByRole('button', { name: 'Move Kind to the left' }).click();
  await page.keyboard.press('Enter');
  await expectAccessible();
  await page.keyboard.press('Escape');
  const chosen = ['Time', 'Level', 'Bot', 'Kind', '↔', 'Message'];
  await expect.poll(titles).toEqual(chosen);
  await line('to be read').first().locator('.cell-kind', { hasText: 'painter' }).waitFor();
  expect(await page.locator('.log-row .cell-scope').count()).toBe(0);
  expect(new URL(page.url()).hash).toContain('columns=');
  // The log of a bot has the same choice, without what is the same in each of its lines.
  await show(page, '#/bots/painter-1');
  await line('to be read').first().waitFor();
  expect(await titles()).toEqual(['Time', 'Level', '↔', 'Message']);
  await page.reload();
  await show(page, '#/log');
  await expect.poll(titles).toEqual(chosen);
  await openMenu();
  await page.getByRole('button', { name: 'Reset columns and widths' }).click();
  await expect.poll(titles).toEqual(usual);
});

it('the kind beside a line is that of its bot now, also when a bot of another kind has its name', async () => {
  const make = (kind: string, config: object) =>
    call(service, 'POST', '/api/bots', { body: { id: 'same-name', kind, config } });
  expect((await make('painter', { greeting: 'hello' })).status).toBe(201);
  await print('from the painter', 'same-name');
  await show(page, '#/log?columns=time,kind,message');
  const kind = line('from the painter').first().locator('.cell-kind');
  await expect.poll(() => kind.innerText()).toBe('painter');
  expect((await call(service, 'DELETE', '/api/bots/same-name')).status).toBe(204);
  expect((await make('synthetic', {})).status).toBe(201);
  await expect.poll(() => kind.innerText()).toBe('synthetic');
});

it('the columns of the log are chosen with the space key, which does not pause it', async () => {
  await print('still followed');
  await show(page, '#/log');
  await line('still followed').first().waitFor();
  await openMenu();
  await check('Kind').focus();
  await page.keyboard.press('Space');
  await expect.poll(() => check('Kind').isChecked()).toBe(true);
  expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(1);
  await page.keyboard.press('Space');
  await expect.poll(() => check('Kind').isChecked()).toBe(false);
});

it('long names leave the message its room where there is little', async () => {
  await page.setViewportSize({ width: 740, height: 700 });
  await print('what it says', LONG);
  await show(page, '#/log?columns=time,level,scope,bot,event,message');
  const message = line('what it says').first().locator('.cell-message');
  await message.waitFor();
  const row = (await line('what it says').first().boundingBox()) ?? { x: 0, width: 0 };
  const { x, width: wide } = (await message.boundingBox()) ?? { x: 0, width: 0 };
  expect(wide).toBeGreaterThanOrEqual(190);
  expect(x + wide).toBeLessThanOrEqual(row.x + row.width);
});

const isWider = (list: string): Promise<boolean> => isCut(page.locator(list));

it('the columns of bots that nobody has chosen fit, also in a cluster', async () => {
  await page.setViewportSize({ width: 768, height: 800 });
  await show(page, '#/bots');
  await page.locator(`[data-bot=${LONG}]`).waitFor();
  expect(await titles()).toContain('Last line');
  expect(await isWider('.bots-list')).toBe(false);
  await page.setViewportSize({ width: 1440, height: 800 });
  await expect.poll(titles).toContain('Labels');
  expect(await isWider('.bots-list')).toBe(false);

  await mockCluster(page, threeNodes());
  await page.reload();
  await header('Node').waitFor();
  for (const wide of [768, 1001, 1200]) {
    await page.setViewportSize({ width: wide, height: 800 });
    await expect.poll(() => isWider('.bots-list'), { message: `at ${wide}` }).toBe(false);
    expect(await titles()).toContain('Last line');
  }
});

it('the columns of the log are moved and resized with the mouse and the keyboard', async () => {
  await print('wide or narrow');
  // Only it: the columns are as wide as what older lines have, which come later.
  await show(page, '#/log?q=%22wide+or+narrow%22');
  await line('wide or narrow').first().waitFor();
  const was = await width('Scope');
  await header('Scope').getByRole('button').focus();
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => width('Scope')).toBeCloseTo(was + 16, -1);
  await page.keyboard.press('Control+Shift+ArrowLeft');
  await expect.poll(async () => (await titles()).slice(0, 3)).toEqual(['Time', 'Scope', 'Level']);
  // Still on the title that was moved.
  expect(await page.evaluate('document.activeElement.innerText')).toBe('Scope');
  const grip = await header('Bot').locator('.resizer').boundingBox();
  const bot = await width('Bot');
  await page.mouse.move((grip?.x ?? 0) + 4, (grip?.y ?? 0) + 10);
  await page.mouse.down();
  await page.mouse.move((grip?.x ?? 0) + 54, (grip?.y ?? 0) + 10);
  await page.mouse.up();
  await expect.poll(() => width('Bot')).toBeCloseTo(bot + 50, -1);
  const cell = line('wide or narrow').first().locator('.cell-bot');
  expect((await cell.boundingBox())?.width).toBeCloseTo(bot + 50, -1);
  await header('Bot').getByRole('button').dragTo(header('Time').getByRole('button'));
  await expect.poll(async () => (await titles())[0]).toBe('Bot');
  await expectAccessible();
});

it('ids are not cut while there is room', async () => {
  await print('of a long name', LONG);
  await show(page, `#/log?q=bot:${LONG}`);
  await line('of a long name').first().waitFor();
  const id = line('of a long name').first().locator('.cell-bot');
  await expect.poll(() => isCut(id)).toBe(false);
  expect(await id.innerText()).toBe(LONG);
});

it('the rows of the log are one stop of the Tab key; arrows lead to each value, Enter selects by it', async () => {
  await print('first of two', 'painter-1', 'warn');
  await print('second of two', LONG, 'error');
  await show(page, '#/log?q=level:warn,error');
  await line('second of two').first().waitFor();
  expect(await log().locator('.list-body :is(a, button, [tabindex])').count()).toBe(0);
  await line('first of two').last().locator('.cell-message').click();
  await page.keyboard.press('Escape');
  expect(await isListFocused()).toBe(true);
  await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toMatch(/^\d\d:/);
  await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toBe('warn');
  // The same value of the next line.
  await page.keyboard.press('ArrowDown');
  await expect.poll(reached).toBe('error');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toBe(LONG);
  await expectAccessible();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain(`bot%3A${LONG}`);
  await line('second of two').first().waitFor();
  await line('first of two').waitFor({ state: 'detached' });
  expect(await isListFocused()).toBe(true);
  // With Alt it excludes: back to all, then all but this level.
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await expect.poll(reached).toBe('error');
  await page.keyboard.press('Alt+Enter');
  await expect.poll(() => page.url()).toContain('-level%3Aerror');
  await line('second of two').waitFor({ state: 'detached' });
  // Also where nothing is left.
  expect(await isListFocused()).toBe(true);
});

it('the last value of a row leads to the lines around it', async () => {
  await print('in the middle');
  await show(page, '#/log');
  await line('in the middle').last().locator('.cell-message').click();
  await page.keyboard.press('Escape');
  for (let at = 0; at < 12; at++) await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toContain('Lines around');
  await page.keyboard.press('Enter');
  const around = page.getByRole('grid', { name: 'Lines of painter-1, around a line' });
  await around.locator('.log-row.is-active', { hasText: 'in the middle' }).waitFor();
  // Arrows are in the lines around now.
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toBe('info');
  await expectAccessible();
  await page.keyboard.press('Escape');
  await around.waitFor({ state: 'detached' });
  expect(await isListFocused()).toBe(true);
});

it('following is not disturbed by the focus, and lines that arrive do not take it', async () => {
  await show(page, '#/log');
  await print('the one before');
  await line('the one before').first().waitFor();
  const isFollowing = (): Promise<string | null> =>
    page.locator('.log-pane').getAttribute('data-following');
  // The list comes before its titles, and after the titles comes what is behind it.
  await log().focus();
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.innerText')).toBe('Time');
  await page.keyboard.press('Tab');
  expect(await page.evaluate("document.activeElement.closest('.log-list')")).toBe(null);
  await log().focus();
  expect(await isFollowing()).toBe('true');
  await invoke(service, 'painter-1', 'print', { text: 'a new one', times: 60 });
  await line('a new one').last().waitFor();
  expect(await isFollowing()).toBe('true');
  expect(await isListFocused()).toBe(true);
  // The arrows hold the line that they have reached, however many come.
  await print('held', 'painter-1', 'warn');
  await line('held').waitFor();
  await line('held').locator('.cell-message').click();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect.poll(reached).toBe('warn');
  const count = async (): Promise<number> =>
    Number.parseInt((await page.locator('.log-foot').innerText()).replace(',', ''), 10);
  const was = await count();
  await invoke(service, 'painter-1', 'print', { text: 'one more', times: 60 });
  await expect.poll(count).toBeGreaterThanOrEqual(was + 60);
  expect(await reached()).toBe('warn');
  expect(await isListFocused()).toBe(true);
  await page.keyboard.press('G');
  await page.locator('[data-following=true]').waitFor();
  expect(await isListFocused()).toBe(true);
});

it('columns are resized with a finger', async () => {
  await print('on a tablet');
  await open({ width: 900, height: 700, touch: true });
  // Only it: the columns are as wide as what older lines have, which come later.
  await show(page, '#/log?q=%22on+a+tablet%22');
  await line('on a tablet').first().waitFor();
  const was = await width('Scope');
  const grip = await header('Scope').locator('.resizer').boundingBox();
  // As wide as a finger needs it.
  expect(grip?.width).toBeGreaterThanOrEqual(24);
  const [x, y] = [(grip?.x ?? 0) + 16, (grip?.y ?? 0) + 10];
  const cdp = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at?: number): Promise<unknown> =>
    cdp.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: at === undefined ? [] : [{ x: at, y }],
    });
  await touch('touchStart', x);
  for (const by of [10, 20, 30, 40]) await touch('touchMove', x + by);
  await touch('touchEnd');
  await expect.poll(() => width('Scope')).toBeCloseTo(was + 40, -1);
  await expectAccessible();
});

it('on a phone the columns of the log are chosen and moved by touch', async () => {
  await print('in the hand');
  await page.setViewportSize({ width: 390, height: 844 });
  await show(page, '#/log');
  await line('in the hand').first().waitFor();
  await openMenu();
  await check('Direction').uncheck();
  await page.getByRole('button', { name: 'Move Bot to the left' }).click();
  await page.keyboard.press('Escape');
  const first = line('in the hand').first();
  const [bot, scope, message] = await Promise.all(
    ['.cell-bot', '.cell-scope', '.cell-message'].map((cell) => first.locator(cell).boundingBox()),
  );
  expect(bot?.x).toBeLessThan(scope?.x ?? 0);
  expect(bot?.y).toBe(scope?.y);
  expect(message?.y).toBeGreaterThan((bot?.y ?? 0) + 8);
  expect(await first.locator('.cell-dir').count()).toBe(0);
  await expectAccessible();
});

it('columns of tokens are chosen, moved, resized, and so after a reload', async () => {
  await show(page, '#/tokens');
  await page.locator('[data-token]').first().waitFor();
  const usual = await titles();
  expect(usual).toEqual(['Name', 'Scopes', 'Restricted to', 'Created', 'Last used', 'Expires']);
  await openMenu();
  await check('Restricted to').uncheck();
  await check('Id').check();
  await page.keyboard.press('Escape');
  await header('Scopes').getByRole('button').focus();
  await page.keyboard.press('Control+Shift+ArrowRight');
  const was = await width('Scopes');
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => width('Scopes')).toBeCloseTo(was + 16, -1);
  await page.reload();
  await expect.poll(titles).toEqual(['Name', 'Created', 'Scopes', 'Last used', 'Expires', 'Id']);
  expect(await width('Scopes')).toBeCloseTo(was + 16, -1);
  await expectAccessible();
  // The rows are one stop, the titles another.
  const grid = page.getByRole('grid', { name: 'Tokens' });
  expect(await grid.locator('tbody [tabindex="0"]').count()).toBe(1);
  expect(await grid.locator('thead [tabindex="0"]').count()).toBe(1);
  await openMenu();
  await page.getByRole('button', { name: 'Reset columns and widths' }).click();
  await expect.poll(titles).toEqual(usual);
});

it('columns of nodes are chosen, and the log of a cluster has one of nodes', async () => {
  await mockCluster(page, threeNodes());
  await page.reload();
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await page.locator('[data-node=h1]').waitFor();
  await openMenu();
  await check('Version').uncheck();
  await check('Last heard from').check();
  await page.keyboard.press('Escape');
  await expect
    .poll(titles)
    .toEqual(['Node', 'State', 'Bots', 'CPU', 'Memory', 'Streams', 'Last heard from']);
  await page.locator('[data-node=h1]').getByText(/ago$/).waitFor();
  await expectAccessible();
  await show(page, '#/log');
  await header('Node').waitFor();
});

it('the palette opens by touch on a phone', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Go to… (Ctrl K)' }).click();
  const palette = page.getByRole('dialog');
  await palette.getByRole('combobox').fill('tokens');
  await palette.getByRole('option', { name: /^Tokens/ }).click();
  await page.getByRole('heading', { name: 'Tokens' }).waitFor();
  await expectAccessible();
});

it('forms in dialogs keep what was typed and say what the service refuses', async () => {
  await show(page, '#/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog', { name: 'New token' });
  // Not without a name: Enter sends nothing either.
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Name').fill('refused');
  await dialog.getByLabel('Restrict to').selectOption('labels');
  await dialog.getByLabel('Labels').fill('not a label');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('alert').waitFor();
  expect(await dialog.getByLabel('Name').inputValue()).toBe('refused');
  await expectAccessible();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  await show(page, '#/problems');
  await page.getByRole('button', { name: 'New rule' }).first().click();
  const rule = page.getByRole('dialog', { name: 'New rule' });
  expect(await rule.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await rule.getByLabel('Name').fill('cannot be read');
  await rule.getByRole('combobox').last().waitFor();
  await expectAccessible();
});
