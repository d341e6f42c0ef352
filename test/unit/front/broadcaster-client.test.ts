import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { BroadcasterClient } from '../../../src/front/stream/broadcaster-client.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  FrontBellMethods,
} from '../../../src/shared/contract/threads.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { PATIENCE_MS } from '../../harness/patience.js';

/** The other end of the channel: a broadcaster whose snapshots stand before frame `next`. */
function broadcaster(next: number, ready: Promise<void> = Promise.resolve()) {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  let asked = 0;
  const rpc = new Rpc<BroadcasterFrontMethods, FrontBellMethods>(port1, {
    async baseline() {
      asked += 1;
      await ready;
      return { next, sessions: [`${next}`] };
    },
  });
  return { port: port2, rpc, asked: () => asked };
}

function connect() {
  const resets: number[] = [];
  const wake = vi.fn();
  const client = new BroadcasterClient({ reset: (next) => resets.push(next), wake });
  onTestFinished(() => client.detach());
  return { client, resets, wake };
}

const isPending = async (promise: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, 'pending'))])) ===
  'pending';

it('takes a baseline from each broadcaster, and hears its doorbell', async () => {
  const { client, resets, wake } = connect();
  const first = broadcaster(5);
  await client.attach(first.port);
  await client.attach(broadcaster(9).port);
  expect(resets).toEqual([5, 9]);
  wake.mockClear();
  const third = broadcaster(12);
  await client.attach(third.port);
  wake.mockClear();
  third.rpc.tell('wake', null);
  await vi.waitFor(() => expect(wake).toHaveBeenCalledOnce(), PATIENCE_MS);
});

it('asks once for callers at the same time', async () => {
  const { client, resets } = connect();
  const { port, asked } = broadcaster(5);
  await client.attach(port);
  await Promise.all([client.rebase(), client.rebase(), client.rebase()]);
  expect(asked()).toBe(2);
  expect(resets).toEqual([5, 5]);
});

it('asks the successor when the broadcaster dies before it answers', async () => {
  const { client, resets } = connect();
  const dead: MessagePort = broadcaster(5, new Deferred().promise).port;
  const attached = client.attach(dead);
  expect(await isPending(attached)).toBe(true);
  await client.attach(broadcaster(9).port);
  await attached;
  expect(resets).toEqual([9]);
});

it('waits while there is no broadcaster', async () => {
  const { client, resets } = connect();
  const early = client.rebase();
  expect(await isPending(early)).toBe(true);
  await client.attach(broadcaster(5).port);
  await early;
  client.detach();
  expect(await isPending(client.rebase())).toBe(true);
  expect(resets).toEqual([5]);
});
