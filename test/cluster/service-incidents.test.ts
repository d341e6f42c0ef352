// Incidents of a cluster: the same list on each node, also those of a node that is lost, and its loss.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Incident } from '../../src/shared/contract/bots.js';
import type { IncidentGroups } from '../../src/shared/contract/incident-groups.js';
import { call } from '../harness/api.js';
import { create, eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import type { Service } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG } from './service.js';

let cluster: TestCluster;
/** Limited to the bot that moves. */
let tokens: string[];
beforeAll(async () => {
  cluster = await TestCluster.start({ config: CONFIG });
  await allJoined(cluster);
  const { service } = cluster.node(0);
  // Its run ends with an error, and it is not started again.
  const falls = { kind: 'mortal', config: { end: 'throw' }, restart: { policy: 'never' } };
  const add = async (id: string, place: object): Promise<void> => {
    const made = await create(service, { id, labels: { team: id }, ...falls, ...place });
    expect(made.status, made.text).toBe(201);
  };
  await add('moves', { node_labels: {} });
  for (const { name } of cluster.nodes) await add(`on-${name}`, { node: name });
  tokens = [];
  for (const reach of [{ bots: ['moves'] }, { labels: { team: 'moves' } }]) {
    tokens.push((await makeToken(service, { scopes: ['read'], ...reach })).token);
  }
});
afterAll(() => cluster?.stop());

interface List {
  incidents: Incident[];
  missing: string[];
}

async function listOf(service: Service, token?: string, path = '/api/incidents'): Promise<List> {
  const answer = await call(service, 'GET', path, token === undefined ? {} : { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as List;
}

const shown = ({ incidents }: List): string[] =>
  incidents.map(({ id, type, node, suspect }) => `${id} ${type} ${node} ${suspect}`);
const kinds = ({ incidents }: List): string[] =>
  incidents.map(({ type, node, suspect }) => `${type} ${node} ${suspect}`).sort();

/** Every node that is awake has the same list, which has these, as `<type> <node> <suspect>`; nothing is missing. */
async function allList(...wanted: string[]): Promise<void> {
  let lists: List[] = [];
  await eventually(async () => {
    lists = await Promise.all(cluster.awake.map(({ service }) => listOf(service)));
    return lists.every((list) => wanted.every((one) => kinds(list).includes(one)));
  }, `${wanted} on each node`).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; the last: ${JSON.stringify(lists.map(kinds))}`);
  });
  for (const list of lists) {
    expect(shown(list)).toEqual(shown(lists[0] as List));
    expect(list.missing).toEqual([]);
  }
}

async function groupsOf(service: Service): Promise<IncidentGroups> {
  const answer = await call(service, 'GET', '/api/incidents/groups');
  expect(answer.status, answer.text).toBe(200);
  return answer.json as IncidentGroups;
}

async function homeOf(bot: string): Promise<string> {
  const [first] = cluster.awake;
  const bots = await botsOf(first?.service as Service);
  return bots.find(({ id }) => id === bot)?.node ?? '';
}

it('a limited token sees the incidents of its bot on each node, also when the bot has left the one where they happened', async () => {
  const home = await homeOf('moves');
  await allList(
    `crash ${home} moves`,
    ...cluster.nodes.map(({ name }) => `crash ${name} on-${name}`),
  );
  const { service } = cluster.node(0);
  const drained = await call(service, 'POST', `/api/nodes/${home}/drain`);
  expect(drained.status, drained.text).toBe(200);
  await eventually(async () => (await homeOf('moves')) !== home, 'the bot to move');
  await call(service, 'POST', `/api/nodes/${home}/uncordon`);
  for (const { service: each } of cluster.nodes) {
    for (const token of tokens) {
      // The stream of each node has the bot where it is now.
      await eventually(
        async () => (await call(each, 'GET', '/api/bots/moves', { token })).status === 200,
        'the bot on each node',
      );
      for (const path of ['/api/incidents', '/api/bots/moves/incidents']) {
        const list = await listOf(each, token, path);
        expect(kinds(list)).toContain(`crash ${home} moves`);
        expect(JSON.stringify(list)).not.toContain('"on-');
      }
    }
  }
});

it('a node whose incidents nobody has is named', async () => {
  const cut = cluster.node(1);
  await cut.links.cut('refused');
  await eventually(
    async () => (await listOf(cut.service)).missing.toSorted().join() === 'h1,h3',
    'the nodes that cannot be asked',
  );
  expect((await groupsOf(cut.service)).missing.toSorted()).toEqual(['h1', 'h3']);
  await cut.links.join();
  await allJoined(cluster);
});

it('of a node that is lost each survivor has the incidents, and its loss is one of them', async () => {
  const home = await homeOf('moves');
  const all = cluster.nodes.map(({ name }) => `crash ${name} on-${name}`);
  await allList(...all);
  const { incidents } = await listOf(cluster.node(0).service);
  const crashes = incidents.filter(({ type }) => type === 'crash').length;
  // Not the one that was cut off above.
  const node = [cluster.node(0), cluster.node(2)].find(({ name }) => name !== home);
  const lost = `node_lost ${node?.name} null`;
  await node?.kill();
  await allList(...all, lost);
  for (const { service } of cluster.awake) {
    const { groups, missing } = await groupsOf(service);
    expect(missing).toEqual([]);
    const group = (type: string) => groups.find((one) => one.type === type);
    expect(group('crash')).toMatchObject({
      count: crashes,
      nodes: ['h1', 'h2', 'h3'],
    });
    // The lease of the node that was cut off may have run out too.
    expect(group('node_lost')?.nodes).toContain(node?.name);
  }
  // It is back with its own reports, and the list is still one.
  await node?.start();
  await allJoined(cluster);
  await allList(...all, lost, `unclean_end ${node?.name} null`);
  const list = await listOf(node?.service as Service);
  const lossesOf = (of: string | undefined): number =>
    list.incidents.filter(({ type, node: where }) => type === 'node_lost' && where === of).length;
  expect(lossesOf(node?.name)).toBe(1);
  // Only a node that has not seen its renewals could say so of the third.
  const third = [cluster.node(0), cluster.node(2)].find((one) => one !== node);
  expect(lossesOf(third?.name)).toBe(0);
});
