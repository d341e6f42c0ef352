// SipHash-1-3 (Aumasson and Bernstein) of a string's UTF-16 code units, little endian: a keyed hash that is fast for short
// inputs. Without its key nobody can choose inputs that collide. In words of 32 bits, because JavaScript has no faster integers.

/** Rounds at the end, after one round for each word. */
const FINAL_ROUNDS = 3;

/** A key: four words of 32 bits. */
export type SipKey = readonly [number, number, number, number];

/** @returns the two words of the hash, low and high. */
export function sipHash([k0l, k0h, k1l, k1h]: SipKey, text: string): [low: number, high: number] {
  let v0l = k0l ^ 0x70736575;
  let v0h = k0h ^ 0x736f6d65;
  let v1l = k1l ^ 0x6e646f6d;
  let v1h = k1h ^ 0x646f7261;
  let v2l = k0l ^ 0x6e657261;
  let v2h = k0h ^ 0x6c796765;
  let v3l = k1l ^ 0x79746573;
  let v3h = k1h ^ 0x74656462;
  const { length } = text;
  // Four code units are one word of 64 bits. The last word has those that are left, and the number of bytes on top.
  const words = (length >>> 2) + 1;
  let ml = 0;
  let mh = 0;
  for (let round = 0; round < words + FINAL_ROUNDS; round++) {
    const isWord = round < words;
    if (isWord) {
      const at = round * 4;
      const isLast = round === words - 1;
      ml = unit(text, at) | (unit(text, at + 1) << 16);
      mh = unit(text, at + 2) | (isLast ? (length * 2) << 24 : unit(text, at + 3) << 16);
      v3l ^= ml;
      v3h ^= mh;
    } else if (round === words) {
      v2l ^= 0xff;
    }

    // v0 += v1; v1 = rotate(v1, 13) ^ v0; v0 = rotate(v0, 32)
    let sum = (v0l >>> 0) + (v1l >>> 0);
    v0h = (v0h + v1h + (sum > 0xffffffff ? 1 : 0)) | 0;
    v0l = sum | 0;
    let low = (v1l << 13) | (v1h >>> 19);
    v1h = ((v1h << 13) | (v1l >>> 19)) ^ v0h;
    v1l = low ^ v0l;
    low = v0l;
    v0l = v0h;
    v0h = low;
    // v2 += v3; v3 = rotate(v3, 16) ^ v2
    sum = (v2l >>> 0) + (v3l >>> 0);
    v2h = (v2h + v3h + (sum > 0xffffffff ? 1 : 0)) | 0;
    v2l = sum | 0;
    low = (v3l << 16) | (v3h >>> 16);
    v3h = ((v3h << 16) | (v3l >>> 16)) ^ v2h;
    v3l = low ^ v2l;
    // v0 += v3; v3 = rotate(v3, 21) ^ v0
    sum = (v0l >>> 0) + (v3l >>> 0);
    v0h = (v0h + v3h + (sum > 0xffffffff ? 1 : 0)) | 0;
    v0l = sum | 0;
    low = (v3l << 21) | (v3h >>> 11);
    v3h = ((v3h << 21) | (v3l >>> 11)) ^ v0h;
    v3l = low ^ v0l;
    // v2 += v1; v1 = rotate(v1, 17) ^ v2; v2 = rotate(v2, 32)
    sum = (v2l >>> 0) + (v1l >>> 0);
    v2h = (v2h + v1h + (sum > 0xffffffff ? 1 : 0)) | 0;
    v2l = sum | 0;
    low = (v1l << 17) | (v1h >>> 15);
    v1h = ((v1h << 17) | (v1l >>> 15)) ^ v2h;
    v1l = low ^ v2l;
    low = v2l;
    v2l = v2h;
    v2h = low;

    if (isWord) {
      v0l ^= ml;
      v0h ^= mh;
    }
  }
  return [(v0l ^ v1l ^ v2l ^ v3l) >>> 0, (v0h ^ v1h ^ v2h ^ v3h) >>> 0];
}

/** The code unit at this place; 0 after the end. */
function unit(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}
