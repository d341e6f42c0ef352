// What the page of incidents says through an hour of trouble: bots that crash, hosts that hang, error lines, and 2,000 lines/s beside
// them, on a journal of half an hour. `npx vitest run --config test/browser/tools.config.ts trouble` prints one line a minute.
// TROUBLE_MINUTES sets the length, TROUBLE_MINUTE_S how long a minute is, TROUBLE_FILL_LINES what the journal has at the beginning.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { invoke, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';
import { DASHBOARD_KINDS, openPage, openWithToken, show } from './dashboard-page.js';

const MINUTES = Number(process.env['TROUBLE_MINUTES'] ?? 60);
const MINUTE_S = Number(process.env['TROUBLE_MINUTE_S'] ?? 60);
/** Half an hour of 2,000 a second. */
const FILL_LINES = Number(process.env['TROUBLE_FILL_LINES'] ?? 3_600_000);
const FILL_PER_SECOND = 20_000;
const LOADS = 8;
const FALLERS = 12;

let browser: Browser;
let service: Service;
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
  service = await startService({
    config: {
      kinds: [DASHBOARD_KINDS],
      hosts: { count: 3 },
      drills: { enabled: true },
      watchdog: { hang_ms: 3000 },
      bots: [
        ...Array.from({ length: LOADS }, (_, n) => ({
          id: `load-${n}`,
          kind: 'synthetic',
          config: { events_per_second: FILL_PER_SECOND / LOADS, message_bytes: 120 },
        })),
        ...Array.from({ length: FALLERS }, (_, n) => ({
          id: `faller-${n}`,
          kind: 'painter',
          config: { greeting: 'hello' },
          restart: { max_restarts: null, backoff_ms: 500, backoff_cap_ms: 2000 },
        })),
      ],
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** A bot that is down, or a host that was just replaced, does not answer: the next round tries again. */
const attempt = (task: () => Promise<unknown>): Promise<unknown> => task().catch(() => undefined);

async function fill(): Promise<void> {
  const since = Date.now();
  let kept = 0;
  while (kept < FILL_LINES) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const { json } = await call(service, 'GET', `/api/stats?after=${since - 60_000}`);
    const { buckets } = json as { buckets: { events: number }[] };
    kept = buckets.reduce((sum, { events }) => sum + events, 0);
  }
  console.log(`the journal has ${kept} lines after ${Math.round((Date.now() - since) / 1000)} s`);
  const config = { events_per_second: 2000 / LOADS };
  for (let n = 0; n < LOADS; n++) {
    await call(service, 'PATCH', `/api/bots/load-${n}`, { body: { config } });
  }
}

interface Said {
  note: string;
  connection: string;
  state: string;
  lanes: Record<string, number>;
  newest: string;
  causes: number;
}

const SAID = `(() => {
  const text = (selector) => document.querySelector(selector)?.textContent?.trim() ?? '';
  const lanes = {};
  for (const one of document.querySelectorAll('.happenings .happening-lane')) {
    lanes[one.textContent] = (lanes[one.textContent] ?? 0) + 1;
  }
  return {
    note: text('.view-note'),
    connection: text('.connection-name'),
    state: text('.beside [role=status]') || text('.page > .muted'),
    lanes,
    newest: text('.happenings li'),
    causes: document.querySelectorAll('.cause').length,
  };
})()`;

it(
  `${MINUTES} minutes of trouble`,
  async () => {
    await fill();
    ({ page } = await openPage(browser, { width: 1440, height: 900 }));
    await openWithToken(page, service, await service.token());
    let isOver = false;
    const crashing = (async () => {
      for (let n = 0; !isOver; n++) {
        const id = `faller-${n % FALLERS}`;
        await attempt(() => invoke(service, id, 'fall', { why: `no reply after ${n * 31} ms` }));
        await attempt(() => invoke(service, id, 'print', { text: `error ${n}`, level: 'error' }));
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    })();
    await show(page, '#/problems');
    let hung = 0;
    const faults: string[] = [];
    for (let minute = 1; minute <= MINUTES; minute++) {
      if (minute % 5 === 2) {
        const drill = { kill: 'host', host: hung++ % 3, fault: 'hang' };
        await attempt(() => invoke(service, null, 'drill', drill));
      }
      await page.waitForTimeout(MINUTE_S * 1000);
      const said = await page.evaluate<Said>(SAID);
      const lanes = Object.entries(said.lanes).map(([lane, count]) => `${lane} ${count}`);
      console.log(
        `${String(minute).padStart(2)}: ${said.connection} | ${said.note} | ${said.causes} causes | ` +
          `${said.state || 'complete'} | ${lanes.join(', ')} | ${said.newest.slice(0, 70)}`,
      );
      // There are commands in each minute, and incidents from the first on.
      if (/Nothing else|No incidents/.test(`${said.state} ${said.newest}`))
        faults.push(`minute ${minute} says none`);
      if (said.causes === 0) faults.push(`minute ${minute} has no cause`);
      // The journal was full, and what was changed then is known, however many commands came after it.
      if (!said.lanes['Change']) faults.push(`minute ${minute} has no change`);
      if (hung > 0 && minute % 5 === 4 && !said.lanes['Host lost']) {
        faults.push(`minute ${minute} has no lost host`);
      }
    }
    isOver = true;
    await crashing;
    expect(faults).toEqual([]);
    expect((await snapshot(service, 'faller-0')).restarts).toBeGreaterThan(0);
  },
  3 * 3_600_000,
);
