// The stream in a browser's EventSource (docs/INTERFACE.md §5.3, §6). Runs the snippet of docs/GETTING-STARTED.md.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { docBlock } from '../harness/docs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';

/** The snippet's log line for one event. */
interface Seen {
  kind: string;
  id: string;
  data: Record<string, unknown>;
}

const EVENT_ID = /^[0-9a-f]+-[1-9][0-9]*$/;
const dataDir = makeDir();
let browser: Browser;
let service: Service;
let page: Page;

/** The snippet with a token inserted. */
function snippet(token: string): string {
  const js = docBlock('docs/GETTING-STARTED.md', 'new EventSource');
  expect(js).toContain('PASTE THE TOKEN HERE');
  return js.replace('PASTE THE TOKEN HERE', token);
}

/** The snippet's log so far. */
async function seen(): Promise<Seen[]> {
  const logged = (await page.evaluate('logged')) as [string, string, Seen['data']][];
  return logged.map(([kind, id, data]) => ({ kind, id, data }));
}

/** The first event, starting at `from`, that the predicate accepts. */
async function event(predicate: (event: Seen) => boolean, from = 0): Promise<Seen> {
  let found: Seen | undefined;
  await expect
    .poll(
      async () => {
        found = (await seen()).slice(from).find(predicate);
        return found !== undefined;
      },
      { interval: 100 },
    )
    .toBe(true);
  return found as Seen;
}

function start(port: number): Promise<Service> {
  return startService({ demo: true, dataDir, port, config: { stream: { retry_ms: 200 } } });
}

beforeAll(async () => {
  browser = await launchChromium();
  service = await start(await freePort());
  page = await browser.newPage();
  await page.goto(`${service.url}/health`);
  await page.evaluate('globalThis.logged = []; console.log = (...line) => logged.push(line)');
  await page.evaluate(snippet(await service.token()));
});

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  removeDir(dataDir);
});

it('gets a session event for each bot at the start, and further ones with ids as their state changes', async () => {
  const { data } = await event(({ kind }) => kind === 'session');
  expect(data.snapshot).toMatchObject({ id: expect.any(String), status: expect.any(String) });
  const change = await event(({ kind, id }) => kind === 'session' && EVENT_ID.test(id));
  expect(change.data.snapshot).toMatchObject({ kind: 'demo' });
});

it('gets log events with ids, including the wire lines of a command', async () => {
  await event(({ data }) => (data.snapshot as { status?: string })?.status === 'in_world');
  const from = (await seen()).length;
  const text = 'hello from a browser test';
  const body = { session_id: 'demo-1', command: 'say', args: { text } };
  await expect
    .poll(async () => (await call(service, 'POST', '/invoke', { body })).status)
    .toBe(200);
  const line = await event(
    ({ kind, data }) =>
      kind === 'log' && data.direction === 'outgoing' && `${data.message}`.includes(text),
    from,
  );
  expect(line.id).toMatch(EVENT_ID);
  expect(line.data).toMatchObject({ session_id: 'demo-1', transport: 'tcp', level: 'info' });
});

it('reconnects after a restart of the service, and continues with the next event', async () => {
  const { port } = service;
  expect(await service.stop()).toBe(0);
  service = await start(port);
  const text = 'said after the restart';
  const body = { session_id: 'demo-1', command: 'say', args: { text } };
  await expect
    .poll(async () => (await call(service, 'POST', '/invoke', { body })).status)
    .toBe(200);
  await event(({ kind, data }) => kind === 'log' && `${data.message}`.includes(text));
  const all = (await seen()).filter(({ id }) => id !== '');
  expect(all.map(({ kind }) => kind)).not.toContain('gap');
  const [epoch, first] = all[0]?.id.split('-') ?? [];
  expect(all.map(({ id }) => id)).toEqual(all.map((_, at) => `${epoch}-${Number(first) + at}`));
});
