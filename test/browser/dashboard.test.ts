// The built dashboard on the real service, used as a person would: sign-in, the log, tokens, settings.
// dashboard-bots.test.ts covers bots.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

const FILES = new URL('../../dist/dashboard/', import.meta.url);
const MAX_FIRST_BYTES = 110 * 1024;
const MAX_SCRIPT_BYTES = 245 * 1024;

let browser: Browser;
let service: Service;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard({ config: { pin: { capacity: 4, refill_per_minute: 12 } } });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  opened = await openPage(browser);
  page = opened.page;
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const row = (id: string) => page.locator(`[data-bot="${id}"]`);

/** Writes lines with the painter. */
async function print(text: string, more: object = {}): Promise<void> {
  const answer = await invoke(service, 'painter-1', 'print', { text, ...more });
  expect(answer.status, answer.text).toBe(200);
}

it('is at most 110 KB of compressed script at first, and 245 KB with all views', () => {
  const assets = new URL('assets/', FILES);
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'));
  const sizeOf = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, assets))).length, 0);
  const [, entry = ''] =
    /src="\.\/assets\/([^"]+\.js)"/.exec(readFileSync(new URL('index.html', FILES), 'utf8')) ?? [];
  const first = withImports(entry, assets);
  expect(first.length).toBeGreaterThan(0);
  expect(sizeOf(first)).toBeLessThan(MAX_FIRST_BYTES);
  expect(sizeOf(scripts)).toBeLessThan(MAX_SCRIPT_BYTES);
  for (const name of scripts) {
    expect(existsSync(new URL(`${name}.br`, assets))).toBe(true);
    expect(existsSync(new URL(`${name}.gz`, assets))).toBe(true);
  }
});

/** A script with those that it needs before it runs. */
function withImports(name: string, assets: URL, found = new Set<string>()): string[] {
  if (!found.has(name)) {
    found.add(name);
    const text = readFileSync(new URL(name, assets), 'utf8');
    for (const [, other = ''] of text.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g)) {
      withImports(other, assets, found);
    }
  }
  return [...found];
}

describe('sign-in', () => {
  it('accepts the PIN digit by digit, and deletes backwards', async () => {
    await page.goto(service.url);
    const boxes = page.locator('.pin-boxes input');
    await expect.poll(() => boxes.first().evaluate((box) => box.matches(':focus'))).toBe(true);
    await page.keyboard.type(`${service.pin.slice(0, 4)}x`);
    await page.keyboard.press('Backspace');
    await expect.poll(() => boxes.nth(3).inputValue()).toBe('');
    await page.keyboard.type(service.pin.slice(3));
    await page.locator('[data-connection=open]').waitFor();
  });

  it('accepts a pasted PIN, stores the token on request, and revokes it at sign-out', async () => {
    await page.goto(service.url);
    await page.getByLabel('Keep me signed in').check();
    // With surrounding text, as people paste it, into any of the boxes.
    await page.getByLabel('Digit 3 of 6').focus();
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', ' PIN=${service.pin}\\n');
      document.activeElement.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }),
      );
    }`);
    await page.locator('[data-connection=open]').waitFor();
    const token = await page.evaluate<string>("localStorage.getItem('drover.token')");
    expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Digit 1 of 6').waitFor();
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
    expect((await call(service, 'GET', '/api-info', { token })).status).toBe(401);
  });

  it('starts with the token of an embedded webview, and removes it from the address', async () => {
    const { token } = await makeToken(service, { name: 'webview', scopes: ['read'] });
    await openWithToken(page, service, token);
    expect(page.url()).toBe(`${service.url}/#/overview`);
    // A read-only token gets a notice.
    await show(page, '#/tokens');
    await page.getByText('You need the scope “admin”').waitFor();
    // Nor does it see what would be refused.
    const menu = page.getByRole('navigation').getByRole('link');
    await expect.poll(() => menu.getByText('Tokens').count()).toBe(0);
    expect(await menu.getByText('Problems').count()).toBe(1);
    expect(await page.getByRole('button', { name: /^(New token|Sign-in link)$/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Keyboard' }).click();
    expect(await page.getByRole('dialog').getByText('Tokens', { exact: true }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await show(page, '#/bots');
    await row('painter-1').waitFor();
    expect(await page.getByRole('link', { name: 'Alert on this' }).count()).toBe(0);
    await page.getByLabel('Select painter-1').click();
    await page.getByText('You need the scope “control”').waitFor();
    expect(await page.getByRole('button', { name: /^(New bot|Restart|Delete)$/ }).count()).toBe(0);
    await show(page, '#/bots/painter-1?tab=config');
    await page.locator('.form-end').getByText('You need the scope “control”').waitFor();
    expect(await page.getByRole('button', { name: /^(Save|Restart|Delete)$/ }).count()).toBe(0);
    await show(page, '#/bots/painter-1');
    await page.getByText('You need the scope “invoke”').waitFor();
  });

  it('has no page that is about all bots for a token that is limited to some', async () => {
    const scopes = ['read', 'control'];
    const { token } = await makeToken(service, { name: 'one', scopes, bots: ['painter-1'] });
    await openWithToken(page, service, token);
    await show(page, '#/bots');
    await row('painter-1').waitFor();
    // Its only bot is there.
    await expect.poll(() => page.getByRole('button', { name: 'New bot' }).count()).toBe(0);
    const menu = page.getByRole('navigation').getByRole('link');
    await expect.poll(() => menu.getByText('Runs').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Alert on this' }).count()).toBe(0);
    await show(page, '#/problems');
    await page.getByText('your token is limited to some of them').waitFor();
    expect(await page.getByRole('button', { name: 'New rule' }).count()).toBe(0);
  });

  it('reports an invalid token', async () => {
    await page.goto(`${service.url}/#token=nonsense`);
    await page.getByText('is not valid').waitFor();
    expect(page.url()).not.toContain('nonsense');
  });

  it('ends when the token is revoked, and says why', async () => {
    const { token, id } = await makeToken(service, { name: 'short-lived', scopes: ['read'] });
    await openWithToken(page, service, token);
    await call(service, 'DELETE', `/api/tokens/${id}`);
    await page.getByText('the token was revoked or has expired').waitFor();
    await page.getByLabel('Digit 1 of 6').waitFor();
  });
});

describe('log', () => {
  const line = (text: string) => page.locator('.log-row', { hasText: text });
  beforeEach(async () => {
    await openWithToken(page, service, await service.token());
    await show(page, '#/log');
    await page.locator('.log-pane').waitFor();
  });

  it('repeats no request while lines arrive', async () => {
    // A line is visible once the view has its stream, and has made the request for older lines.
    await print('before the twenty');
    await line('before the twenty').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      // Other parts of the page are loaded when it has nothing to do.
      if (!request.url().includes('/assets/')) asked.push(request.url());
    });
    const began = Date.now();
    for (let n = 1; n <= 20; n++) await print(`one of twenty, ${n}`);
    await line('one of twenty, 20').waitFor();
    // The histogram counts again every 5 s, however many lines there are.
    const isCount = (url: string): boolean => url.includes('/api/stats?');
    expect(asked.filter((url) => !isCount(url))).toEqual([]);
    expect(asked.filter(isCount).length).toBeLessThanOrEqual(1 + (Date.now() - began) / 5000);
  });

  it('follows the end, stops when scrolled away from it, and follows again', async () => {
    await print('line %n of many', { times: 500 });
    await line('line 500 of many').waitFor();
    // A screen reader reads the elements in their order.
    const numbers = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.log-row')].flatMap(({ textContent }) => /line (\\d+) of many/.exec(textContent)?.[1] ?? []).map(Number)`,
    );
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    await page.locator('.log-list').hover();
    await page.mouse.wheel(0, -2000);
    await page.locator('[data-following=false]').waitFor();
    const seen = await page.locator('.log-row').first().innerText();
    await print('and another');
    await print('more %n', { times: 300 });
    // The lines in view do not move.
    await expect
      .poll(() => page.locator('.log-foot').innerText())
      .toMatch(/[89]\d\d lines|1,\d{3} lines/);
    expect(await page.locator('.log-row').first().innerText()).toBe(seen);
    await page.getByRole('button', { name: 'Jump to end' }).click();
    await line('more 300').waitFor();
  });

  it('shows HTML as text and renders colours, and runs no script', async () => {
    await print(
      '<img src=x onerror="document.title=1"><script>document.title=2</script> \u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007',
    );
    const found = line('<img src=x onerror=');
    await found.waitFor();
    expect(await found.locator('img, script').count()).toBe(0);
    expect(await found.locator('.cell-message a').count()).toBe(0);
    expect(await found.locator('.ansi-f1').innerText()).toBe('red');
    expect(await found.innerText()).not.toContain('\u001b');
    expect(await page.title()).toBe('Log · Drover');
  });

  it('highlights a search match across colour changes', async () => {
    await print('the \u001b[31mred\u001b[0m apple');
    await page.getByLabel('Search lines').fill('"RED app"');
    await line('the red apple').waitFor();
    await expect
      .poll(() => line('the red apple').locator('mark').allInnerTexts())
      .toEqual(['red', ' app']);
    await page.locator('.log-foot', { hasText: /^1 line,/ }).waitFor();
    await page.getByLabel('Search lines').fill('"no such fruit"');
    await page.getByText('No lines match the filter.').waitFor();
  });

  it('handles a line of one megabyte', async () => {
    await print('huge x', { repeat: 500_000 });
    await line('huge xhuge').click();
    await page.getByText('[cut, 3000000 characters]').waitFor();
  });

  it('filters by level, bot, direction and text, and stores the filter in the address', async () => {
    await print('a quiet word');
    await print('a loud word', { level: 'error' });
    await line('a loud word').waitFor();
    await page.getByRole('button', { name: 'error', exact: true }).click();
    await expect.poll(() => line('a quiet word').count()).toBe(0);
    await line('a loud word').waitFor();
    await page.getByRole('button', { name: 'error', exact: true }).click();
    await page.getByLabel('Search lines').fill('QUIET');
    await page.locator('mark', { hasText: 'quiet' }).first().waitFor();
    await expect.poll(() => line('a loud word').count()).toBe(0);
    expect(page.url()).toContain('q=QUIET');
    await show(page, '#/log?q=direction:outgoing+bot:demo-1');
    await page.locator('.dir-out').first().waitFor();
    expect(await page.locator('.dir-in').count()).toBe(0);
    await show(page, '#/log?q=scope:bot,tcp');
    const box = page.getByLabel('Search lines');
    await expect.poll(() => box.inputValue()).toBe('scope:bot,tcp');
    await box.fill('scope:tcp');
    await expect.poll(() => page.url()).toMatch(/#\/log\?q=scope%3Atcp$/);
  });

  it('stores the log filter of one bot in the address, also on its other tabs', async () => {
    await print('for the address');
    await show(page, '#/bots/painter-1?q=%22for+the+ADDRESS%22');
    await page.locator('mark', { hasText: 'for the address' }).first().waitFor();
    await page.getByLabel('Search lines').fill('"for the ADDRESS" direction:*');
    await expect.poll(() => page.url()).toMatch(/painter-1\?q=%22for\+the\+ADDRESS%22\+direction/);
    await expect.poll(() => line('for the address').count()).toBe(0);
    await page.getByRole('tab', { name: 'Incidents' }).click();
    await page.getByRole('tab', { name: 'Live' }).click();
    await expect
      .poll(() => page.getByLabel('Search lines').inputValue())
      .toBe('"for the ADDRESS" direction:*');
  });

  it('loses no letter typed while a search starts', async () => {
    await page.getByLabel('Search lines').focus();
    // The next letter arrives between the search and its rendering.
    await page.evaluate(`{
      const real = history.replaceState.bind(history);
      history.replaceState = (...call) => {
        history.replaceState = real;
        real(...call);
        const box = document.activeElement;
        box.value += 'c';
        box.dispatchEvent(new Event('input', { bubbles: true }));
      };
    }`);
    await page.keyboard.type('ab');
    await expect.poll(() => page.url()).toContain('q=abc');
    expect(await page.getByLabel('Search lines').inputValue()).toBe('abc');
  });

  it('closes the menu when the focus leaves it', async () => {
    await page.getByLabel('Download').click();
    await page.getByRole('button', { name: /Loaded lines/ }).focus();
    const menu = page.locator('details.menu', { has: page.getByLabel('Download') });
    expect(await menu.getAttribute('open')).not.toBeNull();
    await page.getByLabel('Search lines').focus();
    expect(await menu.getAttribute('open')).toBeNull();
  });

  it('keeps the line in view whose details are shown below', async () => {
    await print('line %n before it', { times: 60 });
    const last = line('line 60 before it');
    await last.click();
    const isSeen = () =>
      page.evaluate(`(() => {
        const { bottom } = document.querySelector('.log-row.is-active').getBoundingClientRect();
        return bottom <= document.querySelector('.log-list').getBoundingClientRect().bottom;
      })()`);
    await page.getByRole('region', { name: 'Line details' }).waitFor();
    expect(await isSeen()).toBe(true);
    await page.keyboard.press('Escape');
    // Again with the keyboard, from the end.
    await page.keyboard.press('G');
    await page.locator('[data-following=true]').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Line details' }).waitFor();
    expect(await isSeen()).toBe(true);
  });

  it('copies lines, and a link to one that shows it again', async () => {
    await opened.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await print('worth a link');
    await line('worth a link').last().click();
    await page.getByRole('button', { name: 'Link' }).click();
    await page.getByText('Link copied').waitFor();
    const href = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(href).toMatch(/#\/log\?at=[0-9a-f]+-\d+$/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    await page.getByText('Line copied').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toMatch(
      / info bot painter-1 worth a link$/,
    );
    await show(page, '#/overview');
    await show(page, href.slice(href.indexOf('#')));
    await page.locator('.log-row.is-active', { hasText: 'worth a link' }).waitFor();
  });

  it('copies without clipboard access, and keeps the focus', async () => {
    await page.evaluate('delete Navigator.prototype.clipboard');
    await print('copied by hand');
    await line('copied by hand').last().click();
    await page.getByRole('button', { name: 'JSON' }).press('Enter');
    await page.getByText('JSON copied').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('JSON');
    await page.getByRole('button', { name: 'Close line details' }).press('Enter');
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('role')"))
      .toBe('grid');
  });

  it('downloads the loaded events, one per line', async () => {
    await print('to be kept');
    await line('to be kept').first().waitFor();
    await page.getByLabel('Download').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Loaded lines/ }).click(),
    ]);
    const events = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(events.map(({ data }) => data?.message)).toContain('to be kept');
  });

  it('downloads the events of one direction from the journal', async () => {
    await show(page, '#/log?q=bot:demo-1+direction:outgoing');
    await page.locator('.dir-out').first().waitFor();
    await page.getByLabel('Download').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /All lines in the journal/ }).click(),
    ]);
    const events = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text) as { event: string; data: Record<string, unknown> })
      .filter(({ event }) => event === 'log');
    expect(events.length).toBeGreaterThan(0);
    for (const { data } of events) {
      expect(data).toMatchObject({ session_id: 'demo-1', direction: 'outgoing' });
    }
  });
});

describe('tokens', () => {
  it('are created with scopes, shown once, listed and revoked', async () => {
    await openWithToken(page, service, await service.token());
    await show(page, '#/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await dialog.getByLabel('Name').fill('from the page');
    await dialog.getByLabel('control').check();
    await dialog.getByLabel('Restrict to').selectOption('labels');
    await dialog.getByLabel('Labels').fill('team=art');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await page.locator('[data-created]').innerText();
    const bots = await call(service, 'GET', '/api/bots', { token });
    expect((bots.json as { bots: { id: string }[] }).bots.map(({ id }) => id)).toContain(
      'painter-1',
    );
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Revoke from the page' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).last().click();
    await page.getByText('from the page revoked').waitFor();
    expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(401);
    await expect
      .poll(() => page.getByRole('button', { name: 'Revoke from the page' }).count())
      .toBe(0);
    // The row with the focus is gone: its neighbour has it.
    const tokens = page.getByRole('grid', { name: 'Tokens' });
    await tokens.locator('button:focus').waitFor();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('Home');
    expect(await tokens.locator('tr:nth-child(1) td:nth-child(1):focus').count()).toBe(1);
    expect(await tokens.locator('tbody [tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('ArrowRight');
    expect(await tokens.locator(':focus').innerText()).toMatch(/^admin$/);
  });
});

it('turns no text into markup or script, and lets no code add a policy that would', async () => {
  await openWithToken(page, service, await service.token());
  const refused = (code: string): Promise<string> =>
    page.evaluate(
      `(() => { try { ${code}; return 'done' } catch (thrown) { return thrown.name } })()`,
    );
  expect(await refused('document.body.innerHTML = "<b>markup</b>"')).toBe('TypeError');
  expect(await refused('new Worker("/assets/x.js")')).toBe('TypeError');
  expect(await refused('trustedTypes.createPolicy("other", {})')).toBe('TypeError');
  // Nor a second one under the existing name.
  expect(await refused('trustedTypes.createPolicy("drover", {})')).toBe('TypeError');
  // The page still works, and has reported why.
  await print('not markup');
  await show(page, '#/log');
  await page.locator('.log-row', { hasText: 'not markup' }).waitFor();
  expect(opened.complaints.splice(0).length).toBeGreaterThanOrEqual(4);
});

it('keeps theme, density and time zone', async () => {
  await openWithToken(page, service, await service.token());
  await show(page, '#/settings');
  await page.getByLabel('Dark').check();
  await page.getByLabel('Compact').check();
  await page.getByLabel('Time zone').selectOption('UTC');
  await page.getByText(/Current time: .* UTC/).waitFor();
  await page.reload();
  await page.getByText(/Current time: .* UTC/).waitFor();
  expect(await page.evaluate('({ ...document.documentElement.dataset })')).toEqual({
    theme: 'dark',
    density: 'compact',
  });
});

it('ignores single-key shortcuts when they are switched off', async () => {
  await openWithToken(page, service, await service.token());
  await show(page, '#/settings');
  await page.getByLabel('Single-key shortcuts').uncheck();
  await page.reload();
  await show(page, '#/bots');
  await row('demo-1').waitFor();
  await page.locator('body').click({ position: { x: 700, y: 780 } });
  for (const key of ['x', 'n', '?', '/', 'g', 'l']) await page.keyboard.press(key);
  await page.keyboard.press('ArrowDown');
  await page.locator('.bots-row.is-active').waitFor();
  expect(page.url()).toMatch(/#\/bots$/);
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(await page.locator('[data-selected]').count()).toBe(0);
  await page.getByRole('button', { name: 'Keyboard' }).click();
  await page.getByText('Single-key shortcuts are off').waitFor();
});

it('counts down while the PIN is locked, and accepts it afterwards', async () => {
  await page.goto(service.url);
  const wrong = service.pin === '000000' ? '111111' : '000000';
  // Typed only, as a person without a mouse does.
  const isAtFirst = () =>
    page.getByLabel('Digit 1 of 6').evaluate((box) => box.matches(':focus:read-write'));
  for (let tries = 0; tries < 5; tries++) {
    await expect.poll(isAtFirst).toBe(true);
    await page.keyboard.type(wrong);
    await page.locator('.sign-in-state .fault').waitFor();
    if (await page.locator('[data-locked]').isVisible()) break;
    await expect.poll(() => page.getByLabel('Digit 6 of 6').inputValue()).toBe('');
  }
  const locked = page.locator('[data-locked]', { hasText: /Try again in \d+ s/ });
  await locked.waitFor();
  // Screen readers announce it once: only the hidden text counts down. The page samples both until the lock ends.
  const { aloud, shown } = await page.evaluate<{ aloud: string[]; shown: string[] }>(`
    new Promise((resolve) => {
      const aloud = new Set();
      const shown = new Set();
      const timer = setInterval(() => {
        const locked = document.querySelector('[data-locked]');
        if (!locked) {
          clearInterval(timer);
          resolve({ aloud: [...aloud], shown: [...shown] });
          return;
        }
        shown.add(locked.querySelector('strong').textContent);
        const copy = locked.cloneNode(true);
        for (const silent of copy.querySelectorAll('[aria-hidden]')) silent.remove();
        aloud.add(copy.textContent);
      }, 20);
    })`);
  expect(aloud).toEqual([expect.stringMatching(/Too many wrong PINs.+Try again in \d+ s/)]);
  expect(shown.length).toBeGreaterThan(1);
  await page.getByText('You can try again now').waitFor();
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
});
