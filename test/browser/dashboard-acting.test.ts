// Acting where one looks: the command line and the wire of a bot, commands for many, the palette, undo.

import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import AxeBuilder from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act, invoke, snapshot } from '../harness/bots.js';
import { pastPage } from '../harness/history.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const WALKERS = Array.from({ length: 30 }, (_, n) => `walker-${n}`);

let browser: Browser;
let service: Service;
let token: string;
let opened: Opened;
let page: Page;
let web: Server;

beforeAll(async () => {
  browser = await launchChromium();
  // Answers what painters fetch.
  web = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
  service = await startForDashboard({ demo: false });
  token = await service.token();
  for (const id of WALKERS) {
    const body = { id, kind: 'painter', config: { greeting: 'hi' }, labels: { team: 'walk' } };
    await call(service, 'POST', '/api/bots', { body });
  }
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  web?.close();
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

const prompt = (): Locator => page.getByRole('combobox', { name: /^Command for/ });
const lastCall = (): Locator => page.locator('.console [data-call]').last();
const palette = (): Locator => page.getByRole('dialog', { name: /^Go to/ });

/** What the page has put into the clipboard. */
async function copied(press: () => Promise<void>): Promise<string> {
  await page.evaluate(
    'navigator.clipboard.writeText = async (text) => { globalThis.copiedText = text; }',
  );
  await press();
  return page.evaluate<string>('globalThis.copiedText');
}

/** A frame is drawn only after some keys, as on a busy machine. */
async function slowFrames(): Promise<void> {
  await page.evaluate(
    'window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 300)',
  );
}

async function violations(): Promise<string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}

describe('the command line of a bot', () => {
  it('completes a command from its schema, runs it with the keyboard only, and shows its result and its line in one pane', async () => {
    await show(page, '#/bots/painter-1');
    await prompt().waitFor();
    await page.keyboard.press(':');
    await page.keyboard.type('pr');
    await page.getByRole('option', { name: /^print/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('option', { name: /^text=/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('"fresh paint" le');
    await page.keyboard.press('Tab');
    await page.getByRole('option', { name: /^warn/ }).waitFor();
    await page.keyboard.type('w');
    await page.keyboard.press('Tab');
    expect(await prompt().inputValue()).toBe('print text="fresh paint" level=warn ');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await lastCall().getByText('"written": 1').waitFor();
    await page.locator('.row-warn', { hasText: 'fresh paint' }).waitFor();
    // History: up and down, and what was being typed is there again.
    await page.keyboard.type('show');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowUp');
    expect(await prompt().inputValue()).toBe('print text="fresh paint" level=warn');
    await page.keyboard.press('ArrowDown');
    expect(await prompt().inputValue()).toBe('show');
  });

  it('completes what is typed faster than the page draws', async () => {
    await show(page, '#/bots/painter-1');
    await prompt().waitFor();
    await slowFrames();
    await page.keyboard.press(':');
    await page.keyboard.type('pr');
    await page.keyboard.press('Tab');
    await page.keyboard.type('te');
    await page.keyboard.press('Tab');
    await page.keyboard.type('"fresh paint" le');
    await page.keyboard.press('Tab');
    await page.keyboard.type('w');
    await page.keyboard.press('Tab');
    expect(await prompt().inputValue()).toBe('print text="fresh paint" level=warn ');
    // The same in the query of a view.
    await show(page, '#/log');
    const search = page.getByLabel('Search lines');
    await search.click();
    await page.keyboard.type('lev');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('warn sco');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('tcp');
    expect(await search.inputValue()).toBe('level:warn scope:tcp');
  });

  it('says in place what is wrong with a line, and what a bot answers that fails', async () => {
    await show(page, '#/bots/painter-1');
    await prompt().fill('print text=x times=0');
    await prompt().press('Enter');
    await page.getByText('times is less than 1.').waitFor();
    // The line is still there.
    expect(await prompt().inputValue()).toBe('print text=x times=0');
    await act(service, 'walker-0', 'stop');
    await show(page, '#/bots/walker-0');
    await prompt().fill('print text=x');
    await prompt().press('Enter');
    await page.locator('[data-call=failed]', { hasText: '409' }).waitFor();
    await act(service, 'walker-0', 'start');
    await page.getByRole('button', { name: /^Run again: print/ }).click();
    await page.locator('[data-call=done]', { hasText: '"written": 1' }).waitFor();
  });

  it('a call is cancelled, run again, and stays with its bot', async () => {
    await show(page, '#/bots/painter-1');
    const held = page.waitForRequest('**/invoke');
    await page.route('**/invoke', () => {});
    await prompt().fill('show name=canvas value=blue');
    await prompt().press('Enter');
    await held;
    await page.getByRole('button', { name: /^Cancel show/ }).click();
    await page.locator('[data-call=cancelled]').waitFor();
    await page.unroute('**/invoke');
    await page.getByRole('button', { name: /^Run again: show/ }).click();
    await page.locator('[data-call=done]').waitFor();
    await expect
      .poll(async () => (await snapshot(service, 'painter-1')).data['canvas'])
      .toBe('blue');
    expect(await page.locator('[data-call]').count()).toBe(2);
    // Another bot has its own.
    await show(page, '#/bots/walker-1');
    await prompt().waitFor();
    expect(await page.locator('[data-call]').count()).toBe(0);
  });

  it('a call is copied as a command of drover and of curl, which do the same in a shell', async () => {
    await show(page, '#/bots/painter-1');
    const text = `it's "$HOME" & \`id\` ; 100 %`;
    await prompt().fill(`print text=${JSON.stringify(text)} level=error`);
    await prompt().press('Enter');
    await lastCall().getByText('"written": 1').waitFor();
    const env = { PATH: process.env['PATH'] ?? '', HOME: '/nowhere', DROVER_TOKEN: token };
    const run = promisify(execFile);
    for (const name of ['drover', 'curl'] as const) {
      const command = await copied(() =>
        lastCall()
          .getByRole('button', { name: `as a ${name} command` })
          .click(),
      );
      expect(command).not.toContain(token);
      const script = `drover() { "${process.execPath}" "${CLI}" "$@"; }; ${command}`;
      const { stdout } = await run('sh', ['-c', script], { env });
      expect(stdout).toMatch(/"written": ?1/);
    }
    // An answer can be there before the line is on the ring.
    await expect
      .poll(async () => {
        const { events } = await pastPage(service, '?session=painter-1&level=error&limit=10');
        return events.filter(({ data }) => data.message === text);
      })
      .toHaveLength(3);
  });
});

describe('the wire of a bot', () => {
  it('is a part of its log, where a request stands with its reply, as text, JSON and bytes', async () => {
    const { port } = web.address() as AddressInfo;
    await invoke(service, 'painter-1', 'wire', { url: `http://127.0.0.1:${port}/colours` });
    await show(page, '#/bots/painter-1');
    await page.getByRole('radio', { name: 'Wire' }).check();
    await page.waitForURL(/transport/);
    await page
      .locator('.log-row', { hasText: `200 GET http://127.0.0.1:${port}/colours` })
      .waitFor();
    await expect.poll(() => page.locator('.log-row', { hasText: 'good morning' }).count()).toBe(0);
    // The reply says how long it took.
    const asked = page.locator('.log-row', { hasText: '"method":"mix"' });
    await asked.locator('.cell-took', { hasText: /\d ms/ }).waitFor();
    await asked.click();
    const request = page.getByRole('article', { name: 'Request' });
    const reply = page.getByRole('article', { name: /^Reply after/ });
    await request.getByText('"method":"mix"').waitFor();
    await reply.getByText('"result":"green"').waitFor();
    await page.getByRole('radio', { name: 'JSON' }).check();
    await reply.getByText('"result": "green"').waitFor();
    await page.getByRole('radio', { name: 'Hex' }).check();
    await reply.getByText('7b 22 6a 73 6f 6e').waitFor();
    await reply.getByRole('button', { name: 'Go to line' }).click();
    await page.locator('.log-row.is-active', { hasText: '"result":"green"' }).waitFor();
    expect(await violations()).toEqual([]);
    // By the id that the kind gives.
    await page.locator('.log-row', { hasText: 'PAINT wall' }).click();
    await page.getByRole('radio', { name: 'Text' }).check();
    await reply.getByText('PAINTED').waitFor();
    await page.getByRole('radio', { name: 'Log', exact: true }).check();
    await expect.poll(() => page.locator('.log-row', { hasText: 'PAINT wall' }).count()).toBe(0);
  });
});

describe('a command for many bots', () => {
  it('says on how many it runs, shows the answer of each, and is sent again to those that failed', async () => {
    await act(service, 'walker-2', 'stop');
    await show(page, '#/bots?q=label:team%3Dwalk');
    await page.locator('[data-shown="30"]').waitFor();
    await page.getByLabel('Select all shown bots').click();
    await page.getByRole('button', { name: 'Run a command' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Command', { exact: true }).selectOption('hesitate');
    await dialog.getByText('It runs on 29 bots. Left out: 1 bot that is not running.').waitFor();
    await dialog.getByRole('button', { name: 'Run hesitate on 29 bots' }).click();
    await dialog.getByText('29 of 29 answered, 29 failed').waitFor();
    await dialog.locator('[data-answer=walker-3]', { hasText: 'not yet' }).waitFor();
    // The second time they do it.
    await dialog.getByRole('button', { name: 'Retry 29 failed' }).click();
    await dialog.getByText('29 of 29 answered', { exact: true }).waitFor();
    await dialog.locator('[data-answer=walker-3]').getByRole('button').click();
    await dialog
      .getByRole('region', { name: 'Answer of walker-3' })
      .getByText('"tries": 2')
      .waitFor();
    expect(await violations()).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(await dialog.count()).toBe(0);
    await act(service, 'walker-2', 'start');
  });

  it('can be cancelled while it runs, without losing what has been answered', async () => {
    await show(page, '#/bots?q=walker-4');
    await page.getByLabel('Select walker-4').click();
    await page.getByRole('button', { name: 'Run a command' }).click();
    const held = page.waitForRequest('**/invoke');
    await page.route('**/invoke', () => {});
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Command', { exact: true }).selectOption('hesitate');
    await dialog.getByRole('button', { name: 'Run hesitate on 1 bot' }).click();
    await held;
    await page.keyboard.press('Escape');
    await dialog.locator('[data-state=failed]', { hasText: 'cancelled' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
  });
});

describe('undo', () => {
  it('starts bots again that were stopped, from the message or with z', async () => {
    await show(page, '#/bots?q=walker-1');
    await page.getByLabel('Select walker-10').click();
    await page.getByLabel('Select walker-11').click();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Stop 2 bots' }).click();
    await page.getByText('2 bots stopped').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 2 bots started').waitFor();
    expect((await snapshot(service, 'walker-10')).desired).toBe('running');
    await show(page, '#/bots/walker-12');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByText('walker-12 stopped').waitFor();
    await page.keyboard.press('z');
    await page.getByText('Undone: 1 bot started').waitFor();
    expect((await snapshot(service, 'walker-12')).desired).toBe('running');
  });

  it('gives a bot the labels from before', async () => {
    await show(page, '#/bots/walker-14?tab=config');
    await page.getByLabel('Labels').fill('team=sit');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('walker-14 saved').waitFor();
    expect((await snapshot(service, 'walker-14')).labels).toEqual({ team: 'sit' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: walker-14 has its earlier labels').waitFor();
    expect((await snapshot(service, 'walker-14')).labels).toEqual({ team: 'walk' });
  });

  it('brings a deleted bot back with its configuration, and says when it cannot', async () => {
    const before = (await call(service, 'GET', '/api/bots/walker-13/config')).json;
    await show(page, '#/bots/walker-13');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('You can undo this within 20 s').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('walker-13 deleted').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 1 bot created again').waitFor();
    expect((await call(service, 'GET', '/api/bots/walker-13/config')).json).toEqual(before);
    expect((await snapshot(service, 'walker-13')).labels).toEqual({ team: 'walk' });
    const config = { greeting: 'hi', secret: 'hunter2-hunter2' };
    await call(service, 'POST', '/api/bots', { body: { id: 'spy', kind: 'painter', config } });
    await show(page, '#/bots/spy');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This cannot be undone: its secrets cannot be read (secret).').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('spy deleted').waitFor();
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  });
});

describe('the palette', () => {
  it('goes to a page and to a bot with the keyboard only, also out of a field', async () => {
    await show(page, '#/bots');
    await page.getByLabel('Search bots').focus();
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.type('sett');
    await palette()
      .getByRole('option', { name: /^Settings/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/settings$/);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('wk17');
    await expect
      .poll(() => palette().locator('[aria-selected=true]').innerText())
      .toMatch(/^walker-17/);
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'walker-17' }).waitFor();
    // Escape closes it, and the focus is where it was.
    await page.keyboard.press('Control+k');
    await palette().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => palette().count()).toBe(0);
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
  });

  it('acts on a bot, on the selection, and does what the page has keys for', async () => {
    await show(page, '#/overview');
    await page.keyboard.press('Control+k');
    // Before it is there: nothing of it is lost, and no key does something else.
    await page.keyboard.type('stop walker-20');
    await palette()
      .getByRole('option', { name: /^Stop walker-20/ })
      .waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Stop walker-20?' });
    await dialog.getByRole('button', { name: 'Stop bot' }).click();
    await page.getByText('1 bot stopped').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('start walker-20');
    await page.keyboard.press('Enter');
    await page.getByText('walker-20 started').waitFor();
    await show(page, '#/bots?q=walker-2');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('select all');
    await page.keyboard.press('Enter');
    await page.locator('[data-selected]', { hasText: '11 selected' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('restart 11');
    await palette().getByRole('option', { name: 'Restart 11 bots' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Restart 11 bots?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('theme dark');
    await page.keyboard.press('Enter');
    await page.locator('html[data-theme=dark]').waitFor();
  });

  it('offers only what the token allows, and is opened with its button', async () => {
    const { token: limited } = await makeToken(service, { scopes: ['read'] });
    const { context, page: other } = await openPage(browser);
    await openWithToken(other, service, limited);
    await show(other, '#/bots/walker-1');
    await other.getByText('You need the scope').first().waitFor();
    await other.getByRole('button', { name: /^Go to/ }).click();
    await other.keyboard.type('stop walker-1');
    await other.getByText('Nothing found.').waitFor();
    await context.close();
  });
});
