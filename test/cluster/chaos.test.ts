// Kills, freezes and cuts off nodes and NATS servers at random. In the end each bot is connected, none was ever two, clients account
// for every id, and journals, stream and tokens agree.
//
// This is the short form. `npm run chaos:cluster` (chaos.mjs) sets the environment for a long one, and CHAOS_SEED repeats a run.

import { expect, it, onTestFinished } from 'vitest';
import { TestCluster } from '../harness/cluster.js';
import { randomFrom } from '../harness/random.js';
import { ChaosRun } from './chaos-run.js';
import { CONFIG } from './service.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`CHAOS_${name}`] ?? otherwise);
const bots = given('BOTS', 15);
const nodes = given('NODES', 3);
const servers = given('SERVERS', 1);
const seed = given('SEED', Date.now() % 1_000_000);
const runMs = given('MINUTES', 1 / 3) * 60_000;
const progress = (line: string): void => {
  if (process.env['CHAOS_PROGRESS']) process.stderr.write(`${line}\n`);
};

it(`chaos leaves each bot connected once, and no event uncounted (CHAOS_SEED=${seed})`, {
  // Only ends a run that hangs.
  timeout: runMs + 300_000,
}, async () => {
  const leaseMs = 4000;
  const cluster = await TestCluster.start({
    nodes,
    servers,
    leaseMs,
    namespaces: true,
    config: CONFIG,
  });
  onTestFinished(() => cluster.stop());
  const network = cluster.hasNamespaces ? 'network namespaces' : 'proxies that cut';
  progress(`seed ${seed}, ${servers} NATS servers, leases of ${leaseMs} ms, ${network}`);
  const run = new ChaosRun(cluster, { bots, runMs, random: randomFrom(seed), progress });
  await run.run().catch((thrown: unknown) => {
    progress(run.summary);
    throw thrown;
  });
  expect(cluster.witness.visits).toBeGreaterThanOrEqual(bots);
});
