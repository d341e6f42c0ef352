// Decision "tokens": who can see the incidents of a bot.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { IncidentGroups } from '../../src/shared/contract/incident-groups.js';
import { call } from '../harness/api.js';
import { create, FIXTURE_KINDS, type Incident, invoke } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject({ config: { kinds: [FIXTURE_KINDS] } });
});
afterAll(() => service.close());

/** A bot that fails by its command, and is not restarted. */
const fragile = (id: string, labels: object): object => ({
  id,
  kind: 'guarded',
  config: { lock: randomUUID() },
  labels,
  restart: { policy: 'never' },
});
const breakDown = (id: string) => invoke(service, id, 'break', { message: 'it broke' });

it('a limited token sees neither incidents of other bots nor their commands on the same host', async () => {
  for (const id of ['victim', 'culprit']) {
    await create(service, fragile(id, { id }));
  }
  await invoke(service, 'victim', 'note');
  await breakDown('culprit');
  const of = async (limit?: object) => {
    const options = limit ? { token: (await makeToken(service, limit)).token } : {};
    const { json } = await call(service, 'GET', '/api/incidents', options);
    return (json as { incidents: Incident[] }).incidents;
  };
  const onVictim = async () => (await of()).filter(({ suspect }) => suspect === 'culprit');
  await expect.poll(async () => (await onVictim()).length).toBe(1);
  const [whole] = await onVictim();
  const last = ['break on culprit'];
  expect(whole).toMatchObject({ bots: ['culprit'], last_commands: last });
  for (const limit of [{ bots: ['culprit'] }, { labels: { id: 'culprit' } }]) {
    expect(await of(limit)).toEqual([whole]);
  }
  expect(await of({ bots: ['victim'] })).toEqual([]);
});

it('an incident stays with the labels and identity its bot had then, not with later labels or a new bot', async () => {
  const id = 'reused';
  await create(service, fragile(id, { team: 'old' }));
  await invoke(service, id, 'note');
  await breakDown(id);
  const of = async (limit?: object, path = '/api/incidents') => {
    const options = limit ? { token: (await makeToken(service, limit)).token } : {};
    const { json } = await call(service, 'GET', path, options);
    return (json as { incidents: Incident[] }).incidents.filter(({ suspect }) => suspect === id);
  };
  const limits = [{ labels: { team: 'old' } }, { labels: { team: 'new' } }, { bots: [id] }];
  /** The number of incidents that each limit shows. */
  const counts = async () => {
    const found = limits.map(async (limit) => {
      const all = await of(limit);
      // If the token cannot see the bot, its own route is 404.
      if (all.length > 0) expect(await of(limit, `/api/bots/${id}/incidents`)).toEqual(all);
      return all.length;
    });
    return Promise.all(found);
  };
  await expect.poll(async () => (await of()).length).toBe(1);
  expect(await counts()).toEqual([1, 0, 1]);

  await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: { team: 'new' } } });
  expect(await counts()).toEqual([0, 0, 1]);
  // The next incident contains nothing from before the change.
  await call(service, 'POST', `/api/bots/${id}/start`);
  await breakDown(id);
  await expect.poll(async () => (await of()).length).toBe(2);
  expect(await counts()).toEqual([0, 1, 2]);
  const [newest] = await of({ labels: { team: 'new' } });
  expect(newest?.last_commands).toEqual([`break on ${id}`]);
  await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: { team: 'old' } } });
  expect(await counts()).toEqual([1, 0, 2]);

  expect((await call(service, 'DELETE', `/api/bots/${id}`)).status).toBe(204);
  expect(await counts()).toEqual([0, 0, 0]);
  await create(service, fragile(id, { team: 'old' }));
  expect(await counts()).toEqual([0, 0, 0]);
  // An unlimited token still sees them.
  expect(await of()).toHaveLength(2);
  expect(Object.keys((await of())[0] ?? {})).not.toContain('identities');
});

it('a limited token gets the groups of the incidents that it may see', async () => {
  for (const id of ['mine', 'theirs']) {
    await create(service, fragile(id, { owner: id }));
    await breakDown(id);
  }
  const of = async (limit?: object, query = '') => {
    const options = limit ? { token: (await makeToken(service, limit)).token } : {};
    const { json } = await call(service, 'GET', `/api/incidents/groups${query}`, options);
    return (json as IncidentGroups).groups;
  };
  const both = async () => {
    const found = (await of()).find(({ bots }) => bots.includes('theirs'));
    return found?.bots.includes('mine') ? found : undefined;
  };
  await expect.poll(both).toBeDefined();
  const all = await both();
  const [own, ...others] = await of({ labels: { owner: 'mine' } });
  expect(others).toEqual([]);
  expect(own).toMatchObject({ cause: all?.cause, count: 1, bots: ['mine'], bot_count: 1 });
  const query = `?cause=${all?.cause}`;
  expect(await of({ bots: ['theirs'] }, query)).toMatchObject([{ bots: ['theirs'] }]);
  expect(await of({ bots: ['nobody'] }, query)).toEqual([]);
  // The reports of the cause, to each what it may see.
  const { token } = await makeToken(service, { bots: ['theirs'] });
  const reports = await call(service, 'GET', `/api/incidents${query}`, { token });
  expect(reports.json).toMatchObject({ incidents: [{ suspect: 'theirs', cause: all?.cause }] });
  expect((reports.json as { incidents: unknown[] }).incidents).toHaveLength(1);
});
