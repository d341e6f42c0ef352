// Decision "tokens": whom the incidents of a bot are shown to.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { create, FIXTURE_KINDS, type Incident, invoke } from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

let service: Service;
beforeAll(async () => {
  service = await startService({
    // So that all bots are on one.
    args: ['--bot-hosts', '1'],
    config: { kinds: [FIXTURE_KINDS] },
  });
});
afterAll(() => stopClean(service));

it('incidents of other bots are not shown, nor what a host ran beside its own', async () => {
  for (const id of ['victim', 'culprit']) {
    await create(service, { id, kind: 'faulty', labels: { id }, restart: { policy: 'never' } });
  }
  await invoke(service, 'victim', 'give', { which: 'number' });
  await invoke(service, 'culprit', 'cause', { fault: 'timer' });
  const of = async (limit?: object) => {
    const options = limit ? { token: (await makeToken(service, limit)).token } : {};
    const { json } = await call(service, 'GET', '/api/incidents', options);
    return (json as { incidents: Incident[] }).incidents;
  };
  const onVictim = async () => (await of()).filter(({ suspect }) => suspect === 'culprit');
  await expect.poll(async () => (await onVictim()).length).toBe(1);
  const [whole] = await onVictim();
  const last = ['give on victim', 'cause on culprit'];
  expect(whole).toMatchObject({ bots: ['culprit'], last_commands: last });
  for (const limit of [{ bots: ['culprit'] }, { labels: { id: 'culprit' } }]) {
    expect(await of(limit)).toEqual([{ ...whole, last_commands: ['cause on culprit'] }]);
  }
  expect(await of({ bots: ['victim'] })).toEqual([]);
});

it('incidents stay with whom the bot was of then: not shown when it has other labels, nor to who has its id after', async () => {
  const id = 'reused';
  const faulty = (team: string) => ({
    id,
    kind: 'faulty',
    labels: { team },
    restart: { policy: 'never' },
  });
  await create(service, faulty('old'));
  await invoke(service, id, 'give', { which: 'number' });
  await invoke(service, id, 'cause', { fault: 'timer' });
  const of = async (limit?: object, path = '/api/incidents') => {
    const options = limit ? { token: (await makeToken(service, limit)).token } : {};
    const { json } = await call(service, 'GET', path, options);
    return (json as { incidents: Incident[] }).incidents.filter(({ suspect }) => suspect === id);
  };
  const limits = [{ labels: { team: 'old' } }, { labels: { team: 'new' } }, { bots: [id] }];
  /** How many incidents each of the limits shows. */
  const counts = async () => {
    const found = limits.map(async (limit) => {
      const all = await of(limit);
      // Where the bot is not there for the token the second is 404.
      if (all.length > 0) expect(await of(limit, `/api/bots/${id}/incidents`)).toEqual(all);
      return all.length;
    });
    return Promise.all(found);
  };
  await expect.poll(async () => (await of()).length).toBe(1);
  expect(await counts()).toEqual([1, 0, 1]);

  await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: { team: 'new' } } });
  expect(await counts()).toEqual([0, 0, 1]);
  // The next has nothing from before in it.
  await call(service, 'POST', `/api/bots/${id}/start`);
  await invoke(service, id, 'cause', { fault: 'timer' });
  await expect.poll(async () => (await of()).length).toBe(2);
  expect(await counts()).toEqual([0, 1, 2]);
  const [newest] = await of({ labels: { team: 'new' } });
  expect(newest?.last_commands).toEqual([`cause on ${id}`]);
  await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: { team: 'old' } } });
  expect(await counts()).toEqual([1, 0, 2]);

  expect((await call(service, 'DELETE', `/api/bots/${id}`)).status).toBe(204);
  expect(await counts()).toEqual([0, 0, 0]);
  await create(service, faulty('old'));
  expect(await counts()).toEqual([0, 0, 0]);
  // Who sees all sees them still.
  expect(await of()).toHaveLength(2);
  expect(Object.keys((await of())[0] ?? {})).not.toContain('identities');
});
