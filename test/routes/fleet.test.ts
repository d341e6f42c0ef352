// Fleets: what applying one changes, what it refuses, and what is shown of a bot that was changed by hand since.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { activityText } from '../../src/shared/contract/activity.js';
import type { CreateBotBody } from '../../src/shared/contract/bots.js';
import type { FleetPlan, FleetStep } from '../../src/shared/contract/fleet.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { act, create, FIXTURE_KINDS } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import { activityOf, type Snapshot } from '../harness/shapes.js';
import { makeToken, streamOf } from '../harness/tokens.js';

let service: InjectedService;
beforeEach(async () => {
  service = await inject({ config: { kinds: [FIXTURE_KINDS], pressure: { max_bots: 12 } } });
});
afterEach(() => service.close());

type Bot = Partial<CreateBotBody> & { id: string };

const quiet = (id: string, more: object = {}): Bot => ({
  id,
  kind: 'synthetic',
  config: { events_per_second: 0 },
  ...more,
});
const keeper = (id: string, config: object): Bot => ({
  id,
  kind: 'keeper',
  desired: 'stopped',
  config: { host: 'irc.example', ...config } as never,
});

const send = (bots: Bot[], flags: object = {}, name = 'web', token?: string): Promise<Answer> =>
  call(service, 'POST', `/api/fleet/${name}`, {
    body: { bots, ...flags },
    ...(token && { token }),
  });

async function apply(bots: Bot[], flags: object = {}, name = 'web'): Promise<FleetPlan> {
  const answer = await send(bots, flags, name);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as FleetPlan;
}
const dryRun = (bots: Bot[], flags: object = {}, name = 'web'): Promise<FleetPlan> =>
  apply(bots, { ...flags, dry_run: true }, name);

async function shown(id: string): Promise<Snapshot & { fleet?: string; drift?: true }> {
  return (await call(service, 'GET', `/api/bots/${id}`)).json as Snapshot;
}
async function configOf(id: string): Promise<{ config: object; fleet: unknown }> {
  return (await call(service, 'GET', `/api/bots/${id}/config`)).json as never;
}
async function ids(query = ''): Promise<string[]> {
  const { json } = await call(service, 'GET', `/api/bots?query=${encodeURIComponent(query)}`);
  return (json as { bots: Snapshot[] }).bots.map(({ id }) => id).sort();
}
const actions = ({ steps }: FleetPlan): string[] =>
  steps.map(({ id, action }) => `${action} ${id}`);
const only = ({ steps }: FleetPlan): FleetStep => {
  expect(steps).toHaveLength(1);
  return steps[0] as FleetStep;
};

describe('applying a fleet', () => {
  it('creates its bots once; a dry run creates none', async () => {
    const fleet = [quiet('a'), quiet('b', { desired: 'stopped' })];
    const created = ['create a', 'create b'];
    expect(actions(await dryRun(fleet))).toEqual(created);
    expect(await ids()).toEqual([]);
    expect(await apply(fleet)).toEqual({
      fleet: 'web',
      steps: [
        { id: 'a', kind: 'synthetic', action: 'create' },
        { id: 'b', kind: 'synthetic', action: 'create' },
      ],
      unchanged: 0,
      unlisted: [],
      operation: expect.stringMatching(/^0[0-9a-z]{8}-[0-9a-f]{8}$/),
    });
    expect(await shown('a')).toMatchObject({ started_at_ms: expect.any(Number), fleet: 'web' });
    expect(await shown('b')).toMatchObject({ status: 'stopped', fleet: 'web' });
    expect(await shown('a')).not.toHaveProperty('drift');
    expect(await apply(fleet)).toEqual({ fleet: 'web', steps: [], unchanged: 2, unlisted: [] });
  });

  it('changes what differs, and restarts a bot only when its configuration does', async () => {
    const before = quiet('a', { labels: { team: 'a', old: 'x' }, restart: { max_restarts: 3 } });
    await apply([before, quiet('b')]);
    const { started_at_ms } = await shown('a');
    const after = quiet('a', { labels: { team: 'b' }, host_group: undefined });
    const plan = await dryRun([after, quiet('b')]);
    expect(only(plan).changes).toEqual({
      'labels.team': { from: 'a', to: 'b' },
      'labels.old': { from: 'x' },
      'restart.max_restarts': { from: 3, to: 60 },
    });
    expect(plan.unchanged).toBe(1);
    await apply([after, quiet('b')]);
    expect(await shown('a')).toMatchObject({ labels: { team: 'b' }, started_at_ms });
    const faster = quiet('a', { labels: { team: 'b' }, config: { events_per_second: 2 } });
    expect(only(await apply([faster, quiet('b')])).changes).toEqual({
      'config.events_per_second': { from: 0, to: 2 },
    });
    expect((await shown('a')).started_at_ms).not.toBe(started_at_ms);
    expect(actions(await apply([faster, quiet('b')]))).toEqual([]);
  });

  it('a default that is written out, and keys in another order, are no change', async () => {
    await apply([quiet('a', { config: { events_per_second: 0 } })]);
    const { started_at_ms } = await shown('a');
    const config = { message_bytes: 100, events_per_second: 0 };
    expect(await apply([quiet('a', { config })])).toMatchObject({ steps: [], unchanged: 1 });
    expect(await apply([quiet('a', { isolation: 'thread' })])).toMatchObject({ unchanged: 1 });
    // Nor does it restart the bot beside another change.
    expect(only(await apply([quiet('a', { config, labels: { x: 'y' } })])).changes).toEqual({
      'labels.x': { to: 'y' },
    });
    expect((await shown('a')).started_at_ms).toBe(started_at_ms);
  });

  it('the desired state starts and stops bots', async () => {
    await apply([quiet('a')]);
    const stopped = quiet('a', { desired: 'stopped' });
    expect(only(await apply([stopped])).changes).toEqual({
      desired: { from: 'running', to: 'stopped' },
    });
    expect(await shown('a')).toMatchObject({ status: 'stopped', desired: 'stopped' });
    await apply([quiet('a')]);
    expect(await shown('a')).toMatchObject({
      started_at_ms: expect.any(Number),
      desired: 'running',
    });
    expect(await shown('a')).not.toHaveProperty('drift');
  });

  it('another kind, or a dedicated host, replaces the bot', async () => {
    await apply([{ id: 'a', kind: 'synthetic', config: {} }]);
    // The same configuration is not valid for the other kind.
    const bare = [{ id: 'a', kind: 'keeper', config: {} }];
    expect(only(await dryRun(bare)).reason).toBe('config.host is missing');
    const other = [keeper('a', {})];
    expect(only(await dryRun(other))).toMatchObject({
      action: 'replace',
      changes: {
        kind: { from: 'synthetic', to: 'keeper' },
        desired: { from: 'running', to: 'stopped' },
      },
    });
    await apply(other);
    expect(await shown('a')).toMatchObject({ kind: 'keeper', status: 'stopped', fleet: 'web' });
    expect(actions(await apply(other))).toEqual([]);
  });

  it('prune deletes bots of the fleet that are not in the list, and no others', async () => {
    await apply([quiet('a'), quiet('b')]);
    await apply([quiet('c')], {}, 'other');
    await create(service, quiet('d'));
    const plan = await dryRun([quiet('a')]);
    expect(plan).toMatchObject({ steps: [], unlisted: ['b'] });
    const pruned = await dryRun([quiet('a')], { prune: true });
    expect(pruned).toMatchObject({ unchanged: 1, unlisted: [] });
    expect(actions(pruned)).toEqual(['delete b']);
    await apply([quiet('a')], { prune: true });
    expect(await ids()).toEqual(['a', 'c', 'd']);
    await apply([], { prune: true });
    expect(await ids()).toEqual(['c', 'd']);
  });

  it('adopts a bot that belongs to no fleet, and refuses one of another', async () => {
    await create(service, quiet('a'));
    await apply([quiet('b')], {}, 'other');
    const fleet = [quiet('a'), quiet('b'), quiet('c')];
    const plan = await dryRun(fleet);
    expect(plan.steps).toEqual([
      { id: 'a', kind: 'synthetic', action: 'change', changes: {}, adopted: true },
      {
        id: 'b',
        kind: 'synthetic',
        action: 'refuse',
        reason: 'the bot belongs to the fleet other: remove it there first, or give another id',
      },
      { id: 'c', kind: 'synthetic', action: 'create' },
    ]);
    expectError(await send(fleet), 409, /^nothing was changed: bot b: the bot belongs to/);
    expect(await ids()).toEqual(['a', 'b']);
    expect(await shown('a')).not.toHaveProperty('fleet');
    await apply([quiet('a')]);
    expect(await shown('a')).toMatchObject({ fleet: 'web' });
  });

  it('changes nothing if one bot of many is not valid', async () => {
    await apply([quiet('a')]);
    const fleet = [
      quiet('a', { labels: { team: 'x' } }),
      quiet('b', { config: { events_per_second: 'many' } }),
      { id: 'c', kind: 'nothing' },
      quiet('d', { dedicated: true, host_group: 'g' }),
    ];
    const { steps } = await dryRun(fleet);
    expect(steps.map(({ id, reason }) => [id, reason])).toEqual([
      ['a', undefined],
      ['b', 'config.events_per_second must be integer'],
      ['c', expect.stringMatching(/^unknown kind "nothing"/)],
      ['d', expect.stringMatching(/^dedicated and host_group exclude each other/)],
    ]);
    const error = expectError(await send(fleet), 409);
    expect(error).toMatch(
      /^nothing was changed: bot b: config\.events_per_second must be integer;/,
    );
    expect((await shown('a')).labels).toEqual({});
    expect(await ids()).toEqual(['a']);
  });

  it('keeps to the limit of bots, with those that it deletes', async () => {
    const many = (start: string, count: number): Bot[] =>
      Array.from({ length: count }, (_, n) => quiet(`${start}-${n}`, { desired: 'stopped' }));
    expectError(await send(many('a', 13)), 503, /^bot limit reached: there are 0 bots/);
    await apply(many('a', 12));
    expectError(await send(many('b', 1)), 503);
    await apply(many('b', 12), { prune: true });
    expect(await ids('bot:a-*')).toEqual([]);
  });

  it('tells who has applied it, with each bot', async () => {
    const stream = await streamOf(service, await service.token());
    const { token } = await makeToken(service, { name: 'Ada', scopes: ['control'] });
    const all = () => stream.frames.flatMap((frame) => activityOf(frame) ?? []);
    await send([quiet('a'), quiet('b')], { dry_run: true }, 'web', token);
    await send([quiet('a'), quiet('b')], {}, 'web', token);
    await send([quiet('a'), quiet('b')], {}, 'web', token);
    const ofFleet = () => all().filter(({ activity }) => activity === 'fleet.apply');
    await stream.until(() => ofFleet().length >= 2);
    const told = ofFleet();
    expect(told.map((event) => activityText(event, event.session_id ?? ''))).toEqual([
      'Ada applied a of the fleet web',
      'Ada applied b of the fleet web',
    ]);
    expect(new Set(told.map(({ operation }) => operation)).size).toBe(1);
    stream.close();
  });

  it('is for tokens that reach all bots, with the scope control', async () => {
    const { token } = await makeToken(service, { scopes: ['control'], bots: ['a'] });
    expectError(await send([quiet('a')], {}, 'web', token), 403, /limited to some bots/);
    const reader = await makeToken(service, { scopes: ['read'] });
    expectError(await send([], {}, 'web', reader.token), 403);
    const control = (await makeToken(service, { scopes: ['control'] })).token;
    const limits = [
      quiet('q', { quota: { connections: 5 } }),
      quiet('p', { isolation: 'process' }),
    ];
    expectError(await send(limits, {}, 'web', control), 409, /the quota of a bot needs the scope/);
    await apply([quiet('q', { quota: { connections: 5 }, desired: 'stopped' })]);
    const kept = quiet('q', { quota: { connections: 5 }, labels: { x: 'y' }, desired: 'stopped' });
    expect((await send([kept], {}, 'web', control)).status).toBe(200);
    const without = quiet('q', { desired: 'stopped' });
    expectError(await send([without], {}, 'web', control), 409, /needs the scope admin/);
  });

  it('refuses what is no fleet', async () => {
    expectError(await send([quiet('a'), quiet('a')]), 400, 'bot a is in the list twice');
    expectError(await send([], {}, 'a%20b'), 400, '"a b" is no name of a fleet');
    expectError(await send([], { purge: true }), 400, 'unknown key body.purge');
  });

  it('a body may be larger than that of other routes', async () => {
    const labels = Object.fromEntries(
      Array.from({ length: 32 }, (_, n) => [`label-${n}`, 'x'.repeat(128)]),
    );
    const bots = Array.from({ length: 100 }, (_, n) => quiet(`a-${n}`, { labels }));
    expect((await dryRun(bots)).steps).toHaveLength(100);
    const text = JSON.stringify({ bots: [], x: 'x'.repeat(16 * 1024 * 1024) });
    const headers = { 'content-type': 'application/json' };
    const large = await call(service, 'POST', '/api/fleet/web', { text, headers });
    expectError(large, 413);
  });
});

describe('a change by hand', () => {
  it('is drift, until it is undone or the fleet is applied', async () => {
    const bot = quiet('a', { labels: { team: 'a' } });
    await apply([bot]);
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: [] });
    const change = (body: object) => call(service, 'PATCH', '/api/bots/a', { body });
    await change({ config: { events_per_second: 5 }, labels: { team: 'b', by: 'hand' } });
    await change({ restart: { max_restarts: 1 } });
    expect((await configOf('a')).fleet).toEqual({
      name: 'web',
      drift: ['config.events_per_second', 'labels.team', 'labels.by', 'restart.max_restarts'],
    });
    expect(await shown('a')).toMatchObject({ fleet: 'web', drift: true });
    expect(await ids('drift:true fleet:web')).toEqual(['a']);
    await change({ labels: { team: 'a' }, restart: { max_restarts: 60 } });
    expect((await configOf('a')).fleet).toEqual({
      name: 'web',
      drift: ['config.events_per_second'],
    });
    await change({ config: { events_per_second: 7 } });
    await change({ config: { events_per_second: 0 } });
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: [] });
    expect(await shown('a')).not.toHaveProperty('drift');
    await change({ config: { events_per_second: 7 } });
    expect(only(await apply([bot])).changes).toEqual({
      'config.events_per_second': { from: 7, to: 0 },
    });
    expect(await shown('a')).not.toHaveProperty('drift');
    expect(await ids('drift:false fleet:web')).toEqual(['a']);
  });

  it('a stop and a start are too', async () => {
    await apply([quiet('a')]);
    await act(service, 'a', 'stop');
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: ['desired'] });
    await act(service, 'a', 'start');
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: [] });
    await act(service, 'a', 'stop');
    expect(only(await apply([quiet('a')])).changes).toEqual({
      desired: { from: 'stopped', to: 'running' },
    });
    expect(await shown('a')).toMatchObject({ started_at_ms: expect.any(Number) });
  });

  it('that the file has taken over ends the drift', async () => {
    await apply([quiet('a')]);
    await act(service, 'a', 'stop');
    const stopped = [quiet('a', { desired: 'stopped' })];
    expect(only(await dryRun(stopped))).toEqual({
      id: 'a',
      kind: 'synthetic',
      action: 'change',
      changes: {},
    });
    await apply(stopped);
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: [] });
    expect(actions(await apply(stopped))).toEqual([]);
  });

  it('outlives a restart of the service', async () => {
    const dir = makeDir();
    const first = await inject({ dir });
    await call(first, 'POST', '/api/fleet/web', { body: { bots: [quiet('a')] } });
    await act(first, 'a', 'stop');
    await first.close();
    const second = await inject({ dir });
    const { json } = await call(second, 'GET', '/api/bots/a');
    expect(json).toMatchObject({ fleet: 'web', drift: true, desired: 'stopped' });
    await second.close();
    removeDir(dir);
  });

  it('a bot of no fleet says so', async () => {
    await create(service, quiet('a'));
    await act(service, 'a', 'stop');
    expect((await configOf('a')).fleet).toBeNull();
    expect(await shown('a')).not.toHaveProperty('fleet');
    expect(await ids('drift:true')).toEqual([]);
  });
});

describe('secrets', () => {
  it('are named and never shown', async () => {
    await apply([keeper('a', { password: 'hunter2' })]);
    const next = [keeper('a', { password: 'hunter3', port: 7 })];
    const answer = await send(next, { dry_run: true });
    expect((answer.json as FleetPlan).steps).toEqual([
      {
        id: 'a',
        kind: 'keeper',
        action: 'change',
        changes: { 'config.port': { from: expect.anything(), to: 7 } },
        secrets: ['password'],
      },
    ]);
    expect(answer.text).not.toMatch(/hunter/);
    await apply(next);
    expect(actions(await apply(next))).toEqual([]);
    expect(only(await dryRun([keeper('a', { port: 7 })])).secrets).toEqual(['password']);
  });

  it('cannot be guessed: without the scope admin all that are given count as changed', async () => {
    const { token } = await makeToken(service, { scopes: ['control'] });
    await apply([keeper('a', { password: 'hunter2' })]);
    const planFor = async (password: string): Promise<FleetStep> => {
      const guess = [keeper('a', { password })];
      return only((await send(guess, { dry_run: true }, 'web', token)).json as FleetPlan);
    };
    expect(await planFor('hunter2')).toEqual(await planFor('hunter3'));
    const quietly = [quiet('b')];
    await apply(quietly);
    expect((await send(quietly, {}, 'web', token)).json).toMatchObject({ unchanged: 1 });
  });

  it('that are changed by hand are drift until the fleet is applied, and no digest of them is kept', async () => {
    const fleet = [keeper('a', { password: 'hunter2' })];
    await apply(fleet);
    await call(service, 'PATCH', '/api/bots/a', { body: { config: { password: 'other' } } });
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: ['config.password'] });
    await call(service, 'PATCH', '/api/bots/a', { body: { config: { password: 'hunter2' } } });
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: ['config.password'] });
    await apply(fleet);
    expect((await configOf('a')).fleet).toEqual({ name: 'web', drift: [] });
  });

  it('are variables in an export, which applied again changes nothing', async () => {
    const backup = [{ host: 'b.example', password: 'of-the-backup' }];
    await apply([
      keeper('a.b', { password: 'hunter2', backup }),
      quiet('q', { labels: { team: 'a' }, restart: { policy: 'always' }, host_group: 'g' }),
    ]);
    const { json, text } = await call(service, 'GET', '/api/fleet');
    expect(text).not.toMatch(/hunter2|of-the-backup/);
    expect(json).toEqual({
      bots: [
        {
          id: 'a.b',
          kind: 'keeper',
          config: {
            host: 'irc.example',
            password: { $env: 'A_B_PASSWORD' },
            backup: [{ host: 'b.example', password: { $env: 'A_B_BACKUP_0_PASSWORD' } }],
          },
          desired: 'stopped',
        },
        {
          id: 'q',
          kind: 'synthetic',
          config: { events_per_second: 0 },
          labels: { team: 'a' },
          restart: { policy: 'always' },
          host_group: 'g',
        },
      ],
      variables: ['A_B_PASSWORD', 'A_B_BACKUP_0_PASSWORD'],
      fleets: ['web'],
    });
    const { bots } = JSON.parse(
      text
        .replace('{"$env":"A_B_PASSWORD"}', '"hunter2"')
        .replace('{"$env":"A_B_BACKUP_0_PASSWORD"}', '"of-the-backup"'),
    ) as { bots: Bot[] };
    expect(actions(await apply(bots))).toEqual([]);
  });

  it('variables of an export have different names', async () => {
    await apply([keeper('a.b', { password: 'x' }), keeper('a-b', { password: 'y' })]);
    const { json } = await call(service, 'GET', '/api/fleet');
    expect(json).toMatchObject({ variables: ['A_B_PASSWORD', 'A_B_PASSWORD_2'] });
  });

  it('an export has only bots that are selected, and that the token reaches', async () => {
    await apply([quiet('a', { labels: { team: 'a' } }), quiet('b')]);
    const exported = async (query: string, token?: string): Promise<string[]> => {
      const { json } = await call(service, 'GET', `/api/fleet${query}`, token ? { token } : {});
      return (json as { bots: Bot[] }).bots.map(({ id }) => id);
    };
    expect(await exported('?label=team=a')).toEqual(['a']);
    expect(await exported('?query=bot:b')).toEqual(['b']);
    const { token } = await makeToken(service, { scopes: ['read'], bots: ['b'] });
    expect(await exported('', token)).toEqual(['b']);
  });
});
