// The trial: three things are broken on purpose, and a new operator finds and fixes each with nothing but the page. It says how many
// clicks and keys that takes. TRIAL_BOTS sets the size of the herd, TRIAL_OUT a directory for a picture of each step.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { listen, openPage, signIn } from './dashboard-page.js';

const MINERS = fileURLToPath(new URL('../fixtures/miner-kinds', import.meta.url));
const BOTS = Number(process.env['TRIAL_BOTS'] ?? 60);
const OUT = process.env['TRIAL_OUT'];
/** Bots with the wrong password. */
const REFUSED = Math.max(12, Math.round(BOTS / 50));
const ENDLESS = `miner-${REFUSED + 1}`;
const POOR = `miner-${REFUSED + 2}`;
const MINER_COUNT = REFUSED + 10;
const PASSWORD = 'open sesame';

let browser: Browser;
let service: Service;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  if (OUT !== undefined) mkdirSync(OUT, { recursive: true });
  browser = await launchChromium();
  const miners = Array.from({ length: MINER_COUNT }, (_, n) => ({
    id: `miner-${n + 1}`,
    kind: 'miner',
    labels: { team: n < REFUSED ? 'north' : 'south' },
    config: { password: PASSWORD },
    restart: { max_restarts: 2, backoff_ms: 200 },
  }));
  const others = Array.from({ length: BOTS - MINER_COUNT }, (_, n) => ({
    id: `load-${n + 1}`,
    kind: 'synthetic',
    labels: { team: ['east', 'west'][n % 2] },
    config: { events_per_second: n % 5 === 0 ? 1 : 0 },
  }));
  service = await startService({
    config: {
      kinds: [MINERS],
      hosts: { count: 2 },
      watchdog: { hang_ms: 2500 },
      bots: [...miners, ...others],
    },
  });
  const { status } = await call(service, 'POST', '/api/rules', {
    body: {
      name: 'out of gold',
      query: 'kind:miner data.gold<0',
      condition: 'bots',
      threshold: 1,
      severity: 'warn',
    },
  });
  expect(status).toBe(201);
  const digs = async (): Promise<boolean> =>
    (await snapshot(service, `miner-${MINER_COUNT}`)).status === 'digging';
  await eventually(digs, 'the miners dig');
  ({ page } = await openPage(browser, { width: 1440, height: 900 }));
  complaints = listen(page);
  await signIn(page, service);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** What a colleague does, unseen by the operator. */
async function configure(id: string, config: object): Promise<void> {
  const { status, text } = await call(service, 'PATCH', `/api/bots/${id}`, { body: { config } });
  expect(status, text).toBe(200);
}

/** One fault, from the first look to the moment when the page says that it is fixed. */
class Trial {
  readonly #name: string;
  readonly #startedAt = performance.now();
  #clicks = 0;
  #keys = 0;
  #steps = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async click(what: Locator): Promise<void> {
    await what.click();
    this.#clicks += 1;
  }

  async type(where: Locator, text: string): Promise<void> {
    await where.fill(text);
    this.#keys += text.length;
  }

  /** Something that the operator reads. */
  async sees(what: Locator, step: string): Promise<void> {
    await what.first().waitFor();
    this.#steps += 1;
    if (OUT === undefined) return;
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    process.stdout.write(
      `${this.#name} ${this.#steps}. ${step}: ${seconds} s, ${this.#clicks} clicks, ${this.#keys} keys\n`,
    );
    const file = `${this.#name}-${this.#steps}.png`.replaceAll(' ', '-');
    await page.screenshot({ path: path.join(OUT, file) });
  }
}

const view = (name: string): Locator => page.locator('.nav-links').getByRole('link', { name });
const changes = (): Locator => page.getByRole('list', { name: 'Changes, newest first' });
const button = (name: string | RegExp): Locator => page.getByRole('button', { name });

it('a group of bots with a wrong password is found by its cause, and changed at once', async () => {
  for (let n = 1; n <= REFUSED; n++) await configure(`miner-${n}`, { password: 'friend' });
  const trial = new Trial('wrong password');
  await trial.click(view('Overview'));
  const failed = page.getByRole('button', { name: /^Bots that are failed|^failed/ });
  await trial.sees(failed.filter({ hasText: String(REFUSED) }), 'the overview counts failed bots');
  await trial.click(view('Problems'));
  const cause = page.locator('.cause', { hasText: 'wrong password' });
  await trial.sees(cause.filter({ hasText: `${REFUSED} bots` }), 'one cause has all of them');
  expect(await cause.count()).toBe(1);
  await trial.click(cause);
  await page.getByRole('heading', { name: 'Incident', exact: true }).waitFor();
  await trial.sees(page.getByText(/changed.*password/), 'the timeline has the change before it');
  await trial.click(button(`Change all (${REFUSED} bots)`));
  const dialog = page.getByRole('dialog');
  await trial.click(dialog.getByLabel('Change password'));
  await trial.type(dialog.getByLabel(/^password/), PASSWORD);
  await trial.click(dialog.getByRole('button', { name: `Change ${REFUSED} bots` }));
  await trial.sees(dialog.getByText(`${REFUSED} of ${REFUSED} answered`), 'all are changed');
  await trial.click(dialog.getByRole('button', { name: 'Done' }));
  const fixed = page.locator('.group-bots li', { hasText: 'digging' });
  await expect.poll(() => fixed.count()).toBe(REFUSED);
  await trial.sees(fixed, 'all of them dig again');
  expect(complaints).toEqual([]);
}, 120_000);

it('a bot that hangs its host is seen at once, named, and fixed', async () => {
  await page.goto(`${service.url}/#/overview`);
  await configure(ENDLESS, { stride: 0 });
  const trial = new Trial('endless loop');
  await trial.sees(page.locator('[data-state=hangs]'), 'the overview says that a host hangs');
  const report = page.locator('.incidents summary', { hasText: ENDLESS });
  await trial.sees(report, 'the latest incidents name the bot');
  await trial.click(report.first());
  await trial.sees(page.locator('.incident-body').getByText('miner.mjs'), 'the stack has the line');
  await trial.click(page.locator('.incident-body').getByRole('link', { name: ENDLESS }));
  await trial.click(page.getByRole('tab', { name: 'Configuration' }));
  await trial.sees(changes().getByText('stride'), 'its history has the change');
  await trial.click(button(/^Restore the earlier state/).first());
  await trial.click(button('Save'));
  await trial.sees(page.locator('.view-head').getByText('digging'), 'it digs again');
  expect(complaints).toEqual([]);
}, 120_000);

it('a bot that runs and loses is told by a rule, explained by its data, and fixed', async () => {
  await page.goto(`${service.url}/#/bots`);
  await configure(POOR, { spends: 200 });
  const trial = new Trial('out of gold');
  const bar = page.getByText('1 rule is firing:');
  await trial.sees(bar, 'every page says that a rule fires');
  await trial.click(page.getByRole('link', { name: 'Show problems' }));
  const named = page.locator('main').getByRole('link', { name: POOR, exact: true });
  await trial.sees(named, 'the rule names the bot');
  await trial.click(named.first());
  await trial.click(button(/^gold/));
  await trial.sees(page.getByRole('dialog').locator('svg, canvas'), 'the chart shows since when');
  await page.keyboard.press('Escape');
  await trial.click(page.getByRole('tab', { name: 'Configuration' }));
  await trial.sees(changes().getByText('spends'), 'its history has the change');
  await trial.click(button(/^Restore the earlier state/).first());
  await trial.click(button('Save'));
  await bar.waitFor({ state: 'hidden' });
  await trial.sees(page.locator('.view-head').getByText('digging'), 'the rule is over');
  expect(complaints).toEqual([]);
}, 120_000);
