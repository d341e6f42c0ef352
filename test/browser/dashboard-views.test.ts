// All views, on one service: what each shows while its data has not come, when it is refused, and when there is none; and whether
// it fits, with names and values of the greatest length.

import AxeBuilder from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show, startForDashboard } from './dashboard-page.js';

const REASON = 'refused by this test';
const WAITS = /Loading…|Searching/i;
/** As long as an id may be. */
const LONG = (n: number): string => `a-bot-of-the-north-${n}-${'x'.repeat(42)}`;
const WORD = 'w'.repeat(900);
/** Also windows that are low, or of which zoom has made a quarter. */
const SIZES = [
  [360, 800],
  [390, 800],
  [640, 400],
  [768, 800],
  [1024, 470],
  [1280, 560],
  [1280, 800],
  [1920, 1080],
];

let browser: Browser;
let service: Service;
let token: string;

beforeAll(async () => {
  browser = await launchChromium(true);
  service = await startForDashboard({ demo: false, config: { bots: [] } });
  token = await service.token();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** A bot that runs, whether it was there or not. */
async function painter(id: string, labels: Record<string, string> = {}): Promise<void> {
  const body = { id, kind: 'painter', config: { greeting: 'hello' }, labels };
  await call(service, 'POST', '/api/bots', { body });
  await eventually(async () => (await snapshot(service, id)).status === 'painting', 'painting');
}

/** What each view says when there is nothing, in so many parts of it. There are always tokens. */
const EMPTY: Readonly<Record<string, readonly string[]>> = {
  '#/overview': ['No bots yet.', 'No incidents.'],
  '#/bots': ['No bots yet.'],
  '#/bots/nobody': ['No bot named “nobody”'],
  '#/log?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z': ['No lines in this time range.'],
  '#/problems?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z': [
    'No incidents in this time range.',
    'Nothing else happened in this time range.',
    'No rules yet.',
    'No rule fired in this time range.',
  ],
  '#/problems': ['No rules yet.', 'No rule has fired in the time that the journal covers'],
  '#/problems/0000000000000000': ['No incidents with this cause in this time range.'],
  '#/runs': ['None. Files in the directory “runs”'],
  '#/runs/nightly.ndjson': ['is not open'],
  '#/nodes': ['This service is not part of a cluster.'],
  '#/tokens': [],
  '#/side?a=level:error&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z': ['no lines match'],
};

/** The same of bots that are there, whose parts ask for more. */
const emptyOf = (id: string, other: string): Readonly<Record<string, readonly string[]>> => ({
  [`#/bots/${id}`]: [],
  [`#/bots/${id}?tab=commands`]: [],
  [`#/bots/${id}?tab=incidents`]: ['No incidents for this bot.'],
  [`#/bots/${id}?tab=config`]: ['No changes in the journal.'],
  [`#/diff?a=${id}&b=${other}`]: ['No differences'],
});

/** A page whose requests are answered in this way. The hub runs in the page: requests of a shared worker cannot be held. */
async function openWith(answer: 'delayed' | 'refused' | 'empty', paths: RegExp): Promise<Page> {
  const { context, page } = await openPage(browser);
  await context.addInitScript('delete globalThis.SharedWorker');
  await page.goto(`${service.url}/#token=${encodeURIComponent(token)}`);
  await page.locator('[data-connection=open]').waitFor();
  if (answer !== 'empty') {
    await page.route(paths, async (route) => {
      if (answer === 'delayed') return;
      await route.fulfill({ status: 503, json: { error: REASON } });
    });
    await page.reload();
  }
  await page.locator('#main h1, #main .unanswered').first().waitFor();
  return page;
}

const textOf = (page: Page): Promise<string> => page.locator('#main').innerText();

async function expectThreeThings(
  views: Readonly<Record<string, readonly string[]>>,
  paths: RegExp,
): Promise<void> {
  const [delayed, refused, empty] = await Promise.all(
    (['delayed', 'refused', 'empty'] as const).map((answer) => openWith(answer, paths)),
  );
  for (const [view, nothing] of Object.entries(views)) {
    const open = (page: Page | undefined): Promise<void> =>
      (page as Page).evaluate(`location.hash = ${JSON.stringify(view)}`);
    await Promise.all([open(delayed), open(refused), open(empty)]);
    const said = (page: Page | undefined, text: string | RegExp) =>
      expect.poll(() => textOf(page as Page), { message: view }).toMatch(text);
    await Promise.all([
      said(delayed, WAITS),
      said(refused, REASON),
      ...nothing.map((text) => said(empty, text)),
    ]);
    const texts = await Promise.all([delayed, refused].map((page) => textOf(page as Page)));
    for (const text of nothing) {
      for (const shown of texts) expect(shown, view).not.toContain(text);
    }
    const [, ofRefused = ''] = texts;
    expect(ofRefused, view).not.toMatch(WAITS);
    await expect
      .poll(() => textOf(empty as Page), { message: view })
      .not.toMatch(new RegExp(`${WAITS.source}|${REASON}`, 'i'));
  }
  for (const page of [delayed, refused, empty]) await page?.context().close();
}

it('each view says whether it waits for its data, was refused it, or has none', async () => {
  await expectThreeThings(EMPTY, /\/api\/|\/events/);
});

it('and so does each part of bots that are there', async () => {
  for (const n of [0, 1]) await painter(LONG(n));
  await expectThreeThings(emptyOf(LONG(0), LONG(1)), /\/api\//);
});

it('chips of the legend keep their places when the last bot of one has left it, and titles have the free space', async () => {
  const team = `team-${'t'.repeat(50)}`;
  await painter('chips-1', { team });
  await painter('chips-2', { team: 'short' });
  const { context, page } = await openPage(browser);
  await openWithToken(page, service, token);
  await show(page, '#/overview?by=label:team');
  await page.locator('[data-count=painting]').waitFor();
  await call(service, 'POST', '/api/bots/chips-2/stop');
  await page.locator('[data-count=stopped]', { hasText: '1' }).waitFor();
  await call(service, 'POST', '/api/bots/chips-2/start');
  await page.locator('[data-count=stopped]', { hasText: '0' }).waitFor();
  await page.locator('.herd-title-name', { hasText: team }).waitFor();
  const cut = await page.evaluate<
    string[]
  >(`[...document.querySelectorAll('.herd-title')].flatMap((one, at, all) => {
    const name = one.querySelector('.herd-title-name');
    const next = all[at + 1];
    const isBeside = next && next.offsetTop === one.offsetTop;
    const end = isBeside ? next.getBoundingClientRect().left : document.querySelector('.herd-titles').parentElement.getBoundingClientRect().right;
    const free = end - one.lastElementChild.getBoundingClientRect().right;
    return name.scrollWidth > name.clientWidth && free > 12 ? [name.textContent + ' ' + free] : [];
  })`);
  expect(cut).toEqual([]);
  await call(service, 'DELETE', '/api/bots/chips-1');
  await call(service, 'DELETE', '/api/bots/chips-2');
  await context.close();
});

it('one long name among short ones takes no room from what all rows have to say', async () => {
  for (let n = 1; n <= 9; n++) {
    const id = `short-${n}`;
    await painter(id, { size: 'short' });
    await invoke(service, id, 'print', { text: 'a short line' });
  }
  await painter(LONG(0));
  await invoke(service, LONG(0), 'print', { text: 'a line of one with a long name' });
  const { context, page } = await openPage(browser, { width: 1280 });
  await openWithToken(page, service, token);
  const idColumn = (): Promise<number> =>
    page.evaluate(`[...document.querySelectorAll('[data-bot="short-1"] .cell-id, .log-row .cell-bot')]
      .reduce((most, one) => Math.max(most, one.getBoundingClientRect().width), 0)`);
  await show(page, '#/bots');
  await page.locator('[data-bot="short-9"]').waitFor();
  // A name of 64 characters is 450 px wide.
  expect(await idColumn()).toBeLessThan(250);
  await show(page, '#/log?q=short');
  await page.locator('.log-row', { hasText: 'a short line' }).nth(5).waitFor();
  await show(page, '#/log');
  await page.locator('.log-row', { hasText: 'a line of one with a long name' }).waitFor();
  await expect.poll(idColumn).toBeLessThan(250);
  await context.close();
});

/** What scrolls to where nothing is, whether the page itself scrolls at all, and what scrolls in what scrolls. */
const SCROLL_FAULTS = `(() => {
  const found = [];
  const name = (one) => one.tagName.toLowerCase() + (one.className && one.className.baseVal === undefined ? '.' + one.className : '');
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push('the page to the right, ' + root.scrollWidth);
  if (root.scrollHeight > root.clientHeight) found.push('the page down, ' + root.scrollHeight);
  const main = document.querySelector('#main');
  if (main.scrollWidth > main.clientWidth) {
    const right = (one) => one.getBoundingClientRect().right;
    const widest = [...main.querySelectorAll('*')].reduce((most, one) => (right(one) > right(most) ? one : most));
    found.push('main to the right, ' + main.scrollWidth + ': ' + name(widest));
  }
  const outer = [];
  for (const box of document.querySelectorAll('main, main *')) {
    // The rows of a list are drawn where it is looked at; the text of a field is its value.
    if (box.matches('.list, .list *, textarea') || !box.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(box);
    const may = (value) => value === 'auto' || value === 'scroll';
    const isWide = may(style.overflowX) && box.scrollWidth > box.clientWidth + 1;
    const isHigh = may(style.overflowY) && box.scrollHeight > box.clientHeight + 1;
    if (!isWide && !isHigh) continue;
    const around = isHigh && !box.matches('.text-box') && outer.find((one) => one.contains(box));
    if (around) found.push('two scrollbars: ' + name(box) + ' in ' + name(around));
    if (isHigh) outer.push(box);
    // What sticks to the end of a box is there when it is scrolled to its end.
    box.scrollTop = box.scrollHeight;
    const frame = box.getBoundingClientRect();
    let [right, bottom] = [0, 0];
    const range = document.createRange();
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_ALL);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const isText = node.nodeType === 3 && node.data.trim() !== '';
      const isDrawn = node.nodeType === 1 && node.matches('svg, canvas, input, select, textarea, button, meter');
      if (!isText && !isDrawn) continue;
      const parent = isText ? node.parentElement : node;
      if (parent.closest('.unseen')) continue;
      range.selectNode(node);
      const rect = range.getBoundingClientRect();
      let [r, b] = [rect.right, rect.bottom];
      for (let of = parent; of !== box; of = of.parentElement) {
        if (getComputedStyle(of).overflowX === 'visible') continue;
        const clip = of.getBoundingClientRect();
        [r, b] = [Math.min(r, clip.right), Math.min(b, clip.bottom)];
      }
      right = Math.max(right, r - frame.left + box.scrollLeft);
      bottom = Math.max(bottom, b - frame.top + box.scrollTop);
    }
    box.scrollTop = 0;
    if (isWide && right < box.scrollWidth - 48) found.push(name(box) + ' to the right: ' + box.scrollWidth + ' of ' + right);
    if (isHigh && bottom < box.scrollHeight - 64) found.push(name(box) + ' down: ' + box.scrollHeight + ' of ' + bottom);
  }
  return found;
})()`;

it('no view scrolls where there is nothing to see, or twice, in any window, with long names and values', async () => {
  for (let n = 0; n <= 6; n++) {
    const labels = { team: `team-${'t'.repeat(58)}`, zone: 'eu' };
    await painter(LONG(n), labels);
  }
  for (const n of [0, 1, 2]) {
    await invoke(service, LONG(n), 'show', { name: 'place', value: WORD });
    await invoke(service, LONG(n), 'print', { text: `line %n ${WORD}`, times: 40 });
  }
  for (let size = 1; size <= 10; size++) {
    await call(service, 'PATCH', `/api/bots/${LONG(0)}`, { body: { config: { size } } });
  }
  await invoke(service, LONG(1), 'fall', { why: `no reply: ${WORD}` });
  const { context, page, complaints } = await openPage(browser);
  await openWithToken(page, service, token);
  const faults: string[] = [];
  const views = [
    '#/overview',
    '#/bots',
    `#/bots/${LONG(0)}`,
    `#/bots/${LONG(1)}`,
    `#/bots/${LONG(0)}?tab=config`,
    `#/bots/${LONG(1)}?tab=incidents`,
    '#/log',
    '#/problems',
    `#/side?a=bot:${LONG(0)}&b=bot:${LONG(2)}`,
    `#/diff?a=${LONG(0)}&b=${LONG(2)}`,
    '#/runs',
    '#/nodes',
    '#/tokens',
    '#/settings',
  ];
  for (const [width = 0, height = 0] of SIZES) {
    await page.setViewportSize({ width, height });
    for (const view of views) {
      await show(page, view);
      await page.locator('#main').getByText('Loading…').first().waitFor({ state: 'detached' });
      const found = await page.evaluate<string[]>(SCROLL_FAULTS);
      faults.push(...found.map((fault) => `${width}×${height} ${view.slice(0, 30)}: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  // Each view of the menu is in sight of a phone.
  const outside = await page.evaluate<
    string[]
  >(`[...document.querySelectorAll('.nav a[title], .nav button')]
    .filter((one) => one.getBoundingClientRect().width > 0)
    .filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0)
    .map((one) => one.title)`);
  expect(outside).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await show(page, `#/bots/${LONG(1)}`);
  // It runs again: what it failed with is past, and leads to its incident.
  await call(service, 'POST', `/api/bots/${LONG(1)}/start`);
  await page.getByText('Error before this run').waitFor();
  await page.evaluate(AxeBuilder.source);
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)).toEqual([]);
  await page.locator('.last-error').getByRole('link', { name: 'Incidents' }).click();
  await page.getByRole('tab', { name: 'Incidents', selected: true }).waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
