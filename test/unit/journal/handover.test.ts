// What the journal answers comes over a real port, and memory of parts goes back and forth with it.

import { MessageChannel } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { JournalClient } from '../../../src/front/stream/journal-client.js';
import { frontMethods } from '../../../src/journal/front-methods.js';
import { Journal } from '../../../src/journal/journal.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type { JournalFrontMethods } from '../../../src/shared/contract/threads.js';
import { journalDir, Life, PAGE } from '../../harness/journal.js';

it('a part comes in the memory that went with the request, small answers come too', async () => {
  // A part ends after some ms too, on a slow machine before it is full.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const life = await Life.begin(journalDir(), { Journal, ringBytes: 2 ** 26 });
  onTestFinished(() => life.end());
  const { port1, port2 } = new MessageChannel();
  new Rpc<JournalFrontMethods, never>(port1, frontMethods(life.journal.answers));
  const client = new JournalClient({ enabled: true });
  client.attach(port2);
  onTestFinished(() => client.detach());
  life.say('first');
  const first = JSON.parse(
    Buffer.from((await client.page({ ...PAGE, order: 'oldest', limit: 1 })).body).toString(),
  ) as { id: string };
  const from = Number(first.id.slice(first.id.indexOf('-') + 1));
  const request = { from, filter: null, pieceBytes: 16_000, maxBytes: 262_144 };
  expect((await client.replay(request)).bytes.length).toBeLessThan(4096);
  life.say(...Array.from({ length: 3000 }, (_, at) => `${at} `.repeat(40)));
  await client.page(PAGE);
  // From the beginning of a block: from within one a part ends with it.
  const { next } = await client.replay(request);
  const whole = await client.replay({ ...request, from: next });
  expect(whole.bytes.length).toBeGreaterThanOrEqual(262_144);
  // Nobody else makes memory of this size.
  const memory = new ArrayBuffer(400_003);
  const again = await client.replay({ ...request, from: next, memory });
  expect(memory.byteLength).toBe(0);
  expect(again.bytes.buffer.byteLength).toBe(400_003);
  expect(Buffer.from(again.bytes).equals(whole.bytes)).toBe(true);
});
