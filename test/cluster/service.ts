// What the tests of whole clusters ask of nodes.

import { expect } from 'vitest';
import type { ClusterNode, NodeList } from '../../src/shared/contract/nodes.js';
import { call } from '../harness/api.js';
import { create, eventually, FIXTURE_KINDS } from '../harness/bots.js';
import type { ServiceNode, TestCluster } from '../harness/cluster.js';
import { PATIENCE_MS } from '../harness/patience.js';
import type { Service } from '../harness/service.js';

/** Configuration of the nodes of a test: kinds, and bots that come back at once. */
export const CONFIG = {
  kinds: [FIXTURE_KINDS],
  restart: { max_restarts: 1000, backoff_ms: 0, backoff_cap_ms: 50 },
  start: { bots: 'all' },
};

export interface ClusterSnapshot {
  id: string;
  status: string;
  node?: string;
  term?: number;
  failover?: string;
}

export async function nodesOf(service: Service): Promise<NodeList> {
  const answer = await call(service, 'GET', '/api/nodes');
  expect(answer.status, answer.text).toBe(200);
  return answer.json as NodeList;
}

/** The nodes that this one knows, as `h1 live`. */
export async function statesOf(service: Service): Promise<string[]> {
  const { nodes } = await nodesOf(service);
  return nodes.map(({ node, state }) => `${node} ${state}`).sort();
}

/** Resolves when each node that is awake is `on`, sees exactly these nodes live, and shows the stream of the cluster. */
export async function allJoined(
  cluster: TestCluster,
  nodes = cluster.awake,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  let seen: unknown;
  await eventually(
    async () => {
      // Others may come back meanwhile.
      const wanted = cluster.awake.map(({ name }) => `${name} live`).sort();
      for (const { service } of nodes) {
        const { state, reason } = await nodesOf(service);
        const live = (await statesOf(service)).filter((node) => !node.endsWith(' lost'));
        seen = { state, reason, live };
        if (state !== 'on' || live.join() !== wanted.join()) return false;
        if (!(await showsCluster(service))) return false;
      }
      return true;
    },
    'all nodes to be one cluster',
    patienceMs,
  ).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; the last: ${JSON.stringify(seen)}`);
  });
}

/** Whether its clients get the stream of the cluster: a node is in the cluster a moment before its fronts have that. */
export async function showsCluster(service: Service): Promise<boolean> {
  const { json } = await call(service, 'GET', '/api/events?limit=1');
  return Object.hasOwn(json as object, 'missing');
}

export async function nodeOf(service: Service, name: string): Promise<ClusterNode | undefined> {
  return (await nodesOf(service)).nodes.find(({ node }) => node === name);
}

/** Creates witness bots `<prefix>1` and so on, ten requests at a time. @returns their ids. */
export async function createWitnesses(
  cluster: TestCluster,
  node: ServiceNode,
  count: number,
  config: object = {},
  spec: object = {},
  prefix = 'w',
): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);
  const left = [...ids];
  const work = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      const body = { id, kind: 'witness', config: { ...cluster.witnessAt, ...config }, ...spec };
      const made = await create(node.service, body);
      expect(made.status, made.text).toBe(201);
    }
  };
  await Promise.all(Array.from({ length: 10 }, work));
  return ids;
}

/** The bot that the chaos test has on each node. */
export function pinOf({ name }: Pick<ServiceNode, 'name'>): string {
  return `pin-${name}-1`;
}

/** All bots as this node lists them. */
export async function botsOf(service: Service, query = ''): Promise<ClusterSnapshot[]> {
  const answer = await call(service, 'GET', `/api/bots${query}`);
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { bots: ClusterSnapshot[] }).bots;
}

/** What the witness must not have seen. @param frozen processes that could not close their connections in time. */
export function expectOnce(cluster: TestCluster, frozen: readonly number[] = []): void {
  const { violations, overlaps } = cluster.witness;
  expect(violations).toEqual([]);
  expect(overlaps.filter(({ pid }) => !frozen.includes(pid))).toEqual([]);
}
