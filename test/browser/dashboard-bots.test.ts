// The built dashboard on the real service, used as a person would: the table of bots, one bot, its commands and config.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { invoke, snapshot } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { type Opened, openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

let browser: Browser;
let service: Service;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  opened = await openPage(browser);
  page = opened.page;
  await openWithToken(page, service, await service.token());
});
afterEach(async () => {
  await opened.context.close();
  expect(opened.complaints).toEqual([]);
});

const row = (id: string) => page.locator(`[data-bot="${id}"]`);
/** The focused element: its id or its text. */
const focused = () =>
  page.evaluate<string>(`(({ id, textContent, tagName }) =>
    id || (tagName === 'BODY' ? 'nothing' : textContent))(document.activeElement)`);
const status = (id: string, name: string) => row(id).locator('.status', { hasText: name });

describe('the table of bots', () => {
  it('finds a running bot that says nothing, also when the page has just been opened', async () => {
    await call(service, 'POST', '/api/bots', {
      body: { id: 'quiet', kind: 'painter', config: { greeting: 'good night' } },
    });
    await expect.poll(async () => (await snapshot(service, 'quiet')).status).toBe('painting');
    await invoke(service, 'painter-1', 'print', { text: 'not quiet', level: 'info' });
    const first = (of: Page) => of.locator('.list-row [data-bot]').first().getAttribute('data-bot');
    const silence = (of: Page) => of.locator('[data-bot=quiet] .cell-silent');

    // The clock of this page is ten minutes ahead when it is told to be.
    await page.addInitScript(
      'const now = Date.now; Date.now = () => now() + (globalThis.aheadMs ?? 0);',
    );
    await page.reload();
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'Silent for' }).click();
    await page.getByRole('button', { name: 'Silent for' }).click();
    await expect.poll(() => first(page)).toBe('quiet');
    await page.evaluate('globalThis.aheadMs = 600_000');
    await expect.poll(() => silence(page).innerText()).toMatch(/^1\d min$/);
    expect(await row('quiet').locator('.cell-since').innerText()).toMatch(/^1\d min$/);
    const said = await silence(page).getAttribute('title');
    expect(said).toMatch(/^Last line at \d{4}-/);

    // Another browser, whose stream begins now: the line is not among the newest of the journal.
    const other = await openPage(browser);
    const asked: string[] = [];
    let isHeld = true;
    await other.page.route('**/api/events?*', async (route) => {
      const url = new URL(route.request().url());
      const sessions = url.searchParams.get('session');
      asked.push(sessions ?? '');
      if (sessions !== null && isHeld) return;
      if (!url.searchParams.has('session')) url.searchParams.set('limit', '1');
      await route.continue({ url: url.href });
    });
    await openWithToken(other.page, service, await service.token());
    await show(other.page, '#/bots?sort=silent&down=1');
    await expect.poll(() => asked.join()).toContain('quiet');
    // Nobody looks for silent bots when their table is left.
    const ended = other.page.waitForEvent('requestfailed', (request) =>
      request.url().includes('quiet'),
    );
    await show(other.page, '#/rules');
    await ended;
    isHeld = false;
    await show(other.page, '#/bots?sort=silent&down=1');
    await expect.poll(() => silence(other.page).getAttribute('title')).toBe(said);
    await expect.poll(() => first(other.page)).toBe('quiet');

    // The journal does not answer: what is not known is said.
    await other.page.unrouteAll();
    await other.page.route('**/api/events?*', (route) =>
      route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: {} }),
    );
    await other.page.reload();
    await expect.poll(() => silence(other.page).innerText()).toMatch(/^> \d+ s$/);
    expect(await silence(other.page).getAttribute('title')).toMatch(/^No line since \d{4}-/);
    // It has said when to ask again.
    await other.page.unrouteAll();
    await expect.poll(() => silence(other.page).getAttribute('title')).toBe(said);
    await other.context.close();

    await page.evaluate('globalThis.aheadMs = 0');

    // A stopped bot is not silent. It comes last.
    await call(service, 'POST', '/api/bots/quiet/stop');
    await expect.poll(() => silence(page).innerText()).toBe('–');
    await expect.poll(() => first(page)).not.toBe('quiet');
    await call(service, 'DELETE', '/api/bots/quiet');
  });

  it('updates live, filters, and restarts a selected bot', async () => {
    await page.locator('[data-count=in_world]', { hasText: '3' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('b');
    await status('demo-1', 'in_world').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('demo');
    await expect.poll(() => page.locator('[data-bot]').count()).toBe(3);
    // The completions are above the rows.
    await page.keyboard.press('Enter');
    const before = (await snapshot(service, 'demo-2')).started_at_ms;
    await page.getByLabel('Select demo-2').click();
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    await page.getByRole('button', { name: 'Restart bot' }).click();
    await page.getByText('1 bot restarted').waitFor();
    expect((await snapshot(service, 'demo-2')).started_at_ms).toBeGreaterThan(before ?? 0);
    await status('demo-2', 'in_world').waitFor();
  });

  it('sorts, and works with the keyboard', async () => {
    await show(page, '#/bots');
    await row('demo-1').waitFor();
    await page.getByRole('button', { name: 'Bot', exact: true }).click();
    await expect
      .poll(() => page.locator('[data-bot]').first().getAttribute('data-bot'))
      .toBe('painter-1');
    await page.locator('body').click({ position: { x: 700, y: 780 } });
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
    await page.locator('[data-selected]', { hasText: '2 selected' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('[data-selected]').count()).toBe(0);
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Clear selection' }).press('Enter');
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')"))
      .toBe('Bots');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /demo-3/ }).waitFor();
    expect(await focused()).toBe('main');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  });

  it('is inert behind a dialog: keys do nothing, and confirming acts on the bots that were named', async () => {
    for (const id of ['behind-1', 'behind-2']) {
      await call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic' } });
    }
    await show(page, '#/bots?q=behind');
    await page.getByLabel('Select behind-1').click();
    await page.getByLabel('Select behind-2').click();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop 2 bots?' });
    // A click away from every focusable element.
    await dialog.getByText('behind-1, behind-2').click();
    for (const key of ['j', 'x', '*', 'n', 'g', 'l']) await page.keyboard.press(key);
    // One bot is deleted meanwhile.
    await call(service, 'DELETE', '/api/bots/behind-1');
    await expect.poll(() => row('behind-1').count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(page.url()).toContain('#/bots?q=behind');
    await dialog.getByText('behind-1, behind-2').waitFor();
    await dialog.getByRole('button', { name: 'Stop 2 bots' }).click();
    await page.getByText('1 bot stopped').waitFor();
    await page.getByText(/Stop failed: behind-1/).waitFor();
    await status('behind-2', 'stopped').waitFor();
  });

  it('restarts those that run, and starts those that are stopped only on request', async () => {
    for (const [id, desired] of Object.entries({ 'again-1': 'running', 'again-2': 'stopped' })) {
      await call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic', desired } });
    }
    await show(page, '#/bots?q=again');
    await status('again-2', 'stopped').waitFor();
    const ask = async (): Promise<void> => {
      await page.getByLabel('Select again-1').click();
      await page.getByLabel('Select again-2').click();
      await page.getByRole('button', { name: 'Restart', exact: true }).click();
      await page.getByText('1 running, 1 stopped').waitFor();
    };
    await ask();
    await page.getByRole('button', { name: 'Restart bot' }).click();
    await page.getByText('1 bot restarted').waitFor();
    expect((await snapshot(service, 'again-2')).desired).toBe('stopped');
    await ask();
    await page.getByLabel('Also start the stopped bot').check();
    await page.getByRole('button', { name: 'Restart 2 bots' }).click();
    await page.getByText('2 bots restarted').waitFor();
    expect((await snapshot(service, 'again-2')).desired).toBe('running');
  });

  it('has the full text of a truncated cell in its title, and truncates with an ellipsis', async () => {
    const labels = { team: 'art', described: 'as long as the row is wide, and longer than that' };
    const id = `bot-${'x'.repeat(58)}`;
    await call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic', labels } });
    await show(page, '#/bots?q=xxx');
    const [cut, cell] = [row(id).locator('.cell-id'), row(id).locator('.cell-labels')];
    await cut.waitFor();
    expect(await cut.getAttribute('title')).toBe(id);
    expect(await cell.getAttribute('title')).toBe(`team=art\ndescribed=${labels.described}`);
    const ends = await cell.evaluate((box) => {
      const last = box.querySelector('.label:last-child');
      return {
        isWithin:
          (last?.getBoundingClientRect().right ?? Infinity) <= box.getBoundingClientRect().right,
        isCut: last !== null && last.scrollWidth > last.clientWidth,
      };
    });
    expect(ends).toEqual({ isWithin: true, isCut: true });
    const more = { ...labels, one: '1', two: '2', three: '3' };
    await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: more } });
    await cell.getByText('+3').waitFor();
    expect(await cell.locator('.label').count()).toBe(2);
    await call(service, 'DELETE', `/api/bots/${id}`);
  });

  it('shows how many selected bots the filter hides', async () => {
    await show(page, '#/bots?q=demo');
    await page.getByLabel('Select demo-1').click();
    await page.getByLabel('Select demo-2').click();
    await page.getByLabel('Search bots').fill('demo-2');
    await page.getByText('1 hidden by the filter').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('dialog', { name: 'Stop 2 bots?' }).getByText('demo-1, demo-2').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Search bots').fill('demo');
    await expect.poll(() => page.getByText('hidden by the filter').count()).toBe(0);
  });

  it('selects a range with Shift, and only the clicked bot when the anchor is hidden', async () => {
    await show(page, '#/bots');
    await page.getByLabel('Select painter-1').click();
    await page.getByLabel('Search bots').fill('demo');
    await expect.poll(() => page.locator('[data-bot]').count()).toBe(3);
    await page.getByLabel('Select demo-2').click({ modifiers: ['Shift'] });
    await page.locator('[data-selected]', { hasText: '2 selected' }).waitFor();
    await page.getByLabel('Select demo-3').click({ modifiers: ['Shift'] });
    await page.locator('[data-selected]', { hasText: '3 selected' }).waitFor();
    expect(await page.getByLabel('Select demo-1').isChecked()).toBe(false);
  });

  it('keeps its selection and position when a person comes back from a bot', async () => {
    const ids = Array.from({ length: 30 }, (_, n) => `left-${n + 1}`);
    for (const id of ids) {
      const body = { id, kind: 'synthetic', desired: 'stopped' };
      await call(service, 'POST', '/api/bots', { body });
    }
    await show(page, '#/bots?q=left');
    // Not while bots still arrive: rows would move under the pointer, and a shorter list cannot be scrolled as far.
    await page.locator('[data-shown="30"]').waitFor();
    await page.getByLabel('Select left-1', { exact: true }).click();
    await page.locator('[data-selected]', { hasText: '1 selected' }).waitFor();
    const list = page.locator('.bots-list');
    const place = () => list.evaluate((box) => box.scrollTop);
    for (const back of [() => page.goBack(), () => page.keyboard.press('u')]) {
      await list.evaluate((box) => {
        box.scrollTop = 400;
      });
      await page.getByRole('link', { name: 'left-18' }).click();
      await page.getByRole('heading', { name: 'left-18' }).waitFor();
      await back();
      await page.locator('[data-selected]', { hasText: '1 selected' }).waitFor();
      expect(await place()).toBe(400);
      await page.locator('.is-active[data-bot=left-18]').waitFor();
    }
    for (const id of ids) await call(service, 'DELETE', `/api/bots/${id}`);
  });

  it('focuses the right control in a dialog: the first field or the requested action, never a destructive one', async () => {
    await show(page, '#/bots');
    await row('demo-3').waitFor();
    await page.locator('body').click({ position: { x: 700, y: 780 } });
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New bot' }).waitFor();
    await page.keyboard.type('typed');
    expect(await page.getByLabel(/^ID/).inputValue()).toBe('typed');
    await page.keyboard.press('Escape');
    await page.getByLabel('Select demo-3').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(focused).toBe('Cancel');
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Delete');
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    await expect.poll(focused).toBe('Restart bot');
    await page.keyboard.press('Enter');
    await page.getByText('1 bot restarted').waitFor();
    // The button that opened the dialog is gone with the selection.
    await expect.poll(focused).toBe('main');
    await status('demo-3', 'in_world').waitFor();
  });

  it('creates a bot from the form of its kind, and shows an error beside its field', async () => {
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'New bot' }).click();
    const dialog = page.getByRole('dialog', { name: 'New bot' });
    await dialog.getByLabel('Kind', { exact: true }).selectOption('painter');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => dialog.getByText('is required').count()).toBe(2);
    await dialog.getByLabel(/^ID/).fill('painter-2');
    await dialog.getByLabel(/^greeting/).fill('hello');
    await dialog.getByLabel('size').fill('11');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('is more than 10').waitFor();
    await dialog.getByLabel('size').fill('7');
    await dialog.getByLabel('is_loud').check();
    await dialog.getByLabel('colour').selectOption('green');
    await dialog.getByLabel('words').fill('one\ntwo');
    await dialog.getByLabel('Labels').fill('team=art');
    await dialog.getByLabel('Runs in').selectOption('a process');
    await dialog.getByLabel('Host group').fill('no group');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await expect
      .poll(() => dialog.getByLabel('Host group').getAttribute('aria-invalid'))
      .toBe('true');
    await dialog.getByLabel('Host group').fill('studio');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'painter-2' }).waitFor();
    const { config, isolation, host_group } = (
      await call(service, 'GET', '/api/bots/painter-2/config')
    ).json as { config: unknown; isolation: string; host_group: string };
    expect([isolation, host_group]).toEqual(['process', 'studio']);
    expect(config).toEqual({
      greeting: 'hello',
      size: 7,
      is_loud: true,
      colour: 'green',
      words: ['one', 'two'],
      place: { x: 0, y: 0 },
    });
  });

  it('creates several bots at once, stays for the next, and begins with what another bot has', async () => {
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'New bot' }).click();
    let dialog = page.getByRole('dialog', { name: 'New bot' });
    await dialog.getByLabel('Kind', { exact: true }).selectOption('painter');
    await dialog.getByLabel(/^ID/).fill('many');
    await dialog.getByLabel('How many').fill('3');
    await dialog.getByLabel(/^greeting/).fill('I am number {n}');
    // Items of a list and values of a record have fields, as objects do.
    await dialog.getByRole('button', { name: 'Add to routes' }).click();
    await dialog.getByRole('button', { name: 'Add to coats' }).click();
    await dialog.getByLabel('Name 1 of coats').fill('brush');
    await dialog.getByLabel('Labels').fill('number={n}');
    await dialog.getByRole('button', { name: 'Add another' }).click();
    await dialog.getByText('must contain {n}').waitFor();
    // In the item, and in the value of the name.
    await expect.poll(() => dialog.getByText('is required').count()).toBe(2);
    await dialog.getByLabel(/^ID/).fill('many-{n}');
    await dialog.getByLabel(/^to /).fill('the wall of {n}');
    await dialog.getByLabel(/^brush/).fill('4');
    await dialog.getByRole('button', { name: 'Add another' }).click();
    await dialog.getByText('3 bots created').waitFor();
    for (const n of [1, 2, 3]) {
      const { json } = await call(service, 'GET', `/api/bots/many-${n}/config`);
      expect((json as { config: unknown }).config).toMatchObject({
        greeting: `I am number ${n}`,
        routes: [{ to: `the wall of ${n}` }],
        coats: { brush: 4 },
      });
      expect((await snapshot(service, `many-${n}`)).labels).toEqual({ number: String(n) });
    }
    // What is refused is said where it is, with how far it came.
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.getByText('exists already').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();

    await show(page, '#/bots/many-2');
    await page.getByRole('button', { name: 'Duplicate' }).click();
    dialog = page.getByRole('dialog', { name: 'New bot' });
    expect(await dialog.getByLabel(/^greeting/).inputValue()).toBe('I am number 2');
    await dialog.getByLabel(/^ID/).fill('many-4');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'many-4' }).waitFor();
    expect((await snapshot(service, 'many-4')).labels).toEqual({ number: '2' });
    for (const n of [1, 2, 3, 4]) await call(service, 'DELETE', `/api/bots/many-${n}`);
  });

  it('scrolls to an error in the form of a new bot, and focuses its field', async () => {
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'New bot' }).click();
    const dialog = page.getByRole('dialog', { name: 'New bot' });
    await dialog.getByLabel('Kind', { exact: true }).selectOption('painter');
    const create = dialog.getByRole('button', { name: 'Create' });
    const sees = async (text: string): Promise<void> => {
      const fault = dialog.locator('.fault', { hasText: text });
      await expect
        .poll(() =>
          fault.evaluate((element) => {
            const { top, bottom } = element.getBoundingClientRect();
            const part = element.closest('.dialog-body')?.getBoundingClientRect();
            return part !== undefined && top >= part.top - 1 && bottom <= part.bottom + 1;
          }),
        )
        .toBe(true);
    };
    const field = (name: RegExp) => dialog.getByLabel(name).and(page.locator(':focus'));
    const id = dialog.getByLabel(/^ID/);
    await id.fill('painter-1');
    await create.click();
    await sees('is required');
    await field(/^greeting/).fill('hello');
    await create.click();
    await sees('painter-1 exists already');
    await field(/^ID/).fill('not good');
    await create.click();
    await sees('must be 1 to 64 letters');
    expect(await dialog.locator('.field .fault').count()).toBe(1);
    await field(/^ID/).fill('new-1');
    // Scrolled to the bottom.
    await dialog.getByLabel(/^greeting/).fill('');
    await dialog.getByLabel('Run on a dedicated host').focus();
    await create.click();
    await sees('is required');
    await field(/^greeting/).fill('hello');
    await dialog.getByLabel('Labels').fill('nonsense');
    await id.focus();
    await create.click();
    await sees('is not a label');
  });
});

describe('one bot', () => {
  it('keeps the focus on the control of an action while the action runs', async () => {
    await show(page, '#/bots/demo-3');
    const held = page.waitForRequest('**/api/bots/demo-3/restart');
    let answer = () => {};
    await page.route('**/api/bots/demo-3/restart', async (route) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.continue();
    });
    const button = page.getByRole('button', { name: 'Restart', exact: true });
    await button.click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    await held;
    await expect.poll(focused).toBe('Restart');
    // It is inactive while the action runs.
    expect(await button.isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    expect(await page.getByRole('dialog').count()).toBe(0);
    answer();
    await expect.poll(() => button.isDisabled()).toBe(false);
    expect(await focused()).toBe('Restart');
  });

  it('sends only the changed fields of a configuration', async () => {
    await show(page, '#/bots/painter-1?tab=config');
    // An error is beside the button, as long as it is true.
    await page.route('**/api/bots/painter-1', (route) => route.abort());
    await page.getByLabel('size').fill('6');
    await page.getByRole('button', { name: 'Save' }).click();
    const fault = page.locator('.form-end .fault');
    await fault.waitFor();
    await page.unroute('**/api/bots/painter-1');
    await page.getByLabel('size').fill('5');
    await expect.poll(() => fault.count()).toBe(0);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('painter-1 saved').waitFor();
    const { config } = (await call(service, 'GET', '/api/bots/painter-1/config')).json as {
      config: { size: number };
    };
    expect(config).toMatchObject({ size: 5, greeting: 'good morning' });
    await expect.poll(async () => (await snapshot(service, 'painter-1')).status).toBe('painting');
  });

  it('creates bots with a restart policy, and changes it without a restart', async () => {
    await show(page, '#/bots');
    await page.getByRole('button', { name: 'New bot' }).click();
    const dialog = page.getByRole('dialog', { name: 'New bot' });
    await dialog.getByLabel('Kind', { exact: true }).selectOption('synthetic');
    await dialog.getByLabel(/^ID/).fill('stubborn');
    await dialog.getByText('Restart policy').click();
    await dialog.getByLabel('Policy').selectOption('always');
    await dialog.getByLabel('Maximum restarts').fill('7');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'stubborn' }).waitFor();
    const policy = async () =>
      ((await call(service, 'GET', '/api/bots/stubborn/config')).json as { restart: object })
        .restart;
    expect(await policy()).toMatchObject({ policy: 'always', max_restarts: 7 });
    await expect.poll(async () => (await snapshot(service, 'stubborn')).status).toBe('running');
    const before = await snapshot(service, 'stubborn');

    await page.getByRole('tab', { name: 'Configuration' }).click();
    await page.getByText('Restart policy').click();
    await page.getByLabel('Window (ms)').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is required').waitFor();
    await page.getByLabel('Window (ms)').fill('60000');
    await page.getByLabel('Maximum restarts').fill('3');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('stubborn saved').waitFor();
    expect(await policy()).toMatchObject({ policy: 'always', max_restarts: 3 });
    // What is saved is folded again.
    await page.getByLabel('Maximum restarts').waitFor({ state: 'hidden' });
    await page.getByText('Restart policy').click();
    await page.getByLabel('Maximum restarts').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(policy).toMatchObject({ policy: 'always', max_restarts: null });
    expect((await snapshot(service, 'stubborn')).started_at_ms).toBe(before.started_at_ms);
    await call(service, 'DELETE', '/api/bots/stubborn');
  });

  it('does not send invalid JSON, and shows the error beside the field', async () => {
    await show(page, '#/bots/painter-1?tab=config');
    await page.getByLabel('frame').fill('{"left": 1');
    await page.getByText('is not JSON').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.getByLabel('frame').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('size').fill('6');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await page.getByText('painter-1 saved').count()).toBe(0);
    await page.getByLabel('frame').fill('{"left": 1}');
    await expect.poll(() => page.getByText('is not JSON').count()).toBe(0);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('painter-1 saved').waitFor();
    const { config } = (await call(service, 'GET', '/api/bots/painter-1/config')).json as {
      config: unknown;
    };
    expect(config).toMatchObject({ size: 6, frame: { left: 1 } });
    // The stored value, not the abandoned edit.
    await page.getByLabel('frame').fill('[');
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(JSON.parse(await page.getByLabel('frame').inputValue())).toEqual({ left: 1 });
  });

  it('changes the edited labels, and keeps changes of other clients to the rest', async () => {
    const update = (labels: object) =>
      call(service, 'PATCH', '/api/bots/demo-2', { body: { labels } });
    await update({ team: 'a', zone: 'eu' });
    await show(page, '#/bots/demo-2?tab=config');
    const labels = page.getByLabel('Labels');
    await expect.poll(() => labels.inputValue()).toBe('team=a\nzone=eu');
    await update({ team: 'a', zone: 'us' });
    await expect.poll(() => labels.inputValue()).toBe('team=a\nzone=us');
    await labels.fill('team=b\nzone=us');
    await update({ team: 'a', zone: 'us', tier: 'gold' });
    await page.getByText('The labels have changed').getByText('tier=gold').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('demo-2 saved').waitFor();
    expect((await snapshot(service, 'demo-2')).labels).toEqual({
      team: 'b',
      zone: 'us',
      tier: 'gold',
    });
  });

  it('runs a command with a form, which says what is missing', async () => {
    await show(page, '#/bots/demo-1');
    await page.getByRole('button', { name: 'Run with a form' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Command').selectOption('move');
    await dialog.getByRole('button', { name: /^Run move/ }).click();
    await expect.poll(() => dialog.getByText('is required').count()).toBe(2);
    await dialog.getByLabel('Command').selectOption('say');
    await dialog.getByLabel(/^text/).fill('hello from a browser');
    await dialog.getByRole('button', { name: /^Run say/ }).click();
    await dialog.getByText('"hello from a browser"').first().waitFor();
    await page.keyboard.press('Escape');
    await page
      .locator('.log-row', { hasText: 'Say{text="hello from a browser"}' })
      .first()
      .waitFor();
  });

  it('shows the commands of a program when it has said which it has', async () => {
    const body = { id: 'counter-1', kind: 'counter', desired: 'stopped' };
    await call(service, 'POST', '/api/bots', { body });
    await show(page, '#/bots/counter-1');
    await call(service, 'POST', '/api/bots/counter-1/start');
    const line = page.getByRole('combobox', { name: 'Command for counter-1' });
    await line.fill('count by=5');
    await line.press('Enter');
    await page.locator('.results').getByText('5').first().waitFor();
    await expect
      .poll(async () => (await snapshot(service, 'counter-1')).data)
      .toEqual({ count: 5 });
  });

  it('keeps typed text and command results while other tabs are open', async () => {
    const part = (name: string) => page.getByRole('tab', { name }).click();
    const size = page.getByLabel('size');
    const line = page.getByRole('combobox', { name: 'Command for painter-1' });
    const written = page.locator('.results').getByText('"written": 1');
    const change = (to: number) =>
      call(service, 'PATCH', '/api/bots/painter-1', { body: { config: { size: to } } });
    await show(page, '#/bots/painter-1');
    await line.fill('print text=kept');
    await line.press('Enter');
    await written.waitFor();
    await page.locator('.log-row', { hasText: 'kept' }).first().waitFor();
    await line.fill('print text="half of it');
    // A tab that failed to load loads again when it is opened again.
    await page.route('**/api/bots/painter-1/config', (route) => route.abort(), { times: 1 });
    await part('Configuration');
    await page.locator('.bot-part .unanswered', { hasNotText: 'Loading' }).waitFor();
    await part('Live');
    await part('Configuration');
    await size.fill('9');
    await change(4);
    await part('Live');
    expect(await line.inputValue()).toBe('print text="half of it');
    expect(await written.isVisible()).toBe(true);
    await part('Configuration');
    expect(await size.inputValue()).toBe('9');
    // An unedited field follows the stored value.
    await page.getByRole('button', { name: 'Discard' }).click();
    await part('Live');
    await change(2);
    await part('Configuration');
    await expect.poll(() => size.inputValue()).toBe('2');
  });

  it('shows data as it changes, and an error with its stack', async () => {
    await show(page, '#/bots/painter-1');
    await invoke(service, 'painter-1', 'show', { name: 'canvas', value: '40 %' });
    await page.locator('[data-field=canvas]', { hasText: '40 %' }).waitFor();
    await invoke(service, 'painter-1', 'fall', { why: 'the \u001b[31mladder\u001b[0m slipped' });
    await page.getByRole('tab', { name: 'Incidents' }).click();
    await page.locator('.incidents summary', { hasText: 'the ladder slipped' }).first().click();
    await page.getByText('painter.mjs').first().waitFor();
    await expect.poll(async () => (await snapshot(service, 'painter-1')).status).toBe('painting');
  });

  it('shows an error while its page is open, even of a bot that does not restart', async () => {
    const ids = ['fragile', 'fragile-too'];
    for (const id of ids) {
      const restart = { policy: 'never' };
      const body = { id, kind: 'painter', config: { greeting: 'hi' }, restart };
      await call(service, 'POST', '/api/bots', { body });
      await expect.poll(async () => (await snapshot(service, id)).status).toBe('painting');
    }
    await show(page, '#/bots/fragile?tab=incidents');
    await page.getByText('No incidents for this bot').waitFor();
    // The first request comes before the incident report exists. Each line that announces one lets the page ask again; that of
    // this bot may come together with its snapshot, and then that of the other is the next.
    const asked = page.waitForResponse('**/api/bots/fragile/incidents*');
    await page.route(
      '**/api/bots/fragile/incidents*',
      (route) => route.fulfill({ json: { incidents: [] } }),
      { times: 1 },
    );
    await invoke(service, 'fragile', 'fall', { why: 'once and for all' });
    await asked;
    await invoke(service, 'fragile-too', 'fall', { why: 'too' });
    const fallen = page.locator('.incidents summary', { hasText: 'once and for all' });
    await fallen.first().waitFor();
    // A newer one pushes it out of the list: it stays as long as it is read.
    await fallen.first().click();
    await page.route('**/api/bots/fragile/incidents*', async (route) => {
      const { incidents } = await (await route.fetch()).json();
      const newer = incidents.map((one: object) => ({ ...one, id: 'newer', reason: 'newer' }));
      await route.fulfill({ json: { incidents: newer } });
    });
    await call(service, 'POST', '/api/bots/fragile/start');
    await page.locator('.incidents summary', { hasText: 'newer' }).waitFor();
    await page.locator('.incident-body:visible').waitFor();
    expect(await fallen.count()).toBe(1);
    await fallen.click();
    await expect.poll(() => fallen.count()).toBe(0);
    await page.unrouteAll();
    for (const id of ids) await call(service, 'DELETE', `/api/bots/${id}`);
  });

  it('shows the earlier statuses of a bot, beyond pages of its data', async () => {
    await call(service, 'POST', '/api/bots', {
      body: { id: 'busy', kind: 'painter', config: { greeting: 'hi' } },
    });
    await expect.poll(async () => (await snapshot(service, 'busy')).status).toBe('painting');
    await call(service, 'POST', '/api/bots/busy/stop');
    await call(service, 'POST', '/api/bots/busy/start');
    await expect.poll(async () => (await snapshot(service, 'busy')).status).toBe('painting');
    for (let n = 1; n <= 12; n++) {
      await invoke(service, 'busy', 'show', { name: 'stroke', value: `${n}` });
      await expect.poll(async () => (await snapshot(service, 'busy')).data['stroke']).toBe(`${n}`);
    }
    await invoke(service, 'busy', 'flicker', { times: 5 });
    // The hub of a new browser holds none of them. Short pages give as many pages as a bot that has run for days.
    const other = await openPage(browser);
    await other.context.route(/\/api\/events\?.*event=session/, (route) =>
      route.continue({ url: route.request().url().replace('limit=1000', 'limit=4') }),
    );
    await openWithToken(other.page, service, await service.token());
    await show(other.page, '#/bots/busy');
    await other.page.getByRole('button', { name: /^Show \d+ more$/ }).click();
    await other.page.locator('.status-periods .status', { hasText: 'stopped' }).waitFor();
    expect(
      await other.page.locator('.status-periods .status', { hasText: 'painting' }).count(),
    ).toBe(3);
    // Newest first, also those of one millisecond.
    const newest = (await other.page.locator('.status-periods .status').allInnerTexts()).slice(
      0,
      6,
    );
    expect(newest).toEqual(['painting', 'coat-5', 'coat-4', 'coat-3', 'coat-2', 'coat-1']);
    await other.context.close();
    await call(service, 'DELETE', '/api/bots/busy');
  });

  it('reports that a bot was deleted while its page is open', async () => {
    await call(service, 'POST', '/api/bots', { body: { id: 'doomed', kind: 'synthetic' } });
    await show(page, '#/bots/doomed');
    await page.getByRole('tab', { name: 'Live' }).waitFor();
    await call(service, 'DELETE', '/api/bots/doomed');
    await page.getByText('This bot has been deleted').waitFor();
  });
});
