import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FrontThread, type FrontThreadOptions } from '../../../src/main/threads/front-thread.js';
import { Rpc, type Serves } from '../../../src/shared/contract/rpc.js';
import type {
  ControlMethods,
  FrontMethods,
  StreamIdentity,
} from '../../../src/shared/contract/threads.js';
import { PATIENCE_MS } from '../../harness/patience.js';
import { FakeThread } from './thread-fixture.js';

const tell = vi.fn();

function optionsOf(over: Partial<FrontThreadOptions> = {}): FrontThreadOptions {
  const options = {
    front: 3,
    startData: () => ({}),
    tls: () => ({ named: (message: string) => message }),
    address: () => ({ host: '127.0.0.1', port: 1, isShared: false }),
    broadcaster: { peer: { tell }, ready: new Promise(() => {}) },
    journal: { attachFront() {}, detachFront() {} },
    cluster: () => undefined,
    clusterState: () => undefined,
    control: {},
    exited() {},
    report() {},
  };
  return { ...options, ...over } as unknown as FrontThreadOptions;
}

it('a front that ends during its start is named in the error', async () => {
  const thread = new FakeThread();
  const front = new FrontThread(optionsOf(), () => thread);
  const started = front.start();
  thread.exit();
  await expect(started).rejects.toThrow(/^front 3 has ended$/);
  await vi.waitFor(
    () => expect(tell).toHaveBeenCalledWith('detachFront', { front: 3 }),
    PATIENCE_MS,
  );
});

it('a front, and the one that replaces it, has the stream of the cluster before it listens', async () => {
  const calls: string[] = [];
  const ports: MessagePort[] = [];
  onTestFinished(() => {
    for (const port of ports) port.close();
  });
  const threads: FakeThread[] = [];
  const startThread = (): FakeThread => {
    const thread = new FakeThread();
    threads.push(thread);
    const note = (what: string) => () => {
      calls.push(what);
    };
    const methods: Partial<Serves<FrontMethods>> = {
      attachBroadcaster: note('broadcaster'),
      clusterState: ({ state }) => note(state)(),
      attachCluster: ({ stream, broadcaster, history }) => {
        ports.push(broadcaster, history);
        note(`cluster ${stream.epoch}`)();
      },
      listen: () => {
        note('listens')();
        return { port: 1, engine: 'a model', wantsCensus: false };
      },
    };
    new Rpc<FrontMethods, ControlMethods>(thread.inner, methods as Serves<FrontMethods>);
    return thread;
  };
  const detach = vi.fn();
  const cluster = {
    stream: { epoch: 'e1' } as StreamIdentity,
    connect: () => {
      const [stream, history] = [new MessageChannel(), new MessageChannel()];
      ports.push(stream.port1, history.port1);
      return { broadcaster: stream.port2, history: history.port2 };
    },
    detach,
  };
  const peer = { tell: () => {} };
  const broadcaster = { peer, ready: Promise.resolve(peer) };
  const front = new FrontThread(
    optionsOf({
      broadcaster: broadcaster as never,
      cluster: () => cluster,
      clusterState: () => ({ state: 'on', reason: null }),
    }),
    startThread,
  );
  await front.start();
  expect(calls).toEqual(['broadcaster', 'on', 'cluster e1', 'listens']);

  calls.length = 0;
  threads[0]?.exit(new Error('a defect'));
  await vi.waitFor(() => expect(calls.at(-1)).toBe('listens'), PATIENCE_MS);
  expect(calls).toEqual(['broadcaster', 'on', 'cluster e1', 'listens']);
  expect(detach).toHaveBeenCalledWith(3);

  calls.length = 0;
  cluster.stream = { epoch: 'e2' } as StreamIdentity;
  await front.reattachCluster();
  expect(calls).toEqual(['on', 'cluster e2']);
  for (const thread of threads) thread.port.close();
});
