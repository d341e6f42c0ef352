// The dashboard on a real service, without a browser: which token its hub uses and what the tabs receive; the log on the
// history, of which it holds a bounded window, anywhere in it.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Hub } from '../../dashboard/src/hub/hub.js';
import type { Port, ToHub, ToTab, Update } from '../../dashboard/src/hub/messages.js';
import { historyLines } from '../../dashboard/src/model/history-lines.js';
import { applyUpdate, noNews, resetState } from '../../dashboard/src/model/live.js';
import type { LogFilter } from '../../dashboard/src/model/log-filter.js';
import { LogWindow } from '../../dashboard/src/model/log-window.js';
import { DroverClient } from '../../src/client/index.js';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { makeToken, revoke } from '../harness/tokens.js';

const KINDS = fileURLToPath(new URL('../fixtures/dashboard-kinds', import.meta.url));
const FILTER: LogFilter = { query: '', bot: 'painter-1' };
const BATCH = 3500;
const BATCHES = 2;
/** A tenth of the dashboard's own bound. */
const HELD = { rows: 6000, chars: 4 * 1024 * 1024 };
/** With a tenth more, so that the window is not trimmed on every page. */
const MOST_ROWS = 6600;

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [KINDS],
      bots: [{ id: 'painter-1', kind: 'painter', config: { greeting: 'good morning' } }],
    },
  });
});
afterAll(() => service?.stop());

/** A tab that renders every update at once. */
class Tab {
  readonly sessions: { token: string | null; isEnded: boolean }[] = [];
  readonly updates: Update[] = [];
  readonly #port: Port<ToTab, ToHub>;

  constructor(hub: Hub) {
    this.#port = { send: (message) => this.#take(message), receive: () => {} };
    hub.attach(this.#port);
  }

  say(message: ToHub): void {
    this.#port.receive(message);
  }

  get token(): string | null | undefined {
    return this.sessions.at(-1)?.token;
  }

  async isOpen(): Promise<void> {
    await expect.poll(() => this.updates.at(-1)?.connection.state).toBe('open');
  }

  #take(message: ToTab): void {
    if (message.type === 'session') {
      this.sessions.push(message);
    } else if (message.type === 'update') {
      this.updates.push(message.update);
      setImmediate(() => this.say({ type: 'taken' }));
    }
  }
}

function newHub(): Hub {
  const hub = new Hub(service.url);
  onTestFinished(() => new Tab(hub).say({ type: 'sign-out' }));
  return hub;
}

const read = (name: string) => makeToken(service, { name, scopes: ['read'] });

it('keeps the token in use over a tab’s saved one, and replaces it with a new one', async () => {
  const [used, older, newer] = [await read('used'), await read('older'), await read('newer')];
  const hub = newHub();
  const first = new Tab(hub);
  first.say({ type: 'hello', token: used.token, isNew: false });
  await first.isOpen();
  const second = new Tab(hub);
  second.say({ type: 'hello', token: older.token, isNew: false });
  expect(second.token).toBe(used.token);
  const third = new Tab(hub);
  third.say({ type: 'hello', token: newer.token, isNew: true });
  for (const tab of [first, second, third]) expect(tab.token).toBe(newer.token);
  await third.isOpen();
  // When that token is revoked, no tab falls back to an older one.
  await revoke(service, newer.id);
  await expect.poll(() => first.token).toBeNull();
  expect(first.sessions.at(-1)?.isEnded).toBe(true);
  expect(second.token).toBeNull();
});

it('switches to another tab’s token without an error when the first one is invalid', async () => {
  const [bad, good] = [await read('bad'), await read('good')];
  await revoke(service, bad.id);
  const hub = newHub();
  const first = new Tab(hub);
  const second = new Tab(hub);
  first.say({ type: 'hello', token: bad.token, isNew: false });
  second.say({ type: 'hello', token: good.token, isNew: false });
  for (const tab of [first, second]) {
    await tab.isOpen();
    expect(tab.token).toBe(good.token);
    expect(tab.sessions.map(({ isEnded }) => isEnded)).not.toContain(true);
  }
});

it('drops distant rows while scrolling into the past and back, and shows each line once', async () => {
  onTestFinished(resetState);
  const client = new DroverClient({ url: service.url, token: await service.token() });
  await eventually(
    async () => (await snapshot(service, 'painter-1')).status === 'painting',
    'painting',
  );
  // Several batches: the host skips none of so few lines.
  for (let batch = 0; batch < BATCHES; batch++) {
    await invoke(service, 'painter-1', 'print', { text: `${batch} number %n`, times: BATCH });
    const q = `${batch} number ${BATCH}`;
    await eventually(async () => (await client.events({ q })).events.length === 1, q);
  }
  // The state of a hub that has only the last lines.
  const { events } = await client.events({ event: ['log'], limit: 1000 });
  const lines = historyLines(events.toReversed()).map((line, at) => ({ ...line, n: at + 1 }));
  applyUpdate({ ...noNews(), reset: true, connection: { state: 'open' }, lines, firstLine: 1 });
  const shown = new LogWindow(FILTER, () => client, HELD);
  onTestFinished(() => shown.close());
  shown.begin();

  /** The numbers of the printed rows. */
  const numbers = (): number[] =>
    shown.rows.flatMap(({ text }) => {
      const [, batch, number] = /^(\d+) number (\d+)$/.exec(text) ?? [];
      return number === undefined ? [] : Number(batch) * BATCH + Number(number);
    });
  const isRun = (): boolean => numbers().every((number, at, all) => number === (all[0] ?? 0) + at);
  let most = 0;
  while (shown.top.peek() !== 'end') {
    await shown.older();
    most = Math.max(most, shown.rows.length);
  }
  expect(numbers()[0]).toBe(1);
  expect(isRun()).toBe(true);
  expect(shown.isJoined.peek()).toBe(false);

  while (!shown.isJoined.peek()) {
    await shown.newer();
    most = Math.max(most, shown.rows.length);
  }
  expect(numbers().at(-1)).toBe(BATCH * BATCHES);
  expect(isRun()).toBe(true);
  expect(most).toBeLessThanOrEqual(MOST_ROWS);
  expect(shown.top.peek()).toBe('more');
});
