// A cluster as the page sees it, in front of a service that is in none: the page's requests about nodes are answered here. Several
// nodes are tested in test/cluster.

import type { Page } from 'playwright-core';
import type { ClusterNode, NodeList } from '../../src/client/index.js';

export function clusterNode(name: string, more: Partial<ClusterNode> = {}): ClusterNode {
  return {
    node: name,
    state: 'live',
    is_self: false,
    is_leader: false,
    labels: {},
    version: '0.1.0',
    address: null,
    started_at_ms: Date.now() - 60_000,
    renewed_at_ms: Date.now(),
    kinds: ['demo'],
    capacity: { cores: 4, memory_mb: 8000 },
    figures: { bots: 0, running: 0, streams: 0, cpu: 0.1, memory_mb: 210.4, unpublished: 0 },
    ...more,
  };
}

/** Three nodes: one leads, one is cordoned. */
export function threeNodes(): NodeList {
  const { figures } = clusterNode('h1');
  return {
    cluster: 'drover',
    state: 'on',
    reason: null,
    nodes: [
      clusterNode('h1', {
        is_leader: true,
        is_self: true,
        labels: { zone: 'a', disk: 'ssd' },
        figures: { ...figures, bots: 1204, running: 1200, streams: 12, cpu: 0.83 },
      }),
      clusterNode('h2', { labels: { zone: 'b' }, figures: { ...figures, bots: 1, running: 1 } }),
      clusterNode('h3', { state: 'cordoned', figures: { ...figures, bots: 35, running: 30 } }),
    ],
  };
}

/** Answers for the nodes of `list`, which may be changed. @returns the paths of what was posted. */
export async function mockCluster(page: Page, list: NodeList): Promise<string[]> {
  const posted: string[] = [];
  await page.route('**/api/nodes**', async (route) => {
    const request = route.request();
    if (request.method() === 'GET') return await route.fulfill({ json: list });
    const { pathname } = new URL(request.url());
    posted.push(pathname);
    if (pathname.endsWith('/rebalance')) return await route.fulfill({ json: { moving: 400 } });
    const [, name, action] = /nodes\/(\w+)\/(\w+)$/.exec(pathname) ?? [];
    const node = list.nodes.find((one) => one.node === name);
    if (!node) return await route.fulfill({ status: 404, json: { error: 'no such node' } });
    node.state = action === 'drain' ? 'draining' : action === 'cordon' ? 'cordoned' : 'live';
    return await route.fulfill({ json: node });
  });
  return posted;
}
