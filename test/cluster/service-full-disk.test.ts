// A node whose disk is full: it stays in the cluster, says that it cannot write where its events are in the stream, and the stream stays
// exact. With room again it writes what it had in memory. The disk is a small tmpfs.

import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PLACES_FILE } from '../../src/cluster/bus/position-file.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { eventually, watch } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { allPages, epochOf } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { waitForLog } from '../harness/shapes.js';
import { mountSmallDisk } from '../harness/small-disk.js';
import { allJoined, CONFIG, createWitnesses, expectOnce } from './service.js';

// Nodes start five times in it, and each of its waits may take as long as one of another test.
it('says so, stays exact, and has all of it when there is room', {
  timeout: 300_000,
}, async (context) => {
  const config = { ...CONFIG, journal: { max_bytes: 1_048_576 } };
  const cluster = await TestCluster.prepare({ config });
  onTestFinished(() => cluster.stop());
  const full = await cluster.add();
  const other = await cluster.add();
  const disk = mountSmallDisk(context, full.dataDir, 8);
  await full.start();
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, full, 3, { log_ms: 20 }, { node: 'h1' });
  await other.start();
  await allJoined(cluster);
  // Between their events: a run of events that follow each other takes some bytes only, and the last page of the file has room.
  await createWitnesses(cluster, other, 3, { log_ms: 20 }, { node: 'h2' }, 'between');
  const texts: Texts = new Map();
  const [still, resumed] = await Promise.all(
    [0, 1].map(async () => new HoppingClient(await other.service.token(), texts)),
  );
  if (!still || !resumed) throw new Error('two clients');
  for (const client of [still, resumed]) {
    await client.hop(other);
    for (const id of ids) await client.hears(id);
  }
  resumed.leave();
  const from = resumed.ledger.last ?? 0;
  const places = path.join(full.dataDir, PLACES_FILE);
  const size = (): number => statSync(places, { throwIfNoEntry: false })?.size ?? 0;
  await eventually(() => size() > 0, 'the table of places on the disk');
  const lines = await watch(full.service, '?snapshot=0&node=self');

  disk.fill();
  const line = await waitForLog(lines, ({ message }) => message.includes(PLACES_FILE));
  expect(line.message).toMatch(/cannot be written, and is kept in memory .*ENOSPC/);
  for (const id of ids) await still.hears(id);
  const written = size();
  const epoch = epochOf(still.ledger.lastEventId);
  const present = await presentNumber(other);
  await still.reach(present);
  const range = `order=oldest&limit=1000&session=${ids[0]}&event=log&after=${epoch}-${from}&before=${epoch}-${present}`;
  const asked = await allPages(other.service, `?${range}`);
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.filter(({ id }) => epochOf(id) !== epoch)).toEqual([]);

  disk.empty();
  await waitForLog(lines, ({ message }) => /cluster-places.*is written again/.test(message));
  lines.close();
  expect(size()).toBeGreaterThan(written);
  for (const id of ids) await still.hears(id);
  expectOnce(cluster);
  // The ring of a node that starts again begins where the stream is then.
  await other.stop();
  await full.kill();
  await full.start();
  await other.start();
  await allJoined(cluster);
  const [nats] = cluster.nats;
  if (!nats) throw new Error('there is no NATS server');
  const manager = await jetstreamManager(await nats.connect());
  await manager.streams.purge(clusterNames('test').stream);
  // The journal had the newest in memory, and has written it since.
  const heard = [...texts]
    .filter(([at, text]) => at > from && at < present && text.includes(`"session_id":"${ids[0]}"`))
    .filter(([, text]) => text.includes('\nevent: log\n'))
    .map(([at]) => `${epoch}-${at}`);
  const later = await allPages(other.service, `?${range}`);
  expect(later.map(({ id }) => id)).toEqual(heard);
  await resumed.hop(other);
  await resumed.reach(present);
  still.leave();
  resumed.leave();
  for (const client of [still, resumed]) expect(client.allFaults).toEqual([]);
  expect(still.ledger.gaps).toEqual([]);
  expect(resumed.ledger.gaps.filter(({ from: first }) => first < present)).toEqual([]);
});
