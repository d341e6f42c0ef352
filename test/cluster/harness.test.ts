// The harness of the other tests: a node that is cut off from NATS still reaches the witness, with namespaces and without.

import { expect, it, onTestFinished } from 'vitest';
import { create, eventually, FIXTURE_KINDS } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { skipWithout } from '../harness/needs.js';
import { allJoined } from './service.js';

it.for([false, true])(
  'cuts, freezes and kills a node (namespaces: %s)',
  async (namespaces, context) => {
    const config = { kinds: [FIXTURE_KINDS] };
    const cluster = await TestCluster.start({ nodes: 2, servers: 3, namespaces, config });
    onTestFinished(() => cluster.stop());
    skipWithout(
      context,
      cluster.hasNamespaces === namespaces,
      'the right to make network namespaces',
    );
    await allJoined(cluster);
    const [first, second] = [cluster.node(0), cluster.node(1)];
    for (const [id, node] of [
      ['a', first],
      ['b', second],
    ] as const) {
      const made = await create(node.service, { id, kind: 'witness', config: cluster.witnessAt });
      expect(made.status, made.text).toBe(201);
    }
    await cluster.witness.all(['a', 'b']);
    await first.links.cut('silent');
    await first.links.join();
    second.suspend();
    expect(cluster.awake).toEqual([first]);
    second.resume();
    await second.kill();
    await eventually(() => cluster.witness.present.join() === 'a', 'the killed node to be gone');
    await second.start();
    await cluster.witness.all(['a', 'b']);
    expect(cluster.witness.violations).toEqual([]);
  },
);
