// Matches regular expressions in one pass over the text: clients choose them, and an engine that tries
// alternatives one after the other (RegExp) can take minutes for a line. Each character of an expression is a position
// (Glushkov's automaton); the positions that the text so far can be at are a set, and each set that occurs becomes a state,
// whose successors are looked up from then on.

import { LAST } from './char-set.js';
import { QueryError } from './query-error.js';
import { parseRegex, type Tree } from './regex-tree.js';

/** Most positions of an expression: the cost of one character is at most proportional to them. */
export const MAX_POSITIONS = 128;
/**
 * Most states that are remembered, and successors of all of them, 4 bytes each. When they are used up all are forgotten, and
 * those that occur are made again.
 */
const MAX_STATES = 512;
const MAX_SUCCESSORS = 65_536;
const ASCII = 128;
const BACKSLASH = 0x5c;
const UNKNOWN = -1;
const FOUND = -2;

/** What a part of the expression can begin and end with; nothing too, if it is empty. */
interface Part {
  isEmpty: boolean;
  first: readonly number[];
  last: readonly number[];
}

/** A set of positions, 32 in each number. */
type Positions = Int32Array;

export class Regex {
  readonly #program: Program;
  /** By character below 128: its class. */
  readonly #asciiClass = new Uint16Array(ASCII);
  /** By character below 128: 1 when no match begins with it. */
  readonly #beginsNone = new Uint8Array(ASCII);
  /** First characters of the classes, ascending. */
  readonly #starts: readonly number[];
  /** By class: the positions that match it. The last two classes are the edges of the text. */
  readonly #matching: readonly Positions[];
  readonly #width: number;
  readonly #maxStates: number;
  /** By the number of a state: where its text can continue. */
  #following: Positions[] = [];
  #states = new Map<string, number>();
  /** By state and class. A state is the place of its first successor here: each character waits for the one before it. */
  readonly #successors: Int32Array;

  /** @throws QueryError */
  constructor(source: string, ignoreCase: boolean) {
    this.#program = new Program(parseRegex(source, ignoreCase, 0), 0);
    const { tests, words } = this.#program;
    const starts = new Set([0]);
    for (const test of tests) {
      if (typeof test === 'string') continue;
      for (const [from, to] of test) {
        starts.add(from);
        if (to < LAST) starts.add(to + 1);
      }
    }
    this.#starts = [...starts].sort((a, b) => a - b);
    this.#matching = [...this.#starts, 'begin' as const, 'end' as const].map((start) =>
      positionsOf(tests, words, start),
    );
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

  /** Checks an expression. @param offset of it in the query. @throws QueryError */
  static check(source: string, offset: number): void {
    new Program(parseRegex(source, false, offset), offset);
  }

  /** Whether it matches somewhere in the text. Takes time proportional to the text. */
  test(text: string): boolean {
    if (this.#program.whole.isEmpty) return true;
    const width = this.#width;
    const classes = this.#asciiClass;
    const successors = this.#successors;
    let state = this.#next(0, width - 2);
    for (let at = 0; at < text.length && state !== FOUND; at++) {
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
    let state = this.#next(0, width - 2);
    for (let at = from; at < to && state !== FOUND; at++) {
      // Faster than from state to state, because no character waits for the one before it.
      if (state === 0) while (at < to - 1 && beginsNone[json[at] as number] === 1) at += 1;
      const code = json[at] as number;
      if (code >= ASCII || code === BACKSLASH) return true;
      const kind = classes[code] as number;
      const known = successors[state + kind] as number;
      state = known === UNKNOWN ? this.#next(state, kind) : known;
    }
    return state === FOUND || this.#next(state, width - 1) === FOUND;
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
    const { words, last } = this.#program;
    const matching = this.#matching[kind] as Positions;
    const following = this.#following[state / this.#width] as Positions;
    const at = new Int32Array(words);
    let isFound = false;
    for (let word = 0; word < words; word++) {
      const here = (following[word] as number) & (matching[word] as number);
      at[word] = here;
      if (here & (last[word] as number)) isFound = true;
    }
    const next = isFound ? FOUND : this.#stateOf(at, place);
    return next;
  }

  #stateOf(at: Positions, place: number): number {
    const key = at.join();
    let state = this.#states.get(key);
    if (state === undefined) {
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

/** The positions of an expression. */
class Program {
  /** By position: what it matches. */
  readonly tests: (readonly (readonly [number, number])[] | 'begin' | 'end')[] = [];
  readonly whole: Part;
  /** Numbers of a set of positions. */
  readonly words: number;
  readonly last: Positions;
  readonly #first: Positions;
  readonly #follow: Set<number>[] = [];
  readonly #followSets: readonly Positions[];
  readonly #offset: number;

  constructor(tree: Tree, offset: number) {
    this.#offset = offset;
    this.whole = this.#part(tree);
    this.words = Math.max(1, Math.ceil(this.tests.length / 32));
    this.last = setOf(this.whole.last, this.words);
    this.#first = setOf(this.whole.first, this.words);
    this.#followSets = this.#follow.map((positions) => setOf([...positions], this.words));
  }

  /** The positions that can follow some of these. A match may begin anywhere, so the first ones always can. */
  after(positions: Positions): Positions {
    const following = this.#first.slice();
    for (let word = 0; word < this.words; word++) {
      for (let bits = positions[word] as number; bits !== 0; bits &= bits - 1) {
        const follow = this.#followSets[word * 32 + 31 - Math.clz32(bits & -bits)] as Positions;
        for (let at = 0; at < this.words; at++)
          following[at] = (following[at] as number) | (follow[at] as number);
      }
    }
    return following;
  }

  #part(tree: Tree): Part {
    switch (tree.type) {
      case 'chars':
        return this.#position(tree.set);
      case 'begin':
      case 'end':
        return this.#position(tree.type);
      case 'all':
        return tree.of.reduce<Part>((before, next) => this.#join(before, this.#part(next)), EMPTY);
      case 'any': {
        const parts = tree.of.map((one) => this.#part(one));
        return {
          isEmpty: parts.some(({ isEmpty }) => isEmpty),
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
        };
      }
      case 'repeat':
        return this.#repeat(tree);
    }
  }

  #repeat({ of, least, most }: Extract<Tree, { type: 'repeat' }>): Part {
    let whole = EMPTY;
    const isOpen = most === Number.POSITIVE_INFINITY;
    const copies = isOpen ? Math.max(1, least) : most;
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
      first: before.isEmpty ? [...before.first, ...next.first] : before.first,
      last: next.isEmpty ? [...before.last, ...next.last] : next.last,
    };
  }

  #link(from: readonly number[], to: readonly number[]): void {
    for (const position of from) {
      for (const next of to) (this.#follow[position] as Set<number>).add(next);
    }
  }

  #position(test: (typeof this.tests)[number]): Part {
    const position = this.tests.length;
    if (position === MAX_POSITIONS) {
      throw new QueryError(
        this.#offset,
        `regular expression: it has more than ${MAX_POSITIONS} characters, a{3} counted as three`,
      );
    }
    this.tests.push(test);
    this.#follow.push(new Set());
    return { isEmpty: false, first: [position], last: [position] };
  }
}

const EMPTY: Part = { isEmpty: true, first: [], last: [] };

function setOf(positions: readonly number[], words: number): Positions {
  const set = new Int32Array(words);
  for (const at of positions) set[at >>> 5] = (set[at >>> 5] as number) | (1 << (at & 31));
  return set;
}

/** The positions that match the class of characters from this one on, or an edge of the text. */
function positionsOf(
  tests: Program['tests'],
  words: number,
  start: number | 'begin' | 'end',
): Positions {
  const matching = [...tests.keys()].filter((position) => {
    const test = tests[position];
    if (typeof start === 'string' || typeof test === 'string') return test === start;
    return test?.some(([from, to]) => from <= start && start <= to);
  });
  return setOf(matching, words);
}
