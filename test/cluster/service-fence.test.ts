// What a client sees that resumes behind the window past a fence: the frames that say that the bots of a node are lost are in no journal.

import { expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { RawStream } from '../harness/raw-stream.js';
import { allJoined, botsOf, CONFIG, createWitnesses } from './service.js';

const NUMBERED = /^id: \S+-(\d+)$/m;

it('declares exactly the frames of the fence, and the bots are then as the list shows them', async () => {
  const cluster = await TestCluster.start({ config: CONFIG, nodes: 1 });
  onTestFinished(() => cluster.stop());
  const [lost] = cluster.nodes;
  if (!lost) throw new Error('there is no node');
  await allJoined(cluster);
  // They write nothing on their own: what was lost with the node, the tail of its journal, would be a gap too.
  const ids = await createWitnesses(cluster, lost, 4);
  const stays = await createWitnesses(cluster, lost, 1, {}, { failover: 'stay' }, 'stay');
  await cluster.witness.all([...ids, ...stays]);
  const others = [await cluster.add(), await cluster.add()];
  await Promise.all(others.map((node) => node.start()));
  await allJoined(cluster);
  const [shown, resumes] = others;
  if (!shown || !resumes) throw new Error('there are no other nodes');
  const texts: Texts = new Map();
  const witness = new HoppingClient(await shown.service.token(), texts);
  await witness.hop(shown);
  const { lastEventId } = witness.ledger;
  const { pid } = lost;
  await lost.kill();
  await cluster.witness.all(ids, (now) => now !== pid);
  await eventually(
    async () => (await botsOf(shown.service)).every((bot) => isSettled(bot, stays)),
    'the bots on the other nodes',
  );
  // The ring of a node that starts again begins where the stream is then.
  const returning = new HoppingClient(await shown.service.token(), texts);
  await returning.hop(shown);
  returning.leave();
  await resumes.stop();
  await resumes.start();
  // Not before it has joined: what it has then is its own stream.
  await eventually(
    () =>
      returning.hop(resumes).then(
        () => true,
        () => false,
      ),
    'the stream of the node that starts',
  );
  returning.leave();
  expect([returning.ledger.gaps, returning.allFaults]).toEqual([[], []]);
  await allJoined(cluster);
  await cluster.witness.all(ids);
  await eventually(
    async () => (await botsOf(shown.service)).every((bot) => isSettled(bot, stays)),
    'the bots on the other nodes',
  );
  const end = await presentNumber(shown);
  await witness.reach(end);
  witness.leave();

  // What the fence has declared is not declared again when the node comes back.
  const later = new HoppingClient(await shown.service.token());
  await later.hop(shown);
  await lost.start();
  await allJoined(cluster);
  await cluster.witness.all(stays, (now) => now !== pid);
  await later.reach(await presentNumber(shown));
  later.leave();
  expect(later.ledger.gaps).toEqual([]);

  const [nats] = cluster.nats;
  if (!nats) throw new Error('there is no NATS server');
  const manager = await jetstreamManager(await nats.connect());
  await manager.streams.purge(clusterNames('test').stream);

  const gaps: number[][] = [];
  const got: number[] = [];
  const bots = new Map<string, object>();
  const stream = await RawStream.open(resumes.service.port, {
    token: await resumes.service.token(),
    headers: { 'Last-Event-ID': lastEventId },
    onBlock: (block) => {
      const number = Number(NUMBERED.exec(block)?.[1] ?? 0);
      const json = /^data: (.*)$/m.exec(block)?.[1];
      if (json === undefined) return;
      const data = JSON.parse(json) as { from?: string; to?: string; snapshot?: { id: string } };
      if (data.from && data.to)
        gaps.push([data.from, data.to].map((id) => Number(id.split('-')[1])));
      else if (number > 0) got.push(number);
      if (data.snapshot) bots.set(data.snapshot.id, data.snapshot);
    },
  });
  await stream.until(() => Math.max(0, ...got, ...gaps.flat()) >= end);
  stream.close();
  const isFence = (text: string): boolean =>
    text.includes('\nevent: session\n') && text.includes('"status":"lost"');
  const wanted = [...texts].filter(([number]) => number <= end);
  const fences = wanted.filter(([, text]) => isFence(text)).map(([number]) => number);
  expect(fences.length).toBeGreaterThanOrEqual(ids.length + stays.length);
  const declared = gaps.flatMap(([from = 0, to = 0]) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at),
  );
  // One gap says what the node had not published: that is on the stream already. The node that was stopped in order has lost nothing.
  const [first = 0] = fences;
  expect(witness.ledger.gaps).toMatchObject([{ from: first - 1, to: first - 1 }]);
  expect(declared).toEqual([first - 1, ...fences]);
  expect(got.filter((number) => number <= end)).toEqual(
    wanted.filter(([, text]) => !isFence(text)).map(([number]) => number),
  );
  const listed = await botsOf(shown.service);
  for (const { id, status, node, term } of listed)
    expect(bots.get(id)).toMatchObject({ status, node, term });
});

function isSettled(
  { id, status, node }: { id: string; status: string; node?: string },
  stays: string[],
) {
  return stays.includes(id) ? status === 'lost' : status === 'online' && node !== 'h1';
}
