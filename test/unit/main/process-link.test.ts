// What main makes of the end of a bot host process, and of its relay. The relay thread is a fake.

import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HostLink } from '../../../src/main/threads/host-link.js';
import { ProcessEnded } from '../../../src/main/threads/process-ended.js';
import { ProcessLinks } from '../../../src/main/threads/process-link.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type { HostStart } from '../../../src/shared/contract/threads.js';
import type {
  ProcessEnd,
  RelayControlMethods,
  RelayMethods,
} from '../../../src/shared/pipe/messages.js';
import { FakeThread } from './thread-fixture.js';

let relays: { thread: FakeThread; main: Rpc<RelayMethods, RelayControlMethods> }[];
let opened: number[];
let links: ProcessLinks;

beforeEach(() => {
  relays = [];
  opened = [];
  links = new ProcessLinks(undefined, () => {
    const thread = new FakeThread();
    const main = new Rpc<RelayMethods, RelayControlMethods>(thread.inner, {
      open: ({ link }) => void opened.push(link),
      capture: () => null,
      leaseChanged() {},
      kill: () => {},
    });
    relays.push({ thread, main });
    return thread;
  });
});
afterEach(() => links.close());

async function start(): Promise<HostLink> {
  const before = opened.length;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  const options = { task: {} as HostStart, transferList: [], port: port1, failed() {} };
  const link = links.start(options);
  await expect.poll(() => opened.length).toBe(before + 1);
  return link;
}

async function endOf(link: HostLink, end: Partial<ProcessEnd>): Promise<Error | undefined> {
  const whole = { code: 0, signal: null, isDone: false, failure: null, stderr: [], ...end };
  relays.at(-1)?.main.tell('ended', { link: opened.at(-1) ?? 0, end: whole });
  await link.exited;
  return link.ended;
}

it.each<[string, Partial<ProcessEnd>, string, object]>([
  ['exit code 0 that nobody asked for', {}, 'its process exited with code 0', {}],
  ['a signal', { code: null, signal: 'SIGSEGV' }, 'its process was ended by SIGSEGV', {}],
  [
    'the heap limit of V8',
    {
      code: null,
      signal: 'SIGABRT',
      stderr: ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
    },
    'its process ran out of memory and was ended by SIGABRT',
    { code: 'ERR_WORKER_OUT_OF_MEMORY' },
  ],
  [
    'an error in the code of the host',
    { code: 1, failure: { message: 'boom', stack: 'Error: boom\n    at f (a.js:1:1)' } },
    'boom',
    { isOwn: true, stack: 'Error: boom\n    at f (a.js:1:1)' },
  ],
])('%s', async (_, end, message, more) => {
  const error = await endOf(await start(), end);
  expect(error).toBeInstanceOf(ProcessEnded);
  expect(error).toMatchObject({ message, isOwn: false, ...more });
});

it('an end that was asked for is no error', async () => {
  expect(await endOf(await start(), { isDone: true })).toBeUndefined();
});

it('when the relay is lost its hosts are, and the next host gets a new relay', async () => {
  const link = await start();
  const other = await start();
  expect(relays).toHaveLength(1);
  relays[0]?.thread.exit(new Error('a defect'));
  expect(await link.ended).toMatchObject({ message: 'its relay was lost: a defect' });
  expect(await other.ended).toMatchObject({ message: 'its relay was lost: a defect' });
  expect(await endOf(await start(), { isDone: true })).toBeUndefined();
  expect(relays).toHaveLength(2);
});
