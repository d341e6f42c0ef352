// Screenshots of every view of the built dashboard on a real service: light and dark, wide and narrow. SHOTS_OUT sets the
// directory, SHOTS_ONLY the views, SHOTS_LANGUAGE the language.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { call } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import { makeLink } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { mockCluster, threeNodes } from './dashboard-cluster.js';
import { openPage, show, signIn, startForDashboard } from './dashboard-page.js';

const OUT = process.env['SHOTS_OUT'] ?? 'dist/shots';
const ONLY = process.env['SHOTS_ONLY']?.split(',');
const LANGUAGE = process.env['SHOTS_LANGUAGE'];
const LOOKS = [
  { name: 'light-wide', dark: false, width: 1440, height: 900 },
  { name: 'dark-wide', dark: true, width: 1440, height: 900 },
  { name: 'light-narrow', dark: false, width: 360, height: 740 },
  { name: 'dark-narrow', dark: true, width: 360, height: 740 },
  { name: 'light-phone', dark: false, width: 390, height: 844 },
  { name: 'dark-pad', dark: true, width: 768, height: 1024 },
  { name: 'light-tablet', dark: false, width: 900, height: 700 },
  { name: 'light-laptop', dark: false, width: 1280, height: 720 },
  { name: 'dark-wall', dark: true, width: 2560, height: 1440 },
];

let browser: Browser;
let service: Service;

beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launchChromium();
  service = await startForDashboard({ config: { pin: { capacity: 3 } } });
  await populate();
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

async function post(target: string, body: object): Promise<void> {
  await call(service, 'POST', target, { body });
}

async function print(text: string, level = 'info'): Promise<void> {
  await post('/invoke', { session_id: 'painter-1', command: 'print', args: { text, level } });
}

/** Typical log lines of bots. */
const CHATTER: [text: string, level?: string][] = [
  ['GET \u001b[36m/inventory?page=2\u001b[0m \u001b[32m200\u001b[0m in 41 ms'],
  ['picked up 3 apples, 14 in the bag'],
  ['path to (41, 88) found, 67 steps'],
  ['the server asks for patience: 350 ms', 'warn'],
  ['traded 2 apples for a \u001b[33mgolden key\u001b[0m'],
  ['GET \u001b[36m/market/prices\u001b[0m \u001b[31m503\u001b[0m, trying again', 'warn'],
  ['saved, 1,204 bytes'],
  ['the gate at (12, 4) is locked and no key fits', 'error'],
];

async function populate(): Promise<void> {
  for (let n = 1; n <= 40; n++) {
    await post('/api/bots', {
      id: `load-${n}`,
      kind: 'synthetic',
      config: { events_per_second: 0 },
      labels: { team: n % 2 ? 'a' : 'b', region: ['eu', 'us', 'ap'][n % 3] },
      desired: n % 7 === 0 ? 'stopped' : 'running',
    });
  }
  await post('/api/bots', {
    id: 'clumsy',
    kind: 'painter',
    config: { greeting: 'here I am' },
    labels: { team: 'art' },
    restart: { max_restarts: 1, backoff_ms: 200 },
  });
  await post('/api/bots', {
    id: 'labelled',
    kind: 'synthetic',
    config: { events_per_second: 0 },
    labels: Object.fromEntries(
      ['team', 'region', 'stage', 'owner', 'game', 'shift', 'tier', 'since'].map((name) => [
        name,
        `${name} of a bot with many labels`,
      ]),
    ),
  });
  for (let n = 0; n < 120; n++) {
    const [text, level] = CHATTER[(n * 5) % CHATTER.length] ?? [''];
    // Some levels are rare.
    if (level === undefined || n % 3 === 0) await print(text, level);
    await new Promise((resolve) => setTimeout(resolve, 60 + (n % 7) * 30));
  }
  for (let n = 0; n < 3; n++) {
    await post('/invoke', {
      session_id: 'clumsy',
      command: 'fall',
      args: { why: 'Cannot read properties of undefined (reading "brush")' },
    });
    await new Promise((resolve) => setTimeout(resolve, 800));
  }
  await print(
    '\u001b[32mready\u001b[0m in \u001b[1;36m12 ms\u001b[0m, \u001b[33m2 warnings\u001b[0m',
  );
  await print('the brush is nearly dry', 'warn');
  await print(
    'cannot reach \u001b[31mhttp://paint.example/red\u001b[0m: connection refused',
    'error',
  );
  await print('<b>not bold</b> <script>alert(1)</script>\ttabbed\nsecond line');
  await post('/invoke', {
    session_id: 'painter-1',
    command: 'show',
    args: { name: 'canvas', value: 'blue, 40 %' },
  });
  for (const rule of [
    { name: 'refused connections', query: 'level:error "refused"', condition: 'count' },
    { name: 'no login', query: '"logged in"', condition: 'absence', severity: 'error' },
    { name: 'many lines', query: '', condition: 'rate', threshold: 500, enabled: false },
  ]) {
    await post('/api/rules', { ...rule, window_ms: 5000 });
  }
  await post('/api/rules', {
    name: 'stopped bots of team a',
    query: 'status:stopped label:team=a',
    condition: 'bots',
    threshold: 2,
    severity: 'info',
  });
  await post('/api/tokens', { name: 'wall display', scopes: ['read'], labels: { team: 'a' } });
  await post('/api/tokens', {
    name: 'deploy script',
    scopes: ['read', 'control', 'invoke'],
    expires_at_ms: Date.now() + 86_400_000,
  });
}

async function inCluster(page: Page): Promise<void> {
  await mockCluster(page, threeNodes());
  await page.reload();
  await page.getByRole('link', { name: 'Nodes', exact: true }).waitFor();
}

type Shot = [name: string, href: string, prepare?: (page: Page) => Promise<void>];

const SHOTS: Shot[] = [
  ['overview', '#/overview'],
  [
    'overview-day',
    '#/overview',
    async (page) => {
      await page.getByLabel('24 h').check();
      await page.locator('.chart canvas').waitFor();
    },
  ],
  [
    'bots',
    '#/bots',
    async (page) => void (await page.getByLabel('Select load-3', { exact: true }).click()),
  ],
  [
    'create',
    '#/bots',
    async (page) => {
      await page.getByRole('button', { name: 'New bot' }).click();
      await page.getByLabel('Kind', { exact: true }).last().selectOption('painter');
    },
  ],
  ['bot', '#/bots/demo-1'],
  [
    'commands',
    '#/bots/demo-1?tab=commands',
    async (page) => {
      await page.getByLabel('text').fill('hello');
      await page.getByRole('button', { name: 'Run say' }).click();
      await page.locator('.results li').first().waitFor();
    },
  ],
  [
    'console',
    '#/bots/painter-1',
    async (page) => {
      const line = page.getByRole('combobox', { name: /^Command for/ });
      for (const text of ['show name=canvas value="blue, 40 %"', 'hesitate']) {
        await line.fill(text);
        await line.press('Enter');
      }
      await page.locator('[data-call=done]').first().waitFor();
      await line.fill('print ');
      await page.keyboard.press('End');
      await page.keyboard.type('l');
      await page.getByRole('option').first().waitFor();
    },
  ],
  [
    'wire',
    '#/bots/painter-1?q=transport%3Atcp%2Chttp',
    async (page) => {
      await post('/invoke', {
        session_id: 'painter-1',
        command: 'wire',
        args: { url: service.url },
      });
      await page
        .locator('.log-row', { hasText: '"method":"mix"' })
        .last()
        .click({ position: { x: 4, y: 4 } });
      await page.getByRole('radio', { name: 'JSON' }).check();
    },
  ],
  [
    'bulk',
    '#/bots?q=painter',
    async (page) => {
      await page.getByLabel('Select painter-1', { exact: true }).click();
      await page.getByRole('button', { name: 'Run a command' }).click();
      await page.getByRole('dialog').waitFor();
    },
  ],
  [
    'bulk-answers',
    '#/bots?q=kind:demo,painter',
    async (page) => {
      await page.getByLabel('Select all shown bots').click();
      await page.getByRole('button', { name: 'Run a command' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Command', { exact: true }).selectOption('show');
      await dialog.getByLabel(/^name/).fill('canvas');
      await dialog.getByLabel(/^value/).fill('green');
      await dialog.getByRole('button', { name: /^Run show/ }).click();
      await dialog.getByText(/ answered/).waitFor();
    },
  ],
  [
    'palette',
    '#/bots/painter-1',
    async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type('st load-1');
    },
  ],
  [
    'undo',
    '#/bots/load-1',
    async (page) => {
      // The pictures before left it stopped.
      await call(service, 'POST', '/api/bots/load-1/start');
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('button', { name: 'Undo' }).waitFor();
    },
  ],
  [
    'incidents',
    '#/bots/clumsy?tab=incidents',
    async (page) => void (await page.locator('.incidents summary').first().click()),
  ],
  ['causes', '#/incidents', async (page) => page.locator('.cause').first().waitFor()],
  [
    'cause',
    '#/incidents',
    async (page) => {
      await page.locator('.cause').first().click();
      await page.locator('.incidents summary').first().click();
    },
  ],
  [
    'config',
    '#/bots/painter-1?tab=config',
    async (page) => {
      await call(service, 'PATCH', '/api/bots/painter-1', {
        body: { config: { greeting: `good day ${Date.now()}`, secret: 'hunter2-hunter2' } },
      });
      await page.reload();
      await page.getByLabel('size').fill('7');
      await page.getByLabel('Labels').fill('team=art\nwall=north');
    },
  ],
  [
    'bulk-config',
    '#/bots?q=painter',
    async (page) => {
      await page.getByLabel('Select all shown bots').click();
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByLabel('Change size').check();
      await page.getByLabel('Change colour').check();
    },
  ],
  ['log', '#/log'],
  [
    'log-query',
    '#/log?q=-level:info+%22golden+key%22+label:team%3Dart',
    async (page) => {
      await page.getByLabel('Search lines').click();
      await page.keyboard.press('End');
      await page.keyboard.type(' sc');
      await page.getByRole('option').first().waitFor();
    },
  ],
  [
    'bots-query',
    '#/bots?q=-status:stopped+label:team%3Dart,team%3Dmusic+stauts:x',
    async (page) => void (await page.getByLabel('Saved views').click()),
  ],
  [
    'line',
    '#/log?bot=painter-1',
    async (page) => {
      await page.locator('.row-info').last().click();
      await page.locator('.whole').waitFor();
    },
  ],
  ['alerts', '#/alerts'],
  [
    'new-rule',
    '#/alerts?new=level%3Aerror+label%3Ateam%3Dart&on=lines',
    async (page) => void (await page.getByRole('dialog').waitFor()),
  ],
  ['tokens', '#/tokens'],
  [
    'new-token',
    '#/tokens',
    async (page) => void (await page.getByRole('button', { name: 'New token' }).click()),
  ],
  [
    'new-link',
    '#/tokens',
    async (page) => void (await page.getByRole('button', { name: 'Sign-in link' }).click()),
  ],
  [
    'created-link',
    '#/tokens',
    async (page) => {
      await page.getByRole('button', { name: 'Sign-in link' }).click();
      await page.getByLabel('Name').fill('Ada');
      await page.keyboard.press('Enter');
      await page.locator('[data-created]').waitFor();
    },
  ],
  [
    'who-am-i',
    '#/tokens',
    async (page) => {
      await page.getByRole('button', { name: 'pin (' }).first().click();
      await page.locator('[data-who-am-i]').waitFor();
    },
  ],
  [
    'link-in-session',
    '#/tokens',
    async (page) => {
      const { link } = await makeLink(service, { name: 'Grace', labels: { team: 'a' } });
      await show(page, `#sign-in=${link}`);
      await page.getByRole('dialog').waitFor();
    },
  ],
  ['nodes', '#/nodes', inCluster],
  [
    'drain',
    '#/nodes',
    async (page) => {
      await inCluster(page);
      await page.getByRole('button', { name: 'Drain h1' }).click();
    },
  ],
  ['bots-of-nodes', '#/bots', inCluster],
  ['settings', '#/settings'],
  ['help', '#/log', async (page) => void (await page.keyboard.press('?'))],
];

/** Changes the language as another tab does. */
async function speak(page: Page, language: string): Promise<void> {
  await page.evaluate(`
    localStorage.setItem('drover.settings', JSON.stringify({
      ...JSON.parse(localStorage.getItem('drover.settings') ?? '{}'),
      language: ${JSON.stringify(language)},
    }));
    window.dispatchEvent(new StorageEvent('storage', { key: 'drover.settings' }));
  `);
  await page.locator(`html[lang=${language}]`).waitFor();
  await page.waitForTimeout(300);
}

it.each(LOOKS)('$name', async ({ name, ...look }) => {
  const { context, page } = await openPage(browser, look);
  const wanted = (view: string): boolean => ONLY?.includes(view) ?? true;
  const shoot = async (view: string): Promise<void> => {
    // The views are prepared in English.
    if (LANGUAGE !== undefined) await speak(page, LANGUAGE);
    await page.screenshot({ path: path.join(OUT, `${view}-${name}.png`) });
    if (LANGUAGE !== undefined) await speak(page, 'en');
  };
  await page.goto(service.url);
  await page.getByLabel('Digit 1 of 6').waitFor();
  if (wanted('sign-in')) await shoot('sign-in');
  if (wanted('sign-in-token')) {
    await page.getByRole('button', { name: 'Sign in with a token' }).click();
    await page.getByLabel('Token').fill('not one');
    await page.keyboard.press('Enter');
    await page.locator('.sign-in-state .fault').waitFor();
    await shoot('sign-in-token');
  }
  if (wanted('sign-in-link')) {
    const { link } = await makeLink(service, { name: 'Ada', scopes: ['read', 'invoke'] });
    await show(page, `#sign-in=${link}`);
    await page.locator('[data-invitation]').waitFor();
    await shoot('sign-in-link');
    await show(page, `#sign-in=${link}x`);
    await page.locator('.notice').waitFor();
    await shoot('sign-in-link-used');
  }
  await signIn(page, service);
  await page.waitForTimeout(3000);
  for (const [view, href, prepare] of SHOTS) {
    if (!wanted(view)) continue;
    await show(page, href);
    await page.waitForTimeout(700);
    await prepare?.(page);
    await page.waitForTimeout(300);
    await shoot(view);
    await page.unrouteAll();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.locator('[data-connection=open]').waitFor();
  }
  await context.close();
});
