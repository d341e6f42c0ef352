// The page of a node of a cluster with many bots: herd, list of bots and log. PAGERATE_BOTS sets how many bots three nodes have.

import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allJoined } from '../cluster/service.js';
import { create } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import type { Service } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { openPage, openWithToken, show } from './dashboard-page.js';
import { cpuDuring, during, heapOf, PROBE } from './page-probe.js';

const BOTS = Number(process.env['PAGERATE_BOTS'] ?? 20_000);
const NODES = 3;
const AT_ONCE = 8;
/** Lines a second of all bots together. */
const LINES = 500;
const SECONDS = 10;
const SETTLE_MS = 5000;
const LEASE_MS = 60_000;
/** Bounds for a machine that does nothing else; the cluster is on it too. */
const MIN_FRAMES = 50;
const MAX_TASK_MS = 100;

let browser: Browser;
let cluster: TestCluster;
beforeAll(async () => {
  browser = await launchChromium();
  cluster = await TestCluster.start({ config: {}, leaseMs: LEASE_MS });
  await allJoined(cluster);
  let next = 0;
  const fill = async (service: Service): Promise<void> => {
    for (let n = next++; n < BOTS; n = next++) {
      const made = await create(service, {
        id: `bot-${n}`,
        kind: 'synthetic',
        labels: { team: `team-${n % 12}` },
        config: { events_per_second: n % (BOTS / LINES) === 0 ? 1 : 0, message_bytes: 100 },
      });
      expect(made.status, made.text).toBe(201);
    }
  };
  const services = cluster.nodes.map(({ service }) => service);
  const fillers = Array.from({ length: AT_ONCE }, (_, n) => fill(services[n % NODES] as Service));
  await Promise.all(fillers);
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
}, 120_000);

/** Scrolls what is under the pointer to and fro. */
async function scroll(page: Page, selector: string, ms: number): Promise<void> {
  const box = await page.locator(selector).boundingBox();
  if (!box) throw new Error(`there is no ${selector}`);
  await page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height, 600) / 2);
  const end = performance.now() + ms;
  for (let turn = 0; performance.now() < end; turn++) {
    await page.mouse.wheel(0, turn % 200 < 100 ? 240 : -240);
    await page.waitForTimeout(16);
  }
}

it(`${BOTS} bots on ${NODES} nodes with ${LINES} lines/s`, { timeout: 300_000 }, async () => {
  const { service } = cluster.node(0);
  const { page } = await openPage(browser, { width: 1440, height: 900 });
  const cdp: CDPSession = await page.context().newCDPSession(page);
  const began = performance.now();
  await openWithToken(page, service, await service.token());
  await page.locator(`[data-herd="${BOTS}"]`).waitFor({ timeout: 60_000 });
  console.log(`herd of ${BOTS} after ${(performance.now() - began).toFixed(0)} ms`);
  await page.evaluate(PROBE);
  const views: [string, string, (ms: number) => Promise<void>][] = [
    ['herd', '#/overview?by=node', (ms) => page.waitForTimeout(ms)],
    ['list of bots, scrolling', '#/bots', (ms) => scroll(page, '.list-body', ms)],
    ['log', '#/log', (ms) => page.waitForTimeout(ms)],
  ];
  const worst: Record<string, Awaited<ReturnType<typeof during>>> = {};
  for (const [name, href, task] of views) {
    await show(page, href);
    await page.waitForTimeout(SETTLE_MS);
    const cpu = await cpuDuring(cdp, () => page.waitForTimeout(SETTLE_MS));
    const measured = await during(page, () => task(SECONDS * 1000));
    worst[name] = measured;
    console.log(
      `${name}: ${measured.fps.toFixed(1)} frames/s, ${measured.long} long tasks, longest ` +
        `${measured.longest.toFixed(0)} ms, ${(cpu * 100).toFixed(0)} % of a core, ` +
        `heap ${((await heapOf(cdp)) / 1e6).toFixed(1)} MB`,
    );
  }
  for (const [name, { fps, longest }] of Object.entries(worst)) {
    expect(fps, name).toBeGreaterThanOrEqual(MIN_FRAMES);
    expect(longest, name).toBeLessThanOrEqual(MAX_TASK_MS);
  }
});
