// A node whose disk is full: it stays in the cluster, says that it cannot write where its events are in the stream, and the stream stays
// exact. With room again it writes what it had in memory. The disk is a small tmpfs. The node has no journal, which has its own tests.

import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Places } from '../../src/cluster-bus/places.js';
import { PLACES_FILE, PlacesFile } from '../../src/cluster-bus/places-file.js';
import { eventually, watch } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { epochOf } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { waitForLog } from '../harness/shapes.js';
import { mountSmallDisk } from '../harness/small-disk.js';
import { allJoined, CONFIG, createWitnesses, expectOnce, statesOf } from './service.js';

it('says so, stays exact, and has all of it on the disk when there is room', async (context) => {
  const cluster = await TestCluster.prepare({ config: CONFIG });
  onTestFinished(() => cluster.stop());
  const full = await cluster.add();
  const other = await cluster.add();
  const disk = mountSmallDisk(context, full.dataDir, 8);
  const { config } = full.options;
  await full.start({ config: { ...config, journal: { enabled: false } } });
  await other.start();
  await allJoined(cluster, [other]);
  const ids = await createWitnesses(cluster, full, 3, { log_ms: 20 }, { node: 'h1' });
  // Between their events: a run of events that follow each other takes some bytes only, and the last page of the file has room.
  await createWitnesses(cluster, other, 3, { log_ms: 20 }, { node: 'h2' }, 'between');
  const texts: Texts = new Map();
  const client = new HoppingClient(await other.service.token(), texts);
  await client.hop(other);
  for (const id of ids) await client.hears(id);
  const file = path.join(full.dataDir, PLACES_FILE);
  const size = (): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  await eventually(() => size() > 0, 'the table of places on the disk');
  const lines = await watch(full.service, '?snapshot=0&node=self');

  disk.fill();
  const line = await waitForLog(lines, ({ message }) => message.includes(PLACES_FILE));
  expect(line.message).toMatch(/cannot be written, and is kept in memory .*ENOSPC/);
  const written = size();
  for (const id of ids) await client.hears(id);
  const present = await presentNumber(other);
  await client.reach(present);
  expect(await statesOf(other.service)).toEqual(['h1 live', 'h2 live']);

  disk.empty();
  await waitForLog(lines, ({ message }) => /cluster-places.*is written again/.test(message));
  lines.close();
  expect(size()).toBeGreaterThan(written);
  for (const id of ids) await client.hears(id);
  client.leave();
  expect(client.allFaults).toEqual([]);
  expect(client.ledger.gaps).toEqual([]);
  expectOnce(cluster);
  const epoch = epochOf(client.ledger.lastEventId);
  const [header = ''] = readFileSync(file, 'utf8').split('\n', 1);
  const places = new Places(
    new PlacesFile(full.dataDir, (JSON.parse(header) as { epoch: string }).epoch),
  );
  const runs = [...places.from(epoch, 0)];
  const isKnown = (at: number): boolean =>
    runs.some(({ number, count }) => number <= at && at < number + count);
  const own = [...texts]
    .filter(
      ([at, text]) => at <= present && ids.some((id) => text.includes(`"session_id":"${id}"`)),
    )
    .filter(([, text]) => text.includes('of run'))
    .map(([at]) => at);
  expect(own.length).toBeGreaterThan(ids.length);
  expect(own.filter((at) => !isKnown(at))).toEqual([]);
  // It reads what it has written.
  await full.kill();
  await full.start({ config: { ...config, journal: { enabled: false } } });
  await allJoined(cluster, [other]);
  await cluster.witness.all(ids, (pid) => pid === full.pid);
});
