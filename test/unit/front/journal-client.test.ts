// Unit tests. A front's channel to the journal: real ports, and a journal at their other end that answers when it is told to.

import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import type { StreamSink } from '../../../src/front/engine/engine.js';
import { JournalClient } from '../../../src/front/stream/journal-client.js';
import { Replays } from '../../../src/front/stream/replays.js';
import { Subscriber } from '../../../src/front/stream/subscriber.js';
import type { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import type {
  Asked,
  Page,
  PageRequest,
  ReplayPart,
} from '../../../src/shared/contract/journal-messages.js';
import { Rpc, type Serves } from '../../../src/shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../../src/shared/contract/threads.js';
import { DroverError } from '../../../src/shared/errors.js';

const REPLAY = { from: 1, filter: null, pieceBytes: 100, maxBytes: 100 };
const PAGE: Asked<PageRequest> = {
  token: 'a',
  filter: null,
  order: 'newest',
  afterSeq: null,
  beforeSeq: null,
  afterMs: null,
  beforeMs: null,
  limit: 100,
  maxBytes: 1000,
  lines: false,
};

const client = new JournalClient({ enabled: true });
afterEach(() => client.detach());

/** A part with the frames `from` to before `next`, of one byte each. */
const part = (from: number, next: number): ReplayPart => ({
  bytes: new Uint8Array(next - from),
  pieces: [{ end: next - from, next }],
  first: from,
  firstIsGap: false,
  readMs: 0,
  next,
});

/** A journal of which the client has a channel. */
function journal(methods: Partial<Serves<JournalFrontMethods>> = {}) {
  const { port1, port2 } = new MessageChannel();
  const pages: PageRequest[] = [];
  new Rpc<JournalFrontMethods, never>(port1, {
    replay: ({ from }) => part(from, from + 10),
    page(request) {
      pages.push(request);
      return new Promise<Page>(() => {});
    },
    stats: () => Promise.reject(new Error('not asked for')),
    fieldHistory: () => Promise.reject(new Error('not asked for')),
    states: () => Promise.reject(new Error('not asked for')),
    ...methods,
  });
  client.attach(port2);
  return { pages, port: port1, closed: once(port2, 'close') };
}

it('a crowd that searches does not keep streams from resuming', async () => {
  journal();
  const searches = Array.from({ length: 256 }, () => client.page(PAGE));
  for (const search of searches) search.catch(() => {});
  await expect(client.page(PAGE)).rejects.toMatchObject({ code: 'overloaded' });
  await expect(client.replay(REPLAY)).resolves.toMatchObject({ first: 1, next: 11 });
});

it('a stream keeps its place while one journal is gone and the next is not there yet', async () => {
  const seen: string[] = [];
  const dying = journal({ replay: () => new Promise(() => {}) });
  const subscriber = new Subscriber(
    {} as StreamSink,
    { filter: null } as SubscriberGroup,
    () => {},
  );
  subscriber.cursor = 1;
  const arrived = new Promise<void>((resolve) => {
    const replays = new Replays(client, 100, {
      write: (_, bytes) => void seen.push(`${bytes.length}`),
      missing: () => void seen.push('missing'),
      lost: () => void seen.push('lost'),
      arrived: () => resolve(),
      live: () => 0,
      writeBytes: () => 0,
      isOnRing: (cursor) => cursor >= 21,
    });
    replays.add(subscriber);
  });
  // Its thread dies: its port closes, and it is some time until there is another.
  dying.port.close();
  await dying.closed;
  expect(client.isThere).toBe(true);
  await expect(client.page(PAGE)).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 1 });
  expect(seen).toEqual([]);
  journal();
  await arrived;
  expect(seen).toEqual(['10', '10']);
});

it('a service without a journal has none to wait for', async () => {
  const none = new JournalClient({ enabled: false });
  expect(none.isThere).toBe(false);
  // Which is nothing to wait for.
  await expect(none.page(PAGE)).rejects.toMatchObject({
    message: 'the journal is off',
    retryAfterS: undefined,
  });
});

it('the journal is told when the client of a search has gone', async () => {
  const told = new Promise<void>((resolve) => {
    journal({
      page: (_, cancelled) =>
        new Promise((_resolve, reject) => {
          cancelled?.addEventListener('abort', () => {
            resolve();
            reject(new DroverError('no_answer'));
          });
        }),
    });
  });
  const gone = new AbortController();
  const search = client.page(PAGE, gone.signal);
  gone.abort();
  await expect(search).rejects.toMatchObject({ code: 'no_answer' });
  await told;
});
