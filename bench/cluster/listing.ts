// Pages of `GET /api/bots` with many bots on all nodes.

import { ask } from '../harness/ask.js';
import { LoadProcess } from '../harness/load.js';
import { benchScript } from '../harness/paths.js';
import type { Progress } from '../harness/progress.js';
import { type Load, runGets } from '../http/measurement.js';
import type { BenchCluster } from './cluster.js';

const PAGE = 1000;
const CREATED_WITHIN_MS = 60_000;

export interface Listing {
  bots: number;
  createdPerS: number;
  /** All pages, one after the other, with the bots of each node. */
  pages: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

interface Page {
  bots: { id: string; node?: string }[];
  next: string | null;
}

export async function measureListing(
  cluster: BenchCluster,
  bots: number,
  seconds: number,
  progress: Progress,
): Promise<Listing> {
  const ids = Array.from({ length: bots }, (_, n) => `many-${String(n).padStart(5, '0')}`);
  const { nodes } = cluster;
  progress.step(`cluster: creating ${bots} bots`);
  const began = performance.now();
  // Each node makes a third of them: what is measured is the list.
  await Promise.all(
    nodes.map((node, at) => {
      const own = ids.filter((_, n) => n % nodes.length === at);
      return node.forEach(own, (id) => node.createBot(id, 'bench-talk', { events_per_second: 0 }));
    }),
  );
  const createdPerS = bots / ((performance.now() - began) / 1000);
  const [asked] = nodes;
  if (!asked) throw new Error('there is no node');
  const until = performance.now() + CREATED_WITHIN_MS;
  while ((await walk(asked.server.url, asked.authorization)).length < bots) {
    if (performance.now() > until) throw new Error(`the list has not ${bots} bots`);
  }
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    progress.step(`cluster: pages of ${bots} bots`);
    const { p50Ms, p99Ms, maxMs, requests } = await runGets('pages', load, {
      url: `${asked.server.url}/api/bots?limit=${PAGE}&cursor=${ids[Math.floor(bots / 2)]}`,
      headers: { authorization: asked.authorization },
      connections: 1,
      durationS: seconds,
    });
    return { bots, createdPerS, pages: requests, p50Ms, p99Ms, maxMs };
  } finally {
    await load.stop();
  }
}

/** All bots, page by page. @throws Error when one is listed twice. */
async function walk(url: string, authorization: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  for (;;) {
    const path = `/api/bots?limit=${PAGE}${cursor}`;
    const page = JSON.parse(await ask(url, path, { authorization })) as Page;
    ids.push(...page.bots.map(({ id }) => id));
    if (page.next === null) break;
    cursor = `&cursor=${page.next}`;
  }
  if (new Set(ids).size !== ids.length) throw new Error('a bot is listed twice');
  return ids;
}
