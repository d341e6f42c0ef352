// Several logs on one time axis, and the configurations of two bots, used as a person would.

import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { DASHBOARD_KINDS, type Opened, openPage, openWithToken, show } from './dashboard-page.js';

const PAINTERS = ['painter-1', 'painter-2', 'painter-3'];
/** More than a log reads at once. */
const PAST = 700;

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
      bots: PAINTERS.map((id) => ({
        id,
        kind: 'painter',
        labels: id === 'painter-3' ? { team: 'other' } : { team: 'art' },
        config: { greeting: `I am ${id}` },
        restart: { max_restarts: 0 },
      })),
    },
  });
  token = await service.token();
  await eventually(async () => {
    const all = await Promise.all(PAINTERS.map((id) => snapshot(service, id)));
    return all.every(({ status }) => status === 'painting');
  }, 'the painters paint');
  await print('painter-1', 'call 1');
  // A command has a deadline, on a busy machine too.
  for (let calls = 0; calls < PAST / 100; calls++) await print('painter-1', 'busy %n.', 100);
  await print('painter-2', 'answer 1');
  await print('painter-1', 'call 2');
  await print('painter-2', 'answer 2');
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

async function print(bot: string, text: string, times = 1): Promise<void> {
  const answer = await invoke(service, bot, 'print', { text, times });
  expect(answer.status, answer.text).toBe(200);
}

const list = (): Locator => page.getByRole('listbox', { name: 'Lines side by side' });
const parameter = (name: string): string | null =>
  new URLSearchParams(page.url().split('?')[1] ?? '').get(name);

/** The drawn texts from top to bottom, those of a row from left to right, with the number of their column. */
async function cells(): Promise<[column: number, text: string][]> {
  const rows = await list()
    .locator('.side-row[data-key]')
    .evaluateAll((all) =>
      all.map((row) => ({
        top: row.getBoundingClientRect().top,
        cells: [...row.querySelectorAll('.side-cell')].map(
          (cell) => cell.querySelector('.side-text')?.textContent,
        ),
      })),
    );
  rows.sort((a, b) => a.top - b.top);
  return rows.flatMap(({ cells: of }) =>
    of.flatMap((text, column): [number, string][] => (text ? [[column, text]] : [])),
  );
}

it('selected bots are shown side by side, on one time axis, live', async () => {
  await show(page, '#/bots');
  await page.getByLabel('Select painter-1').click();
  await page.getByLabel('Select painter-2').click();
  await page.getByRole('link', { name: 'Logs side by side' }).click();
  await list().getByText('answer 2').waitFor();
  expect([parameter('a'), parameter('b')]).toEqual(['bot:painter-1', 'bot:painter-2']);
  const talk = (await cells()).filter(([, text]) => /^(call|answer) \d$/.test(text));
  expect(talk.slice(-3)).toEqual([
    [1, 'answer 1'],
    [0, 'call 2'],
    [1, 'answer 2'],
  ]);
  await print('painter-2', 'live from the second');
  await list().getByText('live from the second').waitFor();
  await print('painter-1', 'live from the first');
  await list().getByText('live from the first').waitFor();
  expect((await cells()).filter(([, text]) => text.startsWith('live'))).toEqual([
    [1, 'live from the second'],
    [0, 'live from the first'],
  ]);
  // The other bot is in neither.
  await print('painter-3', 'not here');
  await print('painter-1', 'after that');
  await list().getByText('after that').waitFor();
  expect(await list().getByText('not here').count()).toBe(0);
});

it('they scroll together into the past, as far as all of them are loaded', async () => {
  await show(page, '#/side?a=bot:painter-1&b=bot:painter-2');
  await list().getByText('answer 2').waitFor();
  await expect
    .poll(
      async () => {
        await list().evaluate((box) => {
          box.scrollTop = 0;
        });
        return (await cells()).filter(([, text]) => text === 'I am painter-2').length;
      },
      { interval: 100 },
    )
    .toBe(1);
  const texts = (await cells()).map(([, text]) => text);
  expect(texts.indexOf('I am painter-2')).toBeLessThan(texts.indexOf('call 1'));
});

it('a log is added with a query, changed and removed, and all of that is in the address', async () => {
  await show(page, '#/side?a=bot:painter-1');
  await list().getByText('call 2').waitFor();
  await page.getByRole('button', { name: 'Add a log' }).click();
  await page.getByLabel('Query of log 2').fill('colour:red');
  await page
    .getByText(/colour/)
    .last()
    .waitFor();
  await page.getByLabel('Query of log 2').fill('bot:painter-2 answer');
  await page.keyboard.press('Enter');
  await list().getByText('answer 2').waitFor();
  expect(parameter('b')).toBe('bot:painter-2 answer');
  expect(await list().getByText('I am painter-2').count()).toBe(0);
  await page.getByRole('button', { name: 'Remove log: bot:painter-1' }).click();
  await list().getByText('call 2').waitFor({ state: 'detached' });
  expect([parameter('a'), parameter('b')]).toEqual(['bot:painter-2 answer', null]);
});

it('a row is read whole, and leads to the log at its moment', async () => {
  await show(page, '#/side?a=bot:painter-1&b=bot:painter-2');
  await list().getByText('answer 2').click();
  const whole = page.getByRole('region', { name: 'Lines of the row' });
  await whole.getByText('answer 2').waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await whole.getByText('answer 2').waitFor({ state: 'detached' });
  await whole.getByRole('link', { name: 'Log at this moment' }).click();
  await page.locator('.log-row.is-active').first().waitFor();
});

it('the configurations of two bots are compared', async () => {
  await show(page, '#/side?a=bot:painter-1&b=bot:painter-3');
  await page.getByRole('link', { name: 'Compare configurations' }).click();
  await page.locator('[data-differences="2"]').waitFor();
  const rows = page.locator('.diff-table tbody tr');
  expect(await rows.allInnerTexts()).toEqual([
    expect.stringMatching(/^labels\.team.*"art"\s+"other"$/s),
    expect.stringMatching(/^config\.greeting.*"I am painter-1"\s+"I am painter-3"$/s),
  ]);
  await page.getByLabel('Show equal fields').check();
  await rows.filter({ hasText: 'restart.max_restarts' }).waitFor();
  await page.getByLabel('Second bot').fill('painter-1');
  await page.keyboard.press('Enter');
  await page.getByText('No differences').waitFor();
  await page.getByLabel('Second bot').fill('nobody');
  await page.keyboard.press('Enter');
  await page
    .getByText(/nobody/)
    .last()
    .waitFor();
});

it('has no fault for axe-core, and fits, from 360 to 2560 px', async () => {
  for (const [width, dark] of [
    [360, false],
    [768, true],
    [2560, false],
  ] as const) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await page.setViewportSize({ width, height: 900 });
    for (const href of [
      '#/side?a=bot:painter-1&b=bot:painter-2&c=bot:painter-3&d=level:error',
      '#/diff?a=painter-1&b=painter-3',
    ]) {
      await show(page, href);
      if (href.includes('side')) await list().getByText('call 2').first().click();
      else await page.locator('.diff-table').waitFor();
      await page.evaluate(AxeBuilder.source);
      const faults = await page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html.slice(0, 200)))",
      );
      expect(faults, `${href} at ${width} px, dark: ${dark}`).toEqual([]);
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(over, `${href} at ${width} px is too wide`).toBe(0);
    }
  }
}, 200_000);
