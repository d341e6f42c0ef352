// The page in German: what a person chooses, that nothing of it stays in English, and that it fits.

import AxeBuilder from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { de } from '../../dashboard/src/texts/de.js';
import { en } from '../../dashboard/src/texts/en.js';
import { call } from '../harness/api.js';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { mockCluster, threeNodes } from './dashboard-cluster.js';
import { openPage, show, signIn, startForDashboard } from './dashboard-page.js';
import { GOOD, JUNIT, NIGHTLY, type RunFile } from './run-files.js';

let browser: Browser;
let service: Service;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
  await call(service, 'POST', '/api/bots', {
    body: {
      id: 'clumsy',
      kind: 'painter',
      config: { greeting: 'hello' },
      restart: { max_restarts: 0 },
    },
  });
  const isPainting = async (): Promise<boolean> =>
    (await snapshot(service, 'clumsy')).status === 'painting';
  await eventually(isPainting, 'the bot runs');
  await invoke(service, 'clumsy', 'fall', { why: 'the ladder broke' });
  await invoke(service, 'painter-1', 'show', { name: 'canvas', value: 'blue' });
  await call(service, 'POST', '/api/rules', {
    body: { name: 'still', query: 'nothing says this', condition: 'absence', window_ms: 5000 },
  });
  await call(service, 'POST', '/api/rules', {
    body: {
      name: 'eilig',
      query: '',
      condition: 'rate',
      threshold: 1234.5,
      window_ms: 10_000,
      for_ms: 30_000,
    },
  });
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function open(options: Parameters<typeof openPage>[1]): Promise<Page> {
  const { context, page, complaints } = await openPage(browser, options);
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  return page;
}

async function openInGerman(options: Parameters<typeof openPage>[1] = {}): Promise<Page> {
  const page = await open({ ...options, locale: 'de-DE' });
  await page.goto(service.url);
  await page.getByLabel('Ziffer 1 von 6').click();
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
  return page;
}

/** Chooses a language in another tab: this one stays where it is. */
async function speak(page: Page, language: 'English' | 'Deutsch'): Promise<void> {
  const other = await page.context().newPage();
  await other.goto(`${service.url}/#/settings`);
  await other.getByRole('radio', { name: language }).check();
  await page.locator(`html[lang=${language === 'English' ? 'en' : 'de'}]`).waitFor();
  await other.close();
}

const languageOf = (page: Page): Promise<string> => page.evaluate('document.documentElement.lang');

it('changes what is wrong, too, while it is shown', async () => {
  const page = await open({});
  await page.goto(service.url);
  await page.getByRole('button', { name: en['signIn.withToken'] }).click();
  await page.getByLabel(en['term.token'], { exact: true }).fill('no token');
  await page.keyboard.press('Enter');
  await page.getByText(en['signIn.noToken']).waitFor();
  await page.evaluate(`
    localStorage.setItem('drover.settings', JSON.stringify({ language: 'de' }));
    window.dispatchEvent(new StorageEvent('storage', { key: 'drover.settings' }));
  `);
  await page.getByText(de['signIn.noToken']).waitFor();
  await page.getByRole('button', { name: de['signIn.withPin'] }).click();
  await page.getByLabel('Ziffer 1 von 6').click();
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();

  // So do the groups of the herd.
  const group = (texts: typeof en | typeof de) =>
    page.locator('.herd').getByText(texts['herd.noLabel'].replace('{label}', 'team')).first();
  await show(page, '#/overview?by=label:team');
  await group(de).waitFor();
  await speak(page, 'English');
  await group(en).waitFor();
  await speak(page, 'Deutsch');
  await group(de).waitFor();

  await show(page, '#/bots');
  await page.getByRole('button', { name: de['bots.new'] }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: de['button.create'], exact: true }).click();
  await dialog.getByText(de['fault.required'], { exact: true }).first().waitFor();
  await speak(page, 'English');
  await dialog.getByText(en['fault.required'], { exact: true }).first().waitFor();
  expect(await dialog.getByText(de['fault.required'], { exact: true }).count()).toBe(0);
  await page.keyboard.press('Escape');

  await show(page, '#/bots/painter-1');
  const line = page.getByRole('combobox', { name: /painter-1$/ });
  await line.fill('nonsense');
  await line.press('Enter');
  await page.locator('.prompt-error', { hasText: 'nonsense' }).waitFor();
  const before = await page.locator('.prompt-error').innerText();
  await speak(page, 'Deutsch');
  await expect.poll(() => page.locator('.prompt-error').innerText()).not.toBe(before);
  await page.locator('.prompt-error', { hasText: 'nonsense' }).waitFor();
});

it('is chosen in the settings, at once and for all tabs, and stays', async () => {
  const page = await open({});
  const scripts: string[] = [];
  page.on('request', (request) => scripts.push(new URL(request.url()).pathname));
  await signIn(page, service);
  await show(page, '#/settings');
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  expect(await languageOf(page)).toBe('en');
  expect(await inEnglish(page)).toContain('Settings');
  expect(
    scripts.filter((name) => /\/de-/.test(name)),
    'German is not loaded',
  ).toEqual([]);

  const other = await page.context().newPage();
  await other.goto(`${service.url}/#/log`);
  await other.getByRole('heading', { name: 'Log' }).waitFor();

  const german = page.getByRole('radio', { name: 'Deutsch' });
  await german.check();
  await page.getByRole('heading', { name: 'Optionen' }).waitFor();
  expect(await languageOf(page)).toBe('de');
  expect(await page.evaluate('document.activeElement?.name'), 'the focus stays').toBe('language');
  await other.getByRole('link', { name: 'Vorfälle' }).waitFor();

  // 24.11.2026 14:02:11 MEZ
  await page.getByText(/^Jetzt: \d{2}\.\d{2}\.20\d{2} \d{2}:\d{2}:\d{2} ME(S)?Z$/).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Optionen' }).waitFor();

  await page.getByRole('radio', { name: 'English' }).check();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
});

it('is that of the browser until one is chosen, from the sign-in on', async () => {
  const page = await openInGerman();
  await page.getByRole('link', { name: 'Übersicht', exact: true }).waitFor();
  await page.getByLabel(/^Zeitraum: /).click();
  await page.getByLabel('Zeitraum eingeben').fill('letzte 2 Stunden');
  await page.keyboard.press('Enter');
  await page.getByLabel('Zeitraum: Letzte 2 h').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('anhalten painter');
  await page.getByRole('option', { name: /^Anhalten painter-1/ }).waitFor();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog
    .getByText('Der Bot bleibt angehalten')
    .or(dialog.getByText('painter-1'))
    .first()
    .waitFor();
  await dialog.getByRole('button', { name: 'Abbrechen' }).click();
});

/** What is shown, and what is said of it. */
const WORDS = `[
  ...(function* () {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    // Texts of bots, and of the service, are as they are.
    const theirs = '.log-row, .side-text, .cell-line, .data-fields, .peek, code, .cause-title, .incident-reason, .text-box, .happening-text, .run-expectation-name, .mono, option, #palette-list .muted';
    while (walk.nextNode()) {
      if (!walk.currentNode.parentElement.closest(theirs)) yield walk.currentNode.data.trim();
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [data-title]')) {
      for (const name of ['aria-label', 'title', 'placeholder', 'data-title']) {
        const value = element.getAttribute(name);
        if (value) yield value.trim();
      }
    }
    yield document.title.replace(' · Drover', '');
  })(),
]`;

/** Statuses, states and levels, which are words of the API in every language, and fields of bots. */
const SAME = [
  'failed',
  'running',
  'stopped',
  'set',
  'value',
  'text',
  'name',
  'size',
  'state',
  'bots',
  'lines',
  'times',
];

function texts(of: typeof en | typeof de): string[][] {
  return Object.values(of).map((text) => (typeof text === 'string' ? [text] : Object.values(text)));
}

/** Texts as patterns. Those that are almost only placeholders would match anything. */
function patternsOf(all: readonly string[]): RegExp[] {
  return all
    .filter((text) => text.replace(/\{\w+\}/g, '').replace(/\P{L}/gu, '').length > 3)
    .map((text) => {
      const parts = text.split(/\{\w+\}/);
      const quoted = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      return new RegExp(`^${quoted.join('.+')}$`);
    });
}

const inGerman = new Set(texts(de).flat());
const german = patternsOf([...inGerman]);
const english = patternsOf(
  texts(en)
    .flat()
    .filter((text) => !inGerman.has(text) && !SAME.includes(text)),
);

/** @returns what is in English on the page. */
async function inEnglish(page: Page): Promise<string[]> {
  const words = new Set(await page.evaluate<string[]>(WORDS));
  const isOf = (patterns: readonly RegExp[], word: string): boolean =>
    patterns.some((pattern) => pattern.test(word));
  return [...words].filter((word) => isOf(english, word) && !isOf(german, word));
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate<{ violations: { id: string }[] }>('axe.run()');
  return found.violations.map(({ id }) => id);
}

/** Without its end, so the page says what is missing. */
const CUT: RunFile = { name: NIGHTLY.name, text: NIGHTLY.text.slice(0, -120) };

async function openFiles(page: Page, file: RunFile): Promise<void> {
  const buffer = Buffer.from(file.text);
  const input = page.locator('input[type=file]');
  await input.setInputFiles({ name: file.name, mimeType: '', buffer });
  const opened = page.locator('.run-view:has(.run-body), .run-item:has([role=alert])');
  await opened.filter({ hasText: file.name }).waitFor();
}

type Step = [what: string, href: string, then?: (page: Page) => Promise<unknown>];
const STEPS: Step[] = [
  ['overview', '#/overview', (page) => page.locator('.flow .legend, .chart').first().waitFor()],
  ['table of the herd', '#/overview?as=table'],
  ['a past moment', '#/overview', (page) => page.keyboard.press('[')],
  ['bots', '#/bots', (page) => page.locator('.columns-menu summary').click()],
  ['a selection', '#/bots', (page) => page.getByLabel('painter-1 auswählen').click()],
  [
    'a command for many',
    '#/bots',
    (page) => page.getByRole('button', { name: 'Befehl ausführen' }).click(),
  ],
  [
    'a change of many',
    '#/bots',
    (page) => page.getByRole('button', { name: 'Ändern', exact: true }).click(),
  ],
  ['a new bot', '#/bots', (page) => page.getByRole('button', { name: 'Neuer Bot' }).click()],
  ['a bot', '#/bots/painter-1'],
  ['its commands', '#/bots/painter-1?tab=commands'],
  [
    'its incidents',
    '#/bots/clumsy?tab=incidents',
    (page) => page.locator('.incidents summary').first().click(),
  ],
  ['its configuration', '#/bots/painter-1?tab=config', (page) => page.getByLabel('size').fill('7')],
  [
    'a deletion',
    '#/bots/painter-1',
    (page) => page.getByRole('button', { name: 'Löschen' }).click(),
  ],
  ['the log', '#/log', (page) => page.locator('.log-row').last().click()],
  ['the lines around a line', '#/log', (page) => page.keyboard.press('x')],
  [
    'completions',
    '#/log',
    async (page) => {
      await page.locator('[data-search]').fill('sc');
      await page.locator('[role=option]').first().waitFor();
    },
  ],
  ['incidents', '#/incidents', (page) => page.locator('.cause').first().waitFor()],
  ['a cause', '#/incidents', (page) => page.locator('.cause').first().click()],
  [
    'alerts',
    '#/alerts',
    async (page) => {
      await page.locator('[data-state=firing]').waitFor();
      await page.getByText('keine Zeile in 5 s').waitFor();
      await page.getByText('mindestens 1.234,5 Zeilen/s über 10 s, 30 s lang').waitFor();
      await page.getByText(/^Regel „still“ ausgelöst: seit [\d,]+ s keine Zeile$/).waitFor();
    },
  ],
  [
    'a rule that is deleted',
    '#/alerts',
    (page) => page.getByRole('button', { name: 'still: Löschen' }).click(),
  ],
  ['a new rule', '#/alerts', (page) => page.getByRole('button', { name: 'Neue Regel' }).click()],
  [
    'a rule about bots',
    '#/alerts',
    async (page) => {
      await page.getByRole('button', { name: 'still bearbeiten' }).click();
      await page.getByLabel('Löst aus bei').selectOption('bots');
      await page.getByText('Abfrage nach Bots').waitFor();
    },
  ],
  ['side by side', '#/side?a=bot:painter-1&b=bot:demo-1'],
  ['two configurations', '#/diff?a=painter-1&b=demo-1'],
  ['runs', '#/runs'],
  ['a refused file', '#/runs', (page) => openFiles(page, { name: 'other.xml', text: '<a>' })],
  ['a recording', '#/runs', (page) => openFiles(page, CUT)],
  ['a line of it', `#/runs/${CUT.name}`, (page) => page.locator('.log-row').last().click()],
  ['its herd', `#/runs/${CUT.name}?show=herd`, (page) => page.locator('.run-bot').waitFor()],
  ['its causes', `#/runs/${CUT.name}?show=causes`],
  ['without a report', `#/runs/${CUT.name}?show=expectations`],
  ['a part of it', `#/runs/${CUT.name}?after=1000&before=2000`],
  ['a report', '#/runs', (page) => openFiles(page, JUNIT)],
  [
    'two runs',
    '#/runs',
    async (page) => {
      await openFiles(page, GOOD);
      await show(page, `#/runs/${CUT.name}?with=${GOOD.name}`);
      await page.locator('.run-differences table').first().waitFor();
    },
  ],
  ['runs that are open', '#/runs', (page) => page.locator('.run-list').first().waitFor()],
  ['a run that is not', '#/runs/nowhere.ndjson'],
  ['tokens', '#/tokens'],
  ['a new token', '#/tokens', (page) => page.getByRole('button', { name: 'Neues Token' }).click()],
  ['a new link', '#/tokens', (page) => page.getByRole('button', { name: 'Anmeldelink' }).click()],
  ['settings', '#/settings'],
  ['nowhere', '#/nowhere'],
  ['who am I', '#/settings', (page) => page.locator('.own-name').click()],
  ['the keys', '#/log', (page) => page.keyboard.press('?')],
  ['the palette', '#/bots', (page) => page.keyboard.press('Control+k')],
  [
    'nodes',
    '#/nodes',
    async (page) => {
      await mockCluster(page, threeNodes());
      await page.reload();
      await page.locator('[data-node]').first().waitFor();
      await page
        .getByRole('button', { name: /Leeren/ })
        .first()
        .click();
    },
  ],
];

it('leaves nothing in English on any view', async () => {
  const page = await openInGerman({ width: 1440, height: 900 });
  const found: string[] = [];
  for (const [what, href, then] of STEPS) {
    await show(page, href);
    await page.locator('main h1, main h2, .herd').first().waitFor();
    await then?.(page);
    await expect
      .poll(async () => (await page.getByText('Wird geladen …').count()) === 0)
      .toBe(true);
    for (const word of await inEnglish(page)) found.push(`${what}: ${word}`);
    if (href === '#/alerts') expect(await violations(page), what).toEqual([]);
    while ((await page.locator('dialog[open]').count()) > 0) await page.keyboard.press('Escape');
  }
  expect(found).toEqual([]);
  expect(await violations(page)).toEqual([]);
});

it('fits on a phone: no view is wider than the screen', async () => {
  const page = await openInGerman({ width: 360, height: 740 });
  const wide: string[] = [];
  for (const href of [
    'overview',
    'bots',
    'bots/painter-1',
    'bots/painter-1?tab=config',
    'log',
    'incidents',
    'alerts',
    'tokens',
    'settings',
    'diff?a=painter-1&b=demo-1',
    'runs',
  ]) {
    await show(page, `#/${href}`);
    await page.locator('main h1, main h2, .herd').first().waitFor();
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (over > 0) wide.push(`${href}: ${over} px`);
  }
  expect(wide).toEqual([]);
  // Beside a long title, too, the choice of groups has room for a name.
  await show(page, '#/overview?by=label:team');
  const choice = page.getByRole('combobox', { name: de['herd.groupBy'] });
  expect((await choice.boundingBox())?.width).toBeGreaterThan(110);
});
