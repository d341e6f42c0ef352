// The permissions that docs/SECURITY.md gives the nodes in NATS are all that they need, and another program cannot answer for NATS.

import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { TestCluster } from '../harness/cluster.js';
import { allJoined, CONFIG, createWitnesses } from './service.js';

it('nodes run with the permissions of the page, and no other program reaches their inboxes', async () => {
  const page = readFileSync('docs/SECURITY.md', 'utf8');
  const [, block = ''] = /```\n(authorization \{.*?)```/s.exec(page) ?? [];
  const other = `{ user: other, password: other, permissions: { publish: ["_INBOX.>", "other.>"], subscribe: ["_INBOX.>", "other.>"] } }`;
  const authorization = block
    .replaceAll('drover.drover', 'drover.test')
    .replace('users: [', `users: [ ${other}, `);
  const login = { user: 'drover', password: 'change me' };
  const cluster = await TestCluster.start({
    nodes: 2,
    config: CONFIG,
    nats: { login, authorization },
  });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, cluster.node(0), 2, {}, { node: 'h2' });
  await cluster.witness.all(ids);
  for (const { service } of cluster.nodes) {
    const { json } = await call(service, 'GET', '/api/events?limit=10');
    expect(json).toMatchObject({ missing: [] });
  }
  const program = await connect({
    servers: `127.0.0.1:${cluster.nats[0]?.port}`,
    user: 'other',
    pass: 'other',
  });
  onTestFinished(() => program.close());
  const refused: string[] = [];
  program.publish('drover.test.inbox.x', 'x');
  program.subscribe('drover.test.inbox.>');
  for await (const status of program.status()) {
    if (status.type === 'error') refused.push(status.error.message);
    if (refused.length === 2) break;
  }
  expect(refused.join()).toMatch(/publish.*"drover\.test\.inbox\.x".*"drover\.test\.inbox\.>"/i);
});
