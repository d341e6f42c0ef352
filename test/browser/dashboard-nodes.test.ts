// The dashboard of a node of a cluster.

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { NodeList } from '../../src/client/index.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { launchChromium } from './chromium.js';
import { mockCluster, threeNodes } from './dashboard-cluster.js';
import { openPage, openWithToken, show, signIn, startForDashboard } from './dashboard-page.js';

const AXE = new URL('../../node_modules/axe-core/axe.min.js', import.meta.url);

let browser: Browser;
let service: Service;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  service = await startForDashboard();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
beforeEach(async () => {
  const opened = await openPage(browser);
  ({ page, complaints } = opened);
  onTestFinished(() => opened.context.close());
});

const link = () => page.getByRole('link', { name: 'Nodes', exact: true });
const row = (node: string) => page.locator(`[data-node=${node}]`);

async function openNodes(list: NodeList): Promise<string[]> {
  const posted = await mockCluster(page, list);
  await signIn(page, service);
  await link().click();
  return posted;
}

it('a single service has no page of nodes, no column and no choice of them', async () => {
  await signIn(page, service);
  await show(page, '#/bots');
  await page.locator('[data-bot="demo-1"]').waitFor();
  expect(await link().count()).toBe(0);
  expect(await page.getByRole('columnheader', { name: 'Node' }).count()).toBe(0);
  await page.getByRole('button', { name: 'New bot' }).click();
  expect(await page.getByLabel('When its node is lost').count()).toBe(0);
  await show(page, '#/nodes');
  await page.getByText('This service is not part of a cluster.').waitFor();
  expect(complaints).toEqual([]);
});

it('shows each node with its state, bots, CPU and memory, and which one leads', async () => {
  await openNodes(threeNodes());
  expect(await row('h1').innerText()).toMatch(
    /h1\s*leader\s*serves this page\s*zone=a\s*disk=ssd\s+live\s+1,204, 1,200 running\s+83 % of 4 cores\s+210 MB of 7\.8 GB\s+12\s/,
  );
  expect(await row('h3').innerText()).toMatch(/^h3\s+cordoned\s+35, 30 running/);
  expect(await row('h2').getByText('leader').count()).toBe(0);
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = await page.evaluate<string[]>(
    'axe.run().then(({ violations }) => violations.map(({ id }) => id))',
  );
  expect(found).toEqual([]);
  expect(complaints).toEqual([]);
});

it('asks before a drain, with the numbers of bots and nodes', async () => {
  const posted = await openNodes(threeNodes());
  await page.getByRole('button', { name: 'Drain h1' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1,204 bots of h1 move to 1 other live node, one group').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(posted).toEqual([]);
  await page.getByRole('button', { name: 'Drain h1' }).click();
  await dialog.getByRole('button', { name: 'Move 1,204 bots' }).click();
  await row('h1').getByText('draining').waitFor();
  expect(posted).toEqual(['/api/nodes/h1/drain']);
  // What makes sense of a node that drains.
  expect(await row('h1').getByRole('button').allInnerTexts()).toEqual(['Uncordon']);
});

it('is one stop of the Tab key: arrows lead to all that it says, and the place stays when an action goes', async () => {
  const posted = await openNodes(threeNodes());
  const grid = page.getByRole('grid', { name: 'Nodes' });
  await page.getByRole('button', { name: 'Rebalance' }).focus();
  const press = async (...keys: string[]): Promise<string> => {
    for (const key of keys) await page.keyboard.press(key);
    return await page.evaluate(
      "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText",
    );
  };
  expect(await press('Tab')).toBe('Node');
  expect(await press('Tab')).toBe('h1');
  expect(await press('ArrowRight')).toBe('live');
  expect(await press('ArrowDown', 'ArrowDown')).toBe('cordoned');
  expect(await press('End')).toBe('Drain h3');
  expect(await press('ArrowLeft')).toBe('Uncordon h3');
  expect(await press('ArrowUp')).toBe('Cordon h2');
  expect(await press('Control+Home')).toBe('Cordon h1');
  // One way in and one out, which is the way back.
  await press('Tab');
  expect(await grid.locator(':focus').count()).toBe(0);
  expect(await press('Shift+Tab')).toBe('Cordon h1');
  await press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Cordon' }).press('Enter');
  await row('h1').getByText('cordoned').waitFor();
  expect(posted).toEqual(['/api/nodes/h1/cordon']);
  const focused = grid.getByRole('button', { name: /^(Uncordon|Drain) h1$/ });
  await expect.poll(() => focused.and(page.locator(':focus')).count()).toBe(1);
});

it('cordons, uncordons and rebalances', async () => {
  const posted = await openNodes(threeNodes());
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Cordon h2', exact: true }).click();
  await dialog.getByText('h2 keeps its 1 bot and gets no new ones.').waitFor();
  await dialog.getByRole('button', { name: 'Cordon' }).click();
  await row('h2').getByText('cordoned').waitFor();
  await page.getByRole('button', { name: 'Uncordon h3' }).click();
  await dialog.getByRole('button', { name: 'Uncordon' }).click();
  await row('h3').getByText('live').waitFor();
  await page.getByRole('button', { name: 'Rebalance' }).click();
  await dialog.getByText('1,239 bots on 2 live nodes').waitFor();
  await dialog.getByRole('button', { name: 'Rebalance' }).click();
  await page.getByText('400 bots move').waitFor();
  expect(posted).toEqual([
    '/api/nodes/h2/cordon',
    '/api/nodes/h3/uncordon',
    '/api/nodes/rebalance',
  ]);
});

it('has a column and a filter of nodes in the table of bots, and in the form of a new bot', async () => {
  await mockCluster(page, threeNodes());
  await signIn(page, service);
  await show(page, '#/bots');
  await page.getByRole('columnheader', { name: 'Node' }).waitFor();
  await page.getByLabel('Search bots').fill('node:h2');
  await page.keyboard.press('Enter');
  await page.getByText('No bots match the filter.').waitFor();
  expect(decodeURIComponent(page.url())).toMatch(/#\/bots\?q=node:h2\+?$/);
  await page.getByRole('button', { name: 'Clear filter' }).click();
  const bodies: unknown[] = [];
  await page.route('**/api/bots', async (route) => {
    bodies.push(route.request().postDataJSON());
    await route.fulfill({ status: 400, json: { error: 'not now' } });
  });
  await page.getByRole('button', { name: 'New bot' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('ID').fill('new');
  await dialog.getByLabel('Kind', { exact: true }).selectOption('demo');
  await dialog.getByLabel('Node', { exact: true }).selectOption('h3');
  await dialog.getByLabel('When its node is lost').selectOption('stay');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('not now').waitFor();
  expect(bodies).toMatchObject([{ id: 'new', node: 'h3', failover: 'stay' }]);
});

it('names a node whose past lines are missing', async () => {
  await mockCluster(page, threeNodes());
  await page.route('**/api/events?**', async (route) => {
    const missing = [{ node: 'h3', reason: 'nobody answers' }];
    await route.fulfill({ json: { events: [], cursor: null, missing } });
  });
  await signIn(page, service);
  await show(page, '#/log');
  await page.getByText('Past lines of node h3 are missing: nobody answers').waitFor();
});

it('says that the node is cut off, and offers no actions then', async () => {
  const list = threeNodes();
  list.state = 'cut_off';
  list.reason = 'the NATS servers cannot be reached';
  await openNodes(list);
  await page.getByText('This node is cut off from the cluster.').waitFor();
  await page.getByText('out of date: the NATS servers cannot be reached').waitFor();
  expect(await page.getByRole('button', { name: 'Drain h1' }).isDisabled()).toBe(true);
  list.state = 'on';
  list.reason = null;
  // The page asks again by itself.
  await page.locator('[data-cluster]').waitFor({ state: 'detached' });
  expect(await page.getByRole('button', { name: 'Drain h1' }).isDisabled()).toBe(false);
});

it('shows no actions to a token that may not do them', async () => {
  await mockCluster(page, threeNodes());
  const { token } = await makeToken(service, { name: 'reader', scopes: ['read'] });
  await openWithToken(page, service, token);
  await link().click();
  await page.getByText('You need the scope “admin” to change nodes.').waitFor();
  expect(await row('h1').getByRole('button').count()).toBe(0);
});
