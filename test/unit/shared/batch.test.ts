// Batches between bot hosts and the broadcaster: each stands alone.

import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBatch, encodeBatch } from '../../../src/shared/contract/batch.js';
import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { anyText } from './ring-fixture.js';

/** Text as UTF-8 can carry it: what is not well formed is replaced by one U+FFFD or several. */
const wellFormed = (text: string): string => Buffer.from(text).toString();
const carried = (text: string): string => wellFormed(text).replace(/\ufffd+/g, '\ufffd');

const texts = fc.oneof(
  anyText,
  fc.tuple(anyText, fc.integer({ min: 1, max: 300 })).map(([text, times]) => text.repeat(times)),
);
const wellFormedTexts = texts.map(wellFormed);

const itemsOf = (text: fc.Arbitrary<string>): fc.Arbitrary<Item[]> =>
  fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant('log' as const),
        timestamp_ms: fc.maxSafeInteger(),
        level: fc.constantFrom(...LEVELS),
        scope: text,
        session_id: fc.option(text),
        transport: fc.constantFrom('tcp' as const, 'http' as const, null),
        direction: fc.constantFrom('outgoing' as const, 'incoming' as const, null),
        message_json: text,
      }),
      fc.record({
        kind: fc.constant('session' as const),
        id: text,
        patch: fc.record(
          {
            status: text,
            since_ms: fc.nat(),
            labels: fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), text, {
              noNullPrototype: true,
            }),
          },
          { requiredKeys: [] },
        ),
      }),
    ),
    { maxLength: 30 },
  );

describe('a batch', () => {
  it('comes out as it went in', () => {
    fc.assert(
      fc.property(itemsOf(wellFormedTexts), (items) => {
        expect(decodeBatch(encodeBatch(items))).toEqual(items);
      }),
    );
  });

  it('carries text that is not well formed without harm to what stands beside it', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        const items = [one, 'between', other].map(
          (message): Item => ({ kind: 'session', id: 'b', patch: { status: message } }),
        );
        const read = decodeBatch(encodeBatch(items)).map((item) =>
          item.kind === 'session' ? carried(item.patch.status ?? '') : '',
        );
        expect(read).toEqual([carried(one), 'between', carried(other)]);
      }),
    );
  });

  it('is decoded by itself, whichever others were decoded before it, in any order', () => {
    fc.assert(
      fc.property(
        fc.array(itemsOf(wellFormedTexts), { minLength: 2, maxLength: 6 }).chain((batches) =>
          fc.record({
            batches: fc.constant(batches),
            order: fc.shuffledSubarray([...batches.keys()], { minLength: 1 }),
          }),
        ),
        ({ batches, order }) => {
          const encoded = batches.map(encodeBatch);
          for (const at of order) {
            expect(decodeBatch(encoded[at] as Uint8Array)).toEqual(batches[at]);
          }
        },
      ),
    );
  });

  it('can be transferred: encoding continues in new memory', () => {
    const { port1, port2 } = new MessageChannel();
    const batches = Array.from({ length: 20 }, (_, at): Item[] => [
      { kind: 'session', id: `bot-${at}`, patch: { restarts: at } },
    ]);
    for (const items of batches) {
      const bytes = encodeBatch(items);
      port1.postMessage(bytes, [bytes.buffer]);
      expect(bytes.byteLength).toBe(0);
    }
    const received = batches.map(() => receiveMessageOnPort(port2)?.message as Uint8Array);
    expect(received.map(decodeBatch)).toEqual(batches);
    port1.close();
  });

  it('that is cut short, doubled or no batch at all is refused', () => {
    const bytes = encodeBatch([{ kind: 'session', id: 'b', patch: { status: 'in_world' } }]);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeBatch(bytes.subarray(0, length))).toThrow();
    }
    expect(() => decodeBatch(Buffer.concat([bytes, bytes]))).toThrow();
    expect(() => decodeBatch(Uint8Array.of(0x01))).toThrow(/array/);
    expect(decodeBatch(bytes)).toHaveLength(1);
  });
});
