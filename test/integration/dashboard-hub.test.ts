// The dashboard's hub on a real service, without a browser: which token counts, and what the tabs receive.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Hub } from '../../dashboard/src/hub/hub.js';
import type { Port, ToHub, ToTab, Update } from '../../dashboard/src/hub/messages.js';
import { type Service, startService } from '../harness/service.js';
import { makeToken, revoke } from '../harness/tokens.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

/** A tab that renders every update at once. */
class Tab {
  readonly sessions: { token: string | null; reason: string | null }[] = [];
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
  expect(first.sessions.at(-1)?.reason).toMatch('revoked or has expired');
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
    expect(tab.sessions.map(({ reason }) => reason)).not.toContainEqual(expect.any(String));
  }
});
