import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type SipKey, sipHash } from '../../../src/shared/contract/sip-hash.js';
import { anyText } from './ring-fixture.js';

const WORD = (1n << 64n) - 1n;
const rotate = (word: bigint, by: bigint): bigint => ((word << by) | (word >> (64n - by))) & WORD;

/** SipHash as its paper defines it. */
function reference(key: Buffer, message: Buffer, rounds: number, finalRounds: number): bigint {
  const [k0, k1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)];
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const round = (): void => {
    v0 = (v0 + v1) & WORD;
    v1 = rotate(v1, 13n) ^ v0;
    v0 = rotate(v0, 32n);
    v2 = (v2 + v3) & WORD;
    v3 = rotate(v3, 16n) ^ v2;
    v0 = (v0 + v3) & WORD;
    v3 = rotate(v3, 21n) ^ v0;
    v2 = (v2 + v1) & WORD;
    v1 = rotate(v1, 17n) ^ v2;
    v2 = rotate(v2, 32n);
  };
  const padded = Buffer.alloc((message.length >> 3) * 8 + 8);
  message.copy(padded);
  padded[padded.length - 1] = message.length & 0xff;
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at);
    v3 ^= word;
    for (let n = 0; n < rounds; n++) round();
    v0 ^= word;
  }
  v2 ^= 0xffn;
  for (let n = 0; n < finalRounds; n++) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

const KEY = Buffer.from(Array.from({ length: 16 }, (_, at) => at));

it('the reference has the test vectors of the paper, for SipHash-2-4', () => {
  const hash = (length: number) =>
    reference(KEY, Buffer.from(Array.from({ length }, (_, at) => at)), 2, 4).toString(16);
  expect(hash(15)).toBe('a129ca6149be45e5');
  expect(hash(0)).toBe('726fdb47dd0e0e31');
});

it('is SipHash-1-3 of the code units of any text, under any key', () => {
  fc.assert(
    fc.property(anyText, fc.uint8Array({ minLength: 16, maxLength: 16 }), (text, bytes) => {
      const key = Buffer.from(bytes);
      const words = [0, 4, 8, 12].map((at) => key.readInt32LE(at)) as unknown as SipKey;
      const [low, high] = sipHash(words, text);
      const expected = reference(key, Buffer.from(text, 'utf16le'), 1, 3);
      expect((BigInt(high) << 32n) | BigInt(low)).toBe(expected);
    }),
  );
});
