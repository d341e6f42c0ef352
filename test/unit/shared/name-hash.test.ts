// Names in the ring's index, and the bound of what is remembered of them.

import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { usedMemory } from '../bot-host/heap.js';
import { anyText } from './ring-fixture.js';

// Computing a name is what remembering it saves: it is counted.
let computed = 0;
vi.mock('../../../src/shared/contract/sip-hash.js', async (load) => {
  const { sipHash } = await load<typeof import('../../../src/shared/contract/sip-hash.js')>();
  return {
    sipHash: (...args: Parameters<typeof sipHash>) => {
      computed += 1;
      return sipHash(...args);
    },
  };
});
beforeEach(() => {
  computed = 0;
});

const CACHED = 65_536;

describe('a name', () => {
  it('has the same hash everywhere with one key, another with another key, and never 0 and 0', () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const [one, same, other] = ['k', 'k', 'K'].map((key) => new NameHasher(key).of(name));
        expect(one).toEqual(same);
        expect(one).not.toEqual(other);
        expect(one?.low).not.toBe(0);
        for (const word of [one?.low, one?.high]) {
          expect(
            Number.isInteger(word) && (word as number) >= 0 && (word as number) < 2 ** 32,
          ).toBe(true);
        }
        expect(one?.json).toBe(JSON.stringify(name));
      }),
    );
  });

  it('is told from any other', () => {
    const hasher = new NameHasher('k');
    const seen = new Set<string>();
    for (let at = 0; at < 50_000; at++) {
      const { low, high } = hasher.of(`bot-${at}`);
      seen.add(`${low} ${high}`);
    }
    expect(seen.size).toBe(50_000);
  });

  it('is computed once while it is remembered', () => {
    const hasher = new NameHasher('k');
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd')), (names) => {
        for (const name of names) expect(hasher.of(name).json).toBe(JSON.stringify(name));
      }),
    );
    expect(computed).toBeLessThanOrEqual(4);
  });

  it('that a client asks for has the same hash and is not remembered', () => {
    const hasher = new NameHasher('k');
    const { low, high } = hasher.of('a');
    for (let n = 0; n < 3; n++) expect(hasher.once('a')).toEqual({ low, high });
    expect(computed).toBe(4);
  });
});

describe('what is remembered', () => {
  it('is bounded: the oldest half goes, comes again with the same hash, and the rest stays', () => {
    const hasher = new NameHasher('k');
    const first = hasher.of('name-0');
    for (let at = 1; at < CACHED; at++) hasher.of(`name-${at}`);
    expect(computed).toBe(CACHED);
    // Full, and nothing has gone.
    hasher.of('name-0');
    hasher.of(`name-${CACHED - 1}`);
    expect(computed).toBe(CACHED);
    hasher.of('one more');
    const before = computed;
    hasher.of(`name-${CACHED / 2}`);
    hasher.of(`name-${CACHED - 1}`);
    hasher.of('one more');
    expect(computed).toBe(before);
    expect(hasher.of('name-0')).toEqual(first);
    expect(hasher.of(`name-${CACHED / 2 - 1}`).json).toBe(`"name-${CACHED / 2 - 1}"`);
    expect(computed).toBe(before + 2);
  });

  it('is no long name, and nothing of the query that a name was cut out of', () => {
    const hasher = new NameHasher('k');
    const long = 'n'.repeat(129);
    expect(hasher.of(long)).toEqual(new NameHasher('k').of(long));
    hasher.of('another');
    computed = 0;
    hasher.of(long);
    hasher.of('another');
    expect(computed).toBe(1);

    const before = usedMemory();
    const queries = 4000;
    for (let at = 0; at < queries; at++) {
      const query = `${'x'.repeat(50_000)}${at}`.replace('x', 'y');
      // As a query is taken apart: what split() gives shares its memory.
      hasher.of(`${query},its own name ${at}`.split(',')[1] as string);
    }
    // All queries would be 200 MB.
    expect(usedMemory() - before).toBeLessThan(50e6);
  });
});
