// How main's items reach the broadcaster, which is a fake.

import { expect, it } from 'vitest';
import { logItem, ServiceEvents, sessionItem } from '../../../src/main/threads/service-events.js';
import type { Item } from '../../../src/shared/contract/events.js';
import type { BroadcasterPeer } from '../../../src/shared/contract/threads.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { DroverError } from '../../../src/shared/errors.js';

const item = (id: number): Item => sessionItem(`b${id}`, { status: 'running' });

/** A broadcaster, with what it was sent: the ids of each message's items, and `lastLines`. */
function fake(): { peer: BroadcasterPeer; sent: (string | string[])[]; fails: Error[] } {
  const sent: (string | string[])[] = [];
  const fails: Error[] = [];
  let head = 0;
  const call = async (method: string, { items }: { items: Item[] }) => {
    if (method !== 'publish') {
      sent.push(method);
      return { lines: [] };
    }
    sent.push(items.map((one) => (one.kind === 'session' ? one.id : one.message_json)));
    const failure = fails.shift();
    if (failure) throw failure;
    head += items.length;
    return { head };
  };
  return { peer: { call } as unknown as BroadcasterPeer, sent, fails };
}

const eventsOn = (peer: BroadcasterPeer): ServiceEvents =>
  new ServiceEvents({ peer, ready: Promise.resolve(peer) });

it('items of one turn share a message, in their order, and each caller gets the head after them', async () => {
  const { peer, sent } = fake();
  const events = eventsOn(peer);
  const heads = await Promise.all([events.publish(item(1), item(2)), events.publish(item(3))]);
  expect(sent).toEqual([['b1', 'b2', 'b3']]);
  expect(heads).toEqual([3, 3]);
  expect(await events.publish(item(4))).toBe(4);
});

it('a message has at most 256 items, and those of one call stay together', async () => {
  const { peer, sent } = fake();
  const events = eventsOn(peer);
  const published = Array.from({ length: 200 }, (_, n) => events.publish(item(n), item(n)));
  await Promise.all(published);
  expect(sent.map(({ length }) => length)).toEqual([256, 144]);
});

it('a line that nobody waits for leaves at once, after what was published before it', async () => {
  const { peer, sent } = fake();
  const events = eventsOn(peer);
  const before = events.publish(item(1));
  events.tell(logItem('info', 'drover', 'a line'));
  // Without a turn of the loop: a call to a host that follows does not come first.
  await Promise.resolve();
  await Promise.resolve();
  expect(sent).toEqual([['b1', '"a line"']]);
  await before;
  expect(sent).toHaveLength(1);
});

it('last lines come after what was published before they were asked for', async () => {
  const { peer, sent } = fake();
  const events = eventsOn(peer);
  void events.publish(item(1));
  await events.lastLines(['b1']);
  expect(sent).toEqual([['b1'], 'lastLines']);
});

it('a snapshot is asked for after what was published before', async () => {
  const { peer, sent } = fake();
  const events = eventsOn(peer);
  void events.publish(item(1));
  await events.snapshot('b1');
  expect(sent).toEqual([['b1'], 'snapshot']);
});

it('when the broadcaster is lost, its successor gets the states again, and the lines are lost', async () => {
  const [first, second] = [fake(), fake()];
  first.fails.push(new DroverError('unavailable', 'the broadcaster was lost'));
  const replaced = new Deferred<BroadcasterPeer>();
  let ready = Promise.resolve(first.peer);
  const events = new ServiceEvents({
    peer: first.peer,
    get ready() {
      const present = ready;
      ready = replaced.promise;
      return present;
    },
  });
  const published = Promise.all([
    events.publish(logItem('state', 'bot', 'running', 'b1'), item(1)),
    events.publish(item(2)),
  ]);
  replaced.resolve(second.peer);
  expect(await published).toEqual([2, 2]);
  expect(second.sent).toEqual([['b1', 'b2']]);
});

it('a faulty item fails for those who wait, and not for what comes later', async () => {
  const { peer, fails } = fake();
  const events = eventsOn(peer);
  fails.push(new Error('it cannot be cloned'));
  await expect(events.publish(item(1))).rejects.toThrow('it cannot be cloned');
  expect(await events.publish(item(2))).toBe(1);
});
