// Sets of code points, as the classes of a regular expression need them.

/** Ranges with both ends inclusive, ascending, with gaps between them. */
export type CharSet = readonly (readonly [from: number, to: number])[];

export const LAST = 0x10ffff;

export function union(...sets: readonly CharSet[]): CharSet {
  const sorted = sets.flat().sort(([a], [b]) => a - b);
  const joined: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

export function complement(set: CharSet): CharSet {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [start, end] of set) {
    if (start > from) rest.push([from, start - 1]);
    from = end + 1;
  }
  if (from <= LAST) rest.push([from, LAST]);
  return rest;
}

/** The set with both cases of its letters. Of a range only the letters a to z have two: others have their own rules. */
export function folded(set: CharSet): CharSet {
  const more: [number, number][] = [];
  for (const [from, to] of set) {
    if (from === to) {
      const char = String.fromCodePoint(from);
      for (const other of [char.toLowerCase(), char.toUpperCase()]) {
        const code = other.codePointAt(0) as number;
        if (String.fromCodePoint(code) === other) more.push([code, code]);
      }
    }
    shift(more, from, to, 0x41, 0x20);
    shift(more, from, to, 0x61, -0x20);
  }
  return union(set, more);
}

/** The 26 letters from `first` on that are in the range, moved. */
function shift(
  more: [number, number][],
  from: number,
  to: number,
  first: number,
  by: number,
): void {
  const start = Math.max(from, first);
  const end = Math.min(to, first + 25);
  if (start <= end) more.push([start + by, end + by]);
}

const DIGITS: CharSet = [[0x30, 0x39]];
const WORD = union(DIGITS, [[0x41, 0x5a]], [[0x5f, 0x5f]], [[0x61, 0x7a]]);
const SPACE = union(
  [[0x09, 0x0d]],
  [[0x20, 0x20]],
  [[0xa0, 0xa0]],
  [[0x1680, 0x1680]],
  [[0x2000, 0x200a]],
  [[0x2028, 0x2029]],
  [[0x202f, 0x202f]],
  [[0x205f, 0x205f]],
  [[0x3000, 0x3000]],
  [[0xfeff, 0xfeff]],
);
/** Classes by the letter behind the backslash. */
export const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
};
/** The characters that `.` matches. */
export const ANY_BUT_BREAKS = complement(union([[0x0a, 0x0a]], [[0x0d, 0x0d]], [[0x2028, 0x2029]]));
