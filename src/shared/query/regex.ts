// Matches regular expressions in one pass over the text: clients choose them, and an engine that tries
// alternatives one after the other (RegExp) can take minutes for a line. Each character of an expression is a position
// (Glushkov's automaton); the positions that the text so far can be at are a set, and each set that occurs becomes a state,
// whose successors are looked up from then on.

import { LAST } from './char-set.js';
import { copiesOf, MAX_POSITIONS, parseRegex, type Tree } from './regex-tree.js';

/**
 * Most states that are remembered, and successors of all of them, 4 bytes each. When they are used up all are forgotten, and
 * those that occur are made again.
 */
const MAX_STATES = 512;
const MAX_SUCCESSORS = 65_536;
/**
 * Making a state costs as much as reading hundreds of characters, and an expression can have a new one at each. As many
 * can be made at once, and one more for so many characters; without, sets of positions are followed as they are.
 */
const MAX_CREDIT = 2 * MAX_STATES;
const CHARS_PER_STATE = 32;
const ASCII = 128;
const BACKSLASH = 0x5c;
const UNKNOWN = -1;
const FOUND = -2;
/** A state that is not remembered. */
const UNMADE = -3;

/** The positions that a part of the expression can begin and end with, and whether it can be empty. */
interface Part {
  isEmpty: boolean;
  first: Positions;
  last: Positions;
}

/** A set of positions, 32 in each number. */
type Positions = Int32Array;

export class Regex {
  readonly #program: Program;
  /** The class of each character below 128. */
  readonly #asciiClass = new Uint16Array(ASCII);
  /** 1 for each character below 128 that no match begins with. */
  readonly #beginsNone = new Uint8Array(ASCII);
  /** First characters of the classes, ascending. */
  readonly #starts: readonly number[];
  /** The positions that match each class. The last two classes are the edges of the text. */
  readonly #matching: readonly Positions[];
  readonly #width: number;
  readonly #maxStates: number;
  /** The positions at which the text can continue, by the number of the state. */
  #following: Positions[] = [];
  #states = new Map<string, number>();
  /**
   * Successors by state and class. A state is the place of its first successor here: each character waits for the one
   * before it.
   */
  readonly #successors: Int32Array;
  /** States that may be made now. */
  #credit = MAX_CREDIT;
  /** The positions that the text has reached, where no state stands for them. */
  readonly #reached: Positions;

  /** @throws QueryError */
  constructor(source: string, ignoreCase: boolean, maxPositions = MAX_POSITIONS) {
    this.#program = new Program(parseRegex(source, ignoreCase, 0, maxPositions));
    const { tests, words } = this.#program;
    this.#reached = new Int32Array(words);
    const starts = new Set([0]);
    for (const test of tests) {
      if (typeof test === 'string') continue;
      for (const [from, to] of test) {
        starts.add(from);
        if (to < LAST) starts.add(to + 1);
      }
    }
    this.#starts = [...starts].sort((a, b) => a - b);
    this.#matching = matchingOf(this.#program, this.#starts);
    this.#width = this.#matching.length;
    const first = this.#program.after(new Int32Array(this.#program.words));
    for (let code = 0; code < ASCII; code++) {
      const kind = this.#search(code);
      const matching = this.#matching[kind] as Positions;
      this.#asciiClass[code] = kind;
      this.#beginsNone[code] = first.some((bits, word) => bits & (matching[word] as number))
        ? 0
        : 1;
    }
    this.#beginsNone[BACKSLASH] = 0;
    this.#maxStates = Math.min(MAX_STATES, Math.floor(MAX_SUCCESSORS / this.#width));
    this.#successors = new Int32Array(this.#maxStates * this.#width);
    this.#forget();
  }

  /** An edge of the text can follow an edge, as in `^(^a|b)`. It is read as two characters here, so such a match is not found. */
  get hasDoubleEdge(): boolean {
    return this.#program.hasDoubleEdge;
  }

  /** Whether it matches somewhere in the text. Takes time proportional to the text. */
  test(text: string): boolean {
    if (this.#program.whole.isEmpty) return true;
    const width = this.#width;
    const classes = this.#asciiClass;
    const successors = this.#successors;
    this.#earn(text.length);
    let state = this.#next(0, width - 2);
    let at = 0;
    for (; at < text.length && state >= 0; at++) {
      let code = text.charCodeAt(at);
      let kind: number;
      if (code < ASCII) kind = classes[code] as number;
      else {
        if (code >= 0xd800 && code <= 0xdbff) {
          code = text.codePointAt(at) as number;
          if (code > 0xffff) at += 1;
        }
        kind = this.#search(code);
      }
      const known = successors[state + kind] as number;
      state = known === UNKNOWN ? this.#next(state, kind) : known;
    }
    if (state === UNMADE) return this.#readOn(text, at);
    return state === FOUND || this.#next(state, width - 1) === FOUND;
  }

  /**
   * Whether it may match in the JSON of a text, without its quotes: false only when it does not. What is not ASCII, or is an escape, is not
   * read.
   */
  mayMatch(json: Uint8Array, from: number, to: number): boolean {
    if (this.#program.whole.isEmpty) return true;
    const width = this.#width;
    const classes = this.#asciiClass;
    const successors = this.#successors;
    const beginsNone = this.#beginsNone;
    this.#earn(to - from);
    let state = this.#next(0, width - 2);
    for (let at = from; at < to && state >= 0; at++) {
      // Faster than from state to state, because no character waits for the one before it.
      if (state === 0) while (at < to - 1 && beginsNone[json[at] as number] === 1) at += 1;
      const code = json[at] as number;
      if (code >= ASCII || code === BACKSLASH) return true;
      const kind = classes[code] as number;
      const known = successors[state + kind] as number;
      state = known === UNKNOWN ? this.#next(state, kind) : known;
    }
    return state < 0 || this.#next(state, width - 1) === FOUND;
  }

  /** The rest of a text, from the positions that were reached. */
  #readOn(text: string, from: number): boolean {
    const { words } = this.#program;
    const { last } = this.#program.whole;
    const following = new Int32Array(words);
    const reached = this.#reached;
    for (let at = from; ; at++) {
      const code = text.codePointAt(at) ?? UNKNOWN;
      if (code > 0xffff) at += 1;
      const kind = code === UNKNOWN ? this.#width - 1 : this.#kindOf(code);
      const matching = this.#matching[kind] as Positions;
      this.#program.afterInto(following, reached);
      for (let word = 0; word < words; word++) {
        const here = (following[word] as number) & (matching[word] as number);
        if (here & (last[word] as number)) return true;
        reached[word] = here;
      }
      if (code === UNKNOWN) return false;
    }
  }

  /** @param chars that are read. */
  #earn(chars: number): void {
    this.#credit = Math.min(MAX_CREDIT, this.#credit + chars / CHARS_PER_STATE);
  }

  #kindOf(code: number): number {
    return code < ASCII ? (this.#asciiClass[code] as number) : this.#search(code);
  }

  /** The class of a character. */
  #search(code: number): number {
    const starts = this.#starts;
    let from = 0;
    let to = starts.length;
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if ((starts[middle] as number) <= code) from = middle;
      else to = middle;
    }
    return from;
  }

  #next(state: number, kind: number): number {
    const place = state + kind;
    const known = this.#successors[place] as number;
    if (known !== UNKNOWN) return known;
    const { words } = this.#program;
    const { last } = this.#program.whole;
    const matching = this.#matching[kind] as Positions;
    const following = this.#following[state / this.#width] as Positions;
    const reached = this.#reached;
    for (let word = 0; word < words; word++) {
      const here = (following[word] as number) & (matching[word] as number);
      if (here & (last[word] as number)) return FOUND;
      reached[word] = here;
    }
    return this.#stateOf(reached, place);
  }

  #stateOf(at: Positions, place: number): number {
    if (this.#credit < 1) return UNMADE;
    const key = at.join();
    let state = this.#states.get(key);
    if (state === undefined) {
      this.#credit -= 1;
      if (this.#following.length === this.#maxStates) {
        this.#forget();
        // The place of the state before is gone with it.
        return this.#add(key, at);
      }
      state = this.#add(key, at);
    }
    this.#successors[place] = state;
    return state;
  }

  #add(key: string, at: Positions): number {
    const state = this.#following.length * this.#width;
    this.#states.set(key, state);
    this.#following.push(this.#program.after(at));
    return state;
  }

  /** Leaves the state of nothing read: 0. */
  #forget(): void {
    this.#following = [];
    this.#states.clear();
    this.#successors.fill(UNKNOWN);
    const none = new Int32Array(this.#program.words);
    this.#add(none.join(), none);
  }
}

/** The positions of an expression. Building it takes time proportional to its parts, which the parser bounds. */
class Program {
  /** The characters or edge that each position matches. */
  readonly tests: (readonly (readonly [number, number])[] | 'begin' | 'end')[] = [];
  readonly whole: Part;
  /** Numbers of a set of positions. */
  readonly words: number;
  readonly #none: Positions;
  /** The positions that can follow each position. */
  readonly #follow: Positions[] = [];
  /**
   * The positions that can follow a set of positions, by groups of eight and which of these are in the set. Made when
   * first used.
   */
  #followBytes: Int32Array | undefined;

  constructor(tree: Tree) {
    this.words = Math.max(1, Math.ceil(tree.positions / 32));
    this.#none = new Int32Array(this.words);
    this.whole = this.#part(tree);
  }

  /** Whether an edge of the text can come directly behind an edge, other than the end behind the beginning. */
  get hasDoubleEdge(): boolean {
    return this.tests.some((test, position) => {
      if (typeof test !== 'string') return false;
      return bitsOf(this.#follow[position] as Positions).some((next) => {
        const behind = this.tests[next];
        return behind === test || (test === 'end' && behind === 'begin');
      });
    });
  }

  /** The positions that can follow some of these. A match may begin anywhere, so the first ones always can. */
  after(positions: Positions): Positions {
    const following = this.whole.first.slice();
    for (const at of bitsOf(positions)) addAll(following, this.#follow[at] as Positions);
    return following;
  }

  /** Writes the positions that can follow into `following`, in time that does not depend on their number. */
  afterInto(following: Positions, positions: Positions): void {
    this.#followBytes ??= this.#byBytes();
    const bytes = this.#followBytes;
    const { words } = this;
    following.set(this.whole.first);
    for (let word = 0, block = 0; word < words; word++) {
      for (let bits = positions[word] as number, step = 0; step < 4; step++, bits >>>= 8) {
        const row = (block++ * 256 + (bits & 255)) * words;
        for (let at = 0; at < words; at++)
          following[at] = (following[at] as number) | (bytes[row + at] as number);
      }
    }
  }

  #byBytes(): Int32Array {
    const { words } = this;
    const bytes = new Int32Array(words * 4 * 256 * words);
    for (const [position, follow] of this.#follow.entries()) {
      const bit = 1 << (position & 7);
      for (let set = bit; set < 256; set = (set + 1) | bit) {
        const row = ((position >>> 3) * 256 + set) * words;
        for (let at = 0; at < words; at++)
          bytes[row + at] = (bytes[row + at] as number) | (follow[at] as number);
      }
    }
    return bytes;
  }

  #part(tree: Tree): Part {
    switch (tree.type) {
      case 'chars':
        return this.#position(tree.set);
      case 'begin':
      case 'end':
        return this.#position(tree.type);
      case 'all':
        return tree.of.reduce<Part>(
          (before, next) => this.#join(before, this.#part(next)),
          this.#nothing(),
        );
      case 'any':
        return tree.of.reduce<Part>(
          (before, next) => {
            const { isEmpty, first, last } = this.#part(next);
            return {
              isEmpty: before.isEmpty || isEmpty,
              first: union(before.first, first),
              last: union(before.last, last),
            };
          },
          { ...this.#nothing(), isEmpty: false },
        );
      case 'repeat':
        return this.#repeat(tree);
    }
  }

  #repeat({ of, least, most }: Extract<Tree, { type: 'repeat' }>): Part {
    let whole = this.#nothing();
    const isOpen = most === Number.POSITIVE_INFINITY;
    const copies = copiesOf(least, most);
    for (let copy = 0; copy < copies; copy++) {
      let part = this.#part(of);
      if (isOpen && copy === copies - 1) this.#link(part.last, part.first);
      if (copy >= least) part = { ...part, isEmpty: true };
      whole = this.#join(whole, part);
    }
    return whole;
  }

  #join(before: Part, next: Part): Part {
    this.#link(before.last, next.first);
    return {
      isEmpty: before.isEmpty && next.isEmpty,
      first: before.isEmpty ? union(before.first, next.first) : before.first,
      last: next.isEmpty ? union(before.last, next.last) : next.last,
    };
  }

  #link(from: Positions, to: Positions): void {
    for (const position of bitsOf(from)) addAll(this.#follow[position] as Positions, to);
  }

  #position(test: (typeof this.tests)[number]): Part {
    const position = this.tests.length;
    this.tests.push(test);
    this.#follow.push(this.#none.slice());
    const only = this.#none.slice();
    only[position >>> 5] = 1 << (position & 31);
    return { isEmpty: false, first: only, last: only };
  }

  #nothing(): Part {
    return { isEmpty: true, first: this.#none, last: this.#none };
  }
}

function addAll(to: Positions, more: Positions): void {
  for (let word = 0; word < to.length; word++)
    to[word] = (to[word] as number) | (more[word] as number);
}

function union(one: Positions, other: Positions): Positions {
  const both = one.slice();
  addAll(both, other);
  return both;
}

function bitsOf(positions: Positions): number[] {
  const found: number[] = [];
  for (let word = 0; word < positions.length; word++) {
    for (let bits = positions[word] as number; bits !== 0; bits &= bits - 1)
      found.push(word * 32 + 31 - Math.clz32(bits & -bits));
  }
  return found;
}

/** The positions that match each class of characters, given by its first one, and each edge of the text. */
function matchingOf({ tests, words }: Program, starts: readonly number[]): Positions[] {
  const matching = Array.from({ length: starts.length + 2 }, () => new Int32Array(words));
  const place = new Map(starts.map((start, at) => [start, at]));
  for (const [position, test] of tests.entries()) {
    const add = (kind: number): void => {
      const set = matching[kind] as Positions;
      set[position >>> 5] = (set[position >>> 5] as number) | (1 << (position & 31));
    };
    if (test === 'begin') add(starts.length);
    else if (test === 'end') add(starts.length + 1);
    else {
      for (const [from, to] of test) {
        for (let kind = place.get(from) as number; (starts[kind] as number) <= to; kind++)
          add(kind);
      }
    }
  }
  return matching;
}
