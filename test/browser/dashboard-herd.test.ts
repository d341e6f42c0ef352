// The herd and the bot hosts on the overview, used as a person would.

import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act, invoke, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { DASHBOARD_KINDS, type Opened, openPage, openWithToken, show } from './dashboard-page.js';

/** Enough that cells have no text. */
const LOADS = 120;
const PAINTERS = ['painter-1', 'painter-2', 'painter-3'];
const COUNT = LOADS + PAINTERS.length;

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
      // The test looks at a host that hangs, and has to see it on a busy machine too.
      watchdog: { hang_ms: 60_000 },
      bots: [
        ...PAINTERS.map((id) => ({
          id,
          kind: 'painter',
          config: { greeting: `I am ${id}` },
          labels: { team: 'art' },
          restart: { max_restarts: 0 },
        })),
        ...Array.from({ length: LOADS }, (_, n) => ({
          id: `load-${n}`,
          kind: 'synthetic',
          config: { events_per_second: 0 },
          labels: { team: n % 2 === 0 ? 'even' : 'odd' },
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
  await page.locator(`[data-herd="${COUNT}"]`).waitFor();
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const herd = (): Locator => page.getByRole('listbox', { name: 'Herd' });
/** The cell that the keys are at. */
const cell = (): Locator => herd().getByRole('option');
const cellName = (): Promise<string | null> => cell().getAttribute('aria-label');
const count = (status: string): Locator => page.locator(`[data-count="${status}"]`);
const peek = (): Locator => page.locator('.peek');

/** Goes to the first cell with the keys. */
async function enterHerd(): Promise<void> {
  await herd().focus();
  await page.keyboard.press('Control+Home');
  await expect.poll(cellName).toMatch(/^painter-1,/);
}

async function middleOf(locator: Locator): Promise<{ x: number; y: number }> {
  const box = await locator.boundingBox();
  if (!box) throw new Error('it is not shown');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Where the cell of a bot is, found with the keys. */
async function placeOf(id: string): Promise<{ x: number; y: number }> {
  await enterHerd();
  for (let steps = 0; !(await cellName())?.startsWith(`${id},`); steps++) {
    if (steps > COUNT) throw new Error(`no cell of ${id}`);
    await page.keyboard.press('ArrowRight');
  }
  return middleOf(cell());
}

describe('a cell', () => {
  it('tells what its bot does under the pointer, and opens it with a click', async () => {
    await invoke(service, 'painter-2', 'show', { name: 'canvas', value: 'blue, 40 %' });
    const { x, y } = await placeOf('painter-2');
    await page.keyboard.press('Escape');
    await page.mouse.move(x, y);
    for (const text of ['painter-2', 'painting', 'team=art', 'canvas', 'blue, 40 %']) {
      await peek().getByText(text).first().waitFor();
    }
    // Its last line is that of the command.
    await peek().locator('.peek-line', { hasText: 'show' }).waitFor();
    await page.mouse.move(x, 5);
    await expect.poll(() => peek().count()).toBe(0);
    await page.mouse.click(x, y);
    await page.waitForURL(/#\/bots\/painter-2$/);
  });

  it('is reached with the keys: one tab stop, arrows, Enter', async () => {
    await page.getByRole('combobox', { name: 'Group by' }).focus();
    // Through the legend, whose chips are buttons.
    for (let n = 0; n < 20 && (await herd().evaluate((one) => !one.matches(':focus'))); n++) {
      await page.keyboard.press('Tab');
    }
    await expect.poll(cellName).toBe('painter-1, painting, painter');
    await peek().getByText('painter-1').waitFor();
    await page.keyboard.press('ArrowRight');
    await expect.poll(cellName).toMatch(/^painter-2,/);
    await page.keyboard.press('PageDown');
    await expect.poll(cellName).toBe('load-0, running, synthetic');
    await page.keyboard.press('Tab');
    expect(await herd().evaluate((one) => one.matches(':focus'))).toBe(false);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/bots\/load-0$/);
  });
});

describe('the selection', () => {
  it('is drawn with a lasso, and the bots in it are stopped at once', async () => {
    const [from, to] = [await placeOf('load-0'), await placeOf('load-4')];
    await page.keyboard.press('Escape');
    await page.mouse.move(from.x - 2, from.y - 2);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y - 2, { steps: 5 });
    await page.mouse.move(to.x, to.y + 2, { steps: 2 });
    await page.mouse.move(from.x, from.y + 2, { steps: 5 });
    await page.mouse.up();
    await page.locator('[data-selected]', { hasText: '5 selected' }).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('load-0, load-1, load-2, load-3, load-4').waitFor();
    await dialog.getByRole('button', { name: 'Stop 5 bots' }).click();
    await count('stopped').getByText('5').waitFor();
    expect((await snapshot(service, 'load-3')).status).toBe('stopped');
    await call(service, 'POST', '/api/bots/actions', {
      body: { action: 'start', ids: [0, 1, 2, 3, 4].map((n) => `load-${n}`) },
    });
    await count('running').getByText(String(LOADS)).waitFor();
  });

  it('is made with Shift and arrows, grows with Space, and is that of the table of bots', async () => {
    await enterHerd();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.locator('[data-selected]', { hasText: '3 selected' }).waitFor();
    await page.keyboard.press('PageDown');
    await page.keyboard.press('Space');
    await page.locator('[data-selected]', { hasText: '4 selected' }).waitFor();
    expect(await cell().getAttribute('aria-selected')).toBe('true');
    await page.getByRole('link', { name: 'Show in Bots' }).click();
    // The view is loaded first: before it is drawn, the key finds no search.
    await page.locator('.bots-list').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('painter');
    await page.getByLabel('Select painter-3', { exact: true }).waitFor();
    expect(await page.getByLabel('Select painter-3', { exact: true }).isChecked()).toBe(true);
    await page.locator('[data-selected]', { hasText: '4 selected' }).waitFor();
  });

  it('is a group with a click on its title, and goes with Escape', async () => {
    await page.getByLabel('Group by').selectOption('label:team');
    await page.locator('.herd-title', { hasText: 'odd' }).waitFor();
    const { x, y } = await middleOf(page.locator('.herd-title-name', { hasText: 'odd' }));
    await page.mouse.click(x, y);
    await page.locator('[data-selected]', { hasText: '60 selected' }).waitFor();
    // In the address, so a reload keeps it.
    expect(page.url()).toMatch(/by=label/);
    await herd().focus();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('[data-selected]').count()).toBe(0);
  });
});

it('what has failed is found with the legend, and put right from there', async () => {
  for (const id of ['painter-1', 'painter-3']) {
    await invoke(service, id, 'fall', { why: 'the ladder broke' });
  }
  await count('failed').getByText('2').waitFor();
  await page.getByRole('button', { name: /^failed/ }).click();
  await page.waitForURL(/show=failed/);
  await herd().focus();
  await page.keyboard.press('Control+Home');
  await expect.poll(cellName).toMatch(/^painter-1, failed/);
  // What is not lit is passed over.
  await page.keyboard.press('ArrowRight');
  await expect.poll(cellName).toMatch(/^painter-3, failed/);
  await peek().getByText('the ladder broke').first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Select 2' }).click();
  await page.getByRole('button', { name: 'Restart', exact: true }).click();
  await page.getByRole('button', { name: 'Restart 2 bots' }).click();
  await count('painting').getByText('3').waitFor();
  await page.getByRole('button', { name: 'Clear filter' }).click();
  // Its chip keeps its place.
  await count('failed').getByText('0').waitFor();
});

it('has no violation of accessibility rules, in light and dark', async () => {
  await act(service, 'load-9', 'stop');
  for (const dark of [false, true]) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await show(page, '#/overview?by=label:team&show=stopped');
    await page.locator('.herd-cells').waitFor();
    await page.locator('[data-host]').first().waitFor();
    await herd().focus();
    await page.keyboard.press('Shift+ArrowRight');
    await page.evaluate(AxeBuilder.source);
    const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
    expect(found, dark ? 'dark' : 'light').toEqual([]);
  }
  await act(service, 'load-9', 'start');
});

it('the table of the hosts is one tab stop, and arrows lead to its cells', async () => {
  const hosts = page.getByRole('grid', { name: 'Hosts' });
  await page.locator('[data-host]').nth(1).waitFor();
  expect(await hosts.locator('[tabindex="0"]').count()).toBe(1);
  await hosts.locator('[tabindex="0"]').focus();
  for (const key of ['End', 'ArrowDown']) await page.keyboard.press(key);
  expect(await page.locator('[data-host]').nth(1).locator('.host-bots:focus').count()).toBe(1);
  // It stays while the figures change, and is the way back.
  await page.keyboard.press('Tab');
  expect(await hosts.locator(':focus').count()).toBe(0);
  await page.keyboard.press('Shift+Tab');
  expect(await page.locator('[data-host]').nth(1).locator('.host-bots:focus').count()).toBe(1);
});

it('a token that is limited to bots sees these, and the hosts that they are on', async () => {
  const limited = await makeToken(service, { scopes: ['read'], bots: ['load-50'] });
  const { context, page: other } = await openPage(browser);
  await openWithToken(other, service, limited.token);
  await other.locator('[data-herd="1"]').waitFor();
  await expect.poll(() => other.locator('[data-host]').count()).toBe(1);
  expect(await other.locator('[data-host] .host-bots').innerText()).toBe('1');
  await context.close();
});

// The last one: the host does not come back.
it('a host that hangs is seen: in its row, and in the cells of its bots', async () => {
  await page.getByRole('button', { name: 'Group the herd by host' }).click();
  await page.locator('.herd-title', { hasText: 'host 1' }).waitFor();
  const row = page.locator('[data-host="/1"]');
  await row.locator('[data-state=working], [data-state=idle]').waitFor();
  const bots = Number(await row.locator('.host-bots').innerText());
  await invoke(service, null, 'drill', { kill: 'host', host: 1, fault: 'hang' });
  await row.locator('[data-state=hangs]').waitFor();
  await row.getByText(/s ago/).waitFor();
  await count('host hangs').getByText(String(bots)).waitFor();
  await page.locator('.herd-title', { hasText: `${bots} down` }).waitFor();
  // Screen readers are told once.
  await page.getByRole('status').getByText('Host 1 hangs.').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: /^host hangs/ }).click();
  await page.getByRole('button', { name: `Select ${bots}` }).waitFor();
});
