// Measures what docs/CLUSTER.md says of leases: `npm run long -- leases`. Nodes of several clusters, each with another lease, on three NATS
// servers. In each round the server that leads all buckets of leases is killed; then a node of each cluster is.

import { expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { leaderOf, NatsCluster, type NatsServer, SilenceMeter } from '../harness/nats.js';
import { type TestNode, TestNodes } from './nodes.js';

const LEASES = [4000, 8000, 10_000, 12_000, 16_000, 20_000];
const ROUNDS = Number(process.env['ROUNDS'] ?? 10);
const patient = { timeout: 120_000, interval: 20 };

interface Row {
  leaseMs: number;
  /** Rounds in which a node lost its lease. */
  lost: number;
  silentMs: number[];
  failoverMs: number[];
}

const named = (leaseMs: number): string => `lease${leaseMs}`;
const bucketOf = (leaseMs: number): string => clusterNames(named(leaseMs)).nodes;

it('measures elections and failovers', { timeout: 3_600_000 }, async () => {
  const nats = await NatsCluster.start(3);
  const nodes = new TestNodes();
  onTestFinished(async () => {
    await nodes.close();
    await nats.stop();
  });
  const rows: Row[] = LEASES.map((leaseMs) => ({ leaseMs, lost: 0, silentMs: [], failoverMs: [] }));
  const options = (leaseMs: number) => ({
    servers: nats.urls,
    leaseMs,
    cluster: named(leaseMs),
    replicas: 3,
  });
  const members = new Map<number, TestNode[]>();
  for (const leaseMs of LEASES) {
    const all = [1, 2, 3].map((n) => nodes.join(`h${n}`, options(leaseMs)));
    members.set(leaseMs, await Promise.all(all));
  }
  const meters = new Map<number, SilenceMeter>();
  for (const leaseMs of LEASES) {
    const meter = await SilenceMeter.start(nats.servers, `$KV.${bucketOf(leaseMs)}._silence`);
    meters.set(leaseMs, meter);
    onTestFinished(() => meter.close());
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const leaseMs of LEASES) await allHeld(members.get(leaseMs) ?? []);
    const server = await leadsAll(nats.servers);
    const before = LEASES.map((leaseMs) => losses(members.get(leaseMs) ?? []));
    for (const meter of meters.values()) meter.take();
    await server.kill();
    for (const leaseMs of LEASES) await leaderOf(nats.servers, `KV_${bucketOf(leaseMs)}`);
    for (const leaseMs of LEASES) await allHeld(members.get(leaseMs) ?? []);
    for (const [at, row] of rows.entries()) {
      const { leaseMs } = row;
      row.silentMs.push(meters.get(leaseMs)?.take() ?? 0);
      if (losses(members.get(leaseMs) ?? []) > (before[at] ?? 0)) row.lost += 1;
    }
    await server.run();
    await nats.ready();
    process.stderr.write(`round ${round + 1}: ${JSON.stringify(rows)}\n`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(rows.map((row) => failOver(row, members.get(row.leaseMs) ?? [])));
    process.stderr.write(`failover ${round + 1}: ${JSON.stringify(rows)}\n`);
  }

  /** A node that is gone without a word, and comes back later. */
  async function failOver(row: Row, own: TestNode[]): Promise<void> {
    const { leaseMs, failoverMs } = row;
    await allHeld(own);
    const [victim] = own;
    const others = own.slice(1);
    if (!victim) throw new Error('there is no node');
    const killed = performance.now();
    await victim.link.close();
    const isEnded = async (): Promise<boolean> => {
      const leader = others.find(({ membership }) => membership.members.isLeader);
      return (await leader?.membership.members.end(victim.name)) ?? false;
    };
    await expect.poll(isEnded, patient).toBe(true);
    failoverMs.push(Math.round(performance.now() - killed));
    await victim.close();
    const back = await nodes.join(victim.name, options(leaseMs));
    own.splice(0, 1);
    own.push(back);
  }

  process.stdout.write(`${table(rows)}\n`);
});

async function allHeld(own: readonly TestNode[]): Promise<void> {
  await expect.poll(() => own.every(({ membership }) => membership.isHeld), patient).toBe(true);
  const live = () =>
    own.every(({ membership }) =>
      own.every(({ name }) => membership.members.get(name)?.isLive === true),
    );
  await expect.poll(live, patient).toBe(true);
}

function losses(own: readonly TestNode[]): number {
  return own.flatMap(({ log }) => log).filter((line) => line === 'expiring' || line === 'lost')
    .length;
}

/** Makes one server lead all buckets. */
async function leadsAll(servers: readonly NatsServer[]): Promise<NatsServer> {
  const [server] = servers;
  if (!server) throw new Error('there is no server');
  const connection = await server.connect();
  for (const leaseMs of LEASES) await lead(connection, servers, server, `KV_${bucketOf(leaseMs)}`);
  return server;
}

async function lead(
  connection: NatsConnection,
  servers: readonly NatsServer[],
  server: NatsServer,
  stream: string,
): Promise<void> {
  const manager = await jetstreamManager(connection, { timeout: 1000 });
  const until = Date.now() + patient.timeout;
  while ((await leaderOf(servers, stream)) !== server) {
    if (Date.now() > until) throw new Error(`${stream} cannot be led by ${server.name}`);
    const info = await manager.streams.info(stream).catch(() => null);
    const replica = info?.cluster?.replicas?.find(({ name }) => name === server.name);
    if (replica?.current)
      await connection
        .request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, '', { timeout: 1000 })
        .catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ leaseMs, lost, silentMs, failoverMs }) => {
    const s = (ms: number): string => (ms / 1000).toFixed(1);
    const range = (all: number[]): string => `${s(Math.min(...all))} to ${s(Math.max(...all))} s`;
    return `| ${s(leaseMs)} s | ${range(silentMs)} | ${lost} of ${silentMs.length} | ${range(failoverMs)} |`;
  });
  return [
    '| lease | silent | leases lost | lease ended |',
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}
