// The lease of a node reaches its bot hosts, in threads and in processes, and bots cannot send without it.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HostCommands } from '../../src/shared/commands/host-commands.js';
import { ANY_PERMIT } from '../../src/shared/contract/command-messages.js';
import { createLease, LeaseDeadline } from '../../src/shared/memory/lease-deadline.js';
import { createLags } from '../../src/shared/memory/loop-lag.js';
import { createQuota } from '../../src/shared/memory/quota.js';
import { setOf } from '../harness/kind-sets.js';

// The built modules: the entries of their threads are built as well.
const built = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../../dist/src/main/threads/${path}`, import.meta.url).href)) as T;
const { HostThread } =
  await built<typeof import('../../src/main/threads/host-thread.js')>('host-thread.js');
const { ProcessLinks } =
  await built<typeof import('../../src/main/threads/process-link.js')>('process-link.js');
const { startThreadLink } =
  await built<typeof import('../../src/main/threads/thread-link.js')>('thread-link.js');

const MODULE = new URL('../fixtures/kinds/networker.mjs', import.meta.url).href;
const HOUR_MS = 3_600_000;
const LOST = 'this node has lost its lease';
const lease = createLease();
const deadline = new LeaseDeadline(lease);
const links = new ProcessLinks();
let server: Server;
let address: { host: string; port: number };
let host: InstanceType<typeof HostThread>;
let commands: HostCommands;

beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
});
afterEach(async () => {
  commands.detach();
  await host.shutDown(30_000);
  await links.close();
  server.close();
});

/** A host with a bot that is bound to the lease, and one that stays. */
async function open(startLink: typeof startThreadLink): Promise<void> {
  renew();
  const options = {
    maxHeapMb: 64,
    inFlightBytes: 65_536,
    botLinesPerSecond: 100,
    networkAllow: null,
    commandTimeoutMs: 60_000,
    kindLoadMs: 60_000,
    streams: createQuota({ total: 1, perToken: 1, perAddress: 1 }, 1),
    lagOf: () => ({ buffer: createLags(1), block: 0 }),
    lease,
  };
  const sink = { peer: { tell() {} } } as unknown as ConstructorParameters<typeof HostThread>[3];
  const ignored = () => {};
  const events = {
    awake: ignored,
    exited: ignored,
    lateError: ignored,
    flooded: ignored,
    used: ignored,
    offered: ignored,
    kindFailed: ignored,
    failed: ignored,
  };
  host = new HostThread(0, options, setOf(MODULE), sink, events, startLink);
  await host.open(false);
  commands = new HostCommands({
    connect: () => host.connectFront(),
    failed: ignored,
    timeoutMs: 60_000,
    maxWaiting: 1,
  });
  const bot = { kind: 'networker', config: {} };
  await Promise.all([
    host.startBot({ ...bot, id: 'bound', run: 1 }),
    host.startBot({ ...bot, id: 'stays', run: 2, stays: true }),
  ]);
}

function renew(): void {
  const { monotonicMs, wallMs } = deadline.now();
  deadline.renewed(monotonicMs, wallMs, HOUR_MS);
  links.leaseChanged();
}

function end(): void {
  deadline.end();
  links.leaseChanged();
}

async function say(bot: string): Promise<unknown> {
  const args = JSON.stringify({ ...address, say: 'hello' });
  const sending = { bot, command: 'lines', args, permit: ANY_PERMIT };
  return JSON.parse((await commands.run(0, sending, { onGone() {} })) ?? '');
}

it('of a thread, by shared memory', async () => {
  await open(startThreadLink);
  expect(await say('bound')).toBe('hello');
  end();
  await expect(say('bound')).rejects.toThrow(LOST);
  expect(await say('stays')).toBe('hello');
  host.exemptFromLease('stays', false);
  // Commands have another channel.
  await host.openByKind();
  await expect(say('stays')).rejects.toThrow(LOST);
  renew();
  expect(await say('bound')).toBe('hello');
});

it('of a process, which is told', async () => {
  await open(links.start);
  expect(await say('bound')).toBe('hello');
  end();
  // It has another pipe than commands.
  await expect.poll(() => say('bound').catch(String)).toContain(LOST);
  expect(await say('stays')).toBe('hello');
  renew();
  await expect.poll(() => say('bound').catch(String)).toBe('hello');
});
