import { once } from 'node:events';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { HostPorts } from '../../../src/broadcaster/host-ports.js';
import { type Batch, encodeBatch } from '../../../src/shared/contract/batch.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { InFlight } from '../../../src/shared/memory/in-flight.js';

const item = (id: string): Item => ({ kind: 'session', id, patch: { status: 'running' } });

let published: string[];
let hosts: HostPorts<MessagePort>;
beforeEach(() => {
  published = [];
  hosts = new HostPorts<MessagePort>(
    (items) => published.push(...items.map((one) => (one.kind === 'session' ? one.id : ''))),
    (port) => receiveMessageOnPort(port)?.message as Batch | undefined,
  );
});

/** Attaches a host. @returns what the host uses: its end of the channel, its count of bytes, and a function that posts. */
function attach(host: number): { port: MessagePort; inFlight: InFlight; post(id: string): void } {
  const { port1, port2 } = new MessageChannel();
  const inFlight = new InFlight(InFlight.create());
  hosts.attach(host, port2, inFlight);
  onTestFinished(() => port1.close());
  const post = (id: string): void => {
    const bytes = encodeBatch([item(id)]);
    inFlight.add(bytes.byteLength);
    port1.postMessage({ bytes }, [bytes.buffer]);
  };
  return { port: port1, inFlight, post };
}

it('publishes a batch that arrives, and takes its bytes off the count', async () => {
  const { inFlight, post } = attach(0);
  post('a');
  await expect.poll(() => published).toEqual(['a']);
  expect(inFlight.bytes).toBe(0);
});

it('a batch that cannot be read is lost, and the next one is published', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  const host = attach(0);
  const broken = Uint8Array.of(0xc1, 0xc1);
  host.inFlight.add(broken.byteLength);
  host.port.postMessage({ bytes: broken });
  host.post('good');
  await expect.poll(() => published).toEqual(['good']);
  expect(host.inFlight.bytes).toBe(0);
  expect(String(write.mock.calls[0]?.[0])).toMatch(
    /^drover: a batch of events was lost, it cannot be read: /,
  );
});

it('drain takes what all hosts have posted, each in its order, in this turn of the event loop', () => {
  const [first, second] = [attach(0), attach(1)];
  first.post('a');
  second.post('b');
  first.post('c');
  hosts.drain();
  expect(published).toEqual(['a', 'c', 'b']);
  expect([first.inFlight.bytes, second.inFlight.bytes]).toEqual([0, 0]);
});

it('drain leaves batches that are posted meanwhile: it takes as many bytes as were owed when it began', () => {
  let post = (_: string): void => {};
  hosts = new HostPorts<MessagePort>(
    () => {
      published.push('one');
      // A busy host posts again and again.
      if (published.length < 10) post('more');
    },
    (port) => receiveMessageOnPort(port)?.message as Batch | undefined,
  );
  const host = attach(0);
  post = host.post;
  post('first');
  hosts.drain();
  expect(published).toHaveLength(1);
  expect(host.inFlight.bytes).toBeGreaterThan(0);
});

it('detach takes what was posted, then closes the port', async () => {
  const { port, post } = attach(0);
  const closed = once(port, 'close');
  post('last');
  hosts.detach(0);
  expect(published).toEqual(['last']);
  await closed;
});

it('a host that attaches again gets a new port; the old one is closed', async () => {
  const before = attach(0);
  const closed = once(before.port, 'close');
  const after = attach(0);
  await closed;
  after.post('new');
  hosts.drain();
  expect(published).toEqual(['new']);
});
