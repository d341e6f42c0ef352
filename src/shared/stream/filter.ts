import type { BotSnapshot } from '../contract/events.js';
import { hasLabels } from '../contract/labels.js';
import type { NameHasher } from '../contract/name-hash.js';
import type { NodeNaming } from '../memory/node-names.js';
import type { FieldName } from '../query/fields.js';
import type { Regex } from '../query/regex.js';
import type { Alternatives } from '../query/required-texts.js';
import { selectionOf } from '../query/selection.js';
import type { Query } from '../query/term.js';
import { literal } from '../query/values.js';
import { KIND_CODE, LEVEL_CODE } from './frame.js';
import type { IndexedFrames, SampledFrames } from './frame-line.js';
import { type BotsNow, FrameQuery, type MakeJudge } from './frame-query.js';
import { HashSet } from './hash-set.js';
import type { BotLabels, LabelHistory } from './label-history.js';

/** The fields that the ring's index answers. */
const INDEXED = ['event', 'level', 'bot', 'scope', 'node'] as const satisfies readonly FieldName[];
type IndexedField = (typeof INDEXED)[number];

/** The bots that a stream is limited to, in addition to its query. */
export type StreamReach =
  | { bots: readonly string[] }
  | { labels: BotLabels; history: LabelHistory }
  | null;

/** The parts of a filter beside the values of indexed fields. */
export interface FilterParts {
  labelled?: { labels: BotLabels; history: LabelHistory } | undefined;
  /** The names of the stream's nodes; without them, no frame is from a node. */
  nodeNames?: NodeNaming | undefined;
  query?: FrameQuery | undefined;
  /** Sessions that the query excludes. */
  except?: readonly string[] | undefined;
}

/** Names of which every frame that passes has one. Of sessions and scopes: the low words of their hashes. */
export type FilterNames =
  | { field: 'session' | 'scope'; values: readonly number[] }
  | { field: 'node'; values: readonly string[] };

/**
 * Lets a frame through when it has, of each indexed field with values, one of them. A frame that lacks the field
 * (a session frame has no level) does not have the value. With labels it must also be a frame of a bot that had them, and with
 * a query it must match that.
 * Gaps always pass.
 */
export class Filter {
  /** The key is equal for equal filters, however they are written. */
  readonly key: string;
  readonly #names: NameHasher;
  readonly #kinds: ReadonlySet<number> | undefined;
  readonly #levels: ReadonlySet<number> | undefined;
  readonly #sessions: HashSet | undefined;
  #named: readonly (readonly [low: number, high: number])[] | undefined;
  readonly #scopes: HashSet | undefined;
  readonly #nodes: ReadonlySet<string> | undefined;
  readonly #nodeNames: NodeNaming | undefined;
  readonly #labelled: FilterParts['labelled'];
  readonly #query: FrameQuery | undefined;

  constructor(
    values: ReadonlyMap<IndexedField, ReadonlySet<string>>,
    names: NameHasher,
    { labelled, nodeNames, query, except }: FilterParts = {},
  ) {
    this.#names = names;
    this.#query = query;
    this.#nodes = values.get('node');
    this.#nodeNames = nodeNames;
    this.#labelled = labelled;
    // Without the parameter everything passes, with an empty one nothing: null and [] differ.
    const lists = INDEXED.map((name) => {
      const set = values.get(name);
      return set && [...set].filter((value) => isKnown(name, value)).sort();
    });
    const labels = labelled ? Object.entries(labelled.labels).sort() : null;
    const asked = query ? [query.key, except ?? null] : null;
    this.key = JSON.stringify([...lists.map((list) => list ?? null), labels, asked]);
    this.#kinds = codes(values.get('event'), KIND_CODE);
    this.#levels = codes(values.get('level'), LEVEL_CODE);
    this.#sessions = hashes(values.get('bot'), names);
    this.#scopes = hashes(values.get('scope'), names);
  }

  /** Frames below this cannot be judged here any more. */
  get since(): number {
    return Math.max(this.#labelled?.history.since ?? 0, this.#query?.judge?.since ?? 0);
  }

  /** Frames from this on cannot be judged yet. */
  get known(): number {
    const end = Number.POSITIVE_INFINITY;
    return Math.min(this.#labelled?.history.known ?? end, this.#query?.judge?.known ?? end);
  }

  /** Whether it judges more than the index of frames has: their text, and the state of their bots. */
  get hasQuery(): boolean {
    return this.#query !== undefined;
  }

  /** Texts of which everything that matches its query has one each, gaps excepted. */
  get texts(): readonly Alternatives[] {
    return this.#query?.texts ?? [];
  }

  /** Pieces of JSON that everything has that matches its query, gaps excepted. */
  get pieces(): readonly string[] {
    return this.#query?.pieces ?? [];
  }

  /** Regular expressions that the text of everything matches that matches its query, gaps excepted. */
  get regexes(): readonly Regex[] {
    return this.#query?.regexes ?? [];
  }

  /** Call begin before its first frame and end after its last: judging bots needs memory. */
  begin(): void {
    this.#query?.judge?.begin();
  }

  end(): void {
    this.#query?.judge?.end();
  }

  /**
   * Its key for another thread, which knows no bots: those that match now are named in it. Not at once when bots are judged: that can
   * take milliseconds for each.
   */
  get pastKey(): string | Promise<string> {
    const query = this.#query;
    const now = query?.judge?.now?.();
    return query && now ? this.#pastKeyOf(query, now) : this.key;
  }

  async #pastKeyOf(query: FrameQuery, now: Promise<BotsNow>): Promise<string> {
    const { areOthers, ids } = await now;
    const parts = JSON.parse(this.key) as unknown[];
    const at = INDEXED.indexOf('bot');
    if (areOthers) parts[parts.length - 1] = [query.lineKey, ids];
    else {
      const wanted = parts[at] as readonly string[] | null;
      const matching = new Set(ids);
      parts[at] = wanted ? wanted.filter((id) => matching.has(id)) : ids;
      parts[parts.length - 1] = query.lineKey === '' ? null : [query.lineKey, null];
    }
    return JSON.stringify(parts);
  }

  /** Whether it is limited by labels: frames can be judged from {@link since} on and below {@link known} only. */
  get isLabelled(): boolean {
    return this.#labelled !== undefined;
  }

  /** The names of which every frame that passes has one; undefined when names do not limit it. Gaps pass without. */
  get names(): FilterNames | undefined {
    // Prefers sessions: there are most of them, so each has the fewest frames. There are fewest nodes.
    if (this.#sessions) return { field: 'session', values: this.#sessions.lowWords() };
    if (this.#scopes) return { field: 'scope', values: this.#scopes.lowWords() };
    return this.#nodes && { field: 'node', values: [...this.#nodes] };
  }

  /** Hashes of the sessions that pass; undefined when they are not limited by name. */
  get sessions(): readonly (readonly [low: number, high: number])[] | undefined {
    if (!this.#sessions || this.#named) return this.#named;
    // Computed from the key, because only the journal needs the names.
    const lists = JSON.parse(this.key) as readonly (readonly string[])[];
    this.#named = (lists[INDEXED.indexOf('bot')] ?? []).map((name) => {
      const { low, high } = this.#names.once(name);
      return [low, high] as const;
    });
    return this.#named;
  }

  /** The filter of this key, in another thread. */
  static ofKey(
    key: string,
    names: NameHasher,
    history: LabelHistory,
    nodeNames?: NodeNaming,
  ): Filter {
    const parts = JSON.parse(key) as (string[] | [string, string][] | null)[];
    const values = new Map<IndexedField, Set<string>>();
    for (const [at, name] of INDEXED.entries()) {
      const list = parts[at] as string[] | null;
      if (list) values.set(name, new Set(list));
    }
    const labels = parts[INDEXED.length] as [string, string][] | null;
    const labelled = labels ? { labels: Object.fromEntries(labels), history } : undefined;
    const [queryKey, ids] = (parts[INDEXED.length + 1] ?? []) as unknown as [
      string?,
      (readonly string[] | null)?,
    ];
    const except = ids ?? undefined;
    const query =
      queryKey === undefined
        ? undefined
        : FrameQuery.ofKey(queryKey, nodeNames, except && hashes(new Set(except), names));
    return new Filter(values, names, { labelled, nodeNames, query, except });
  }

  /** Whether a frame with one of these kinds and levels (bit sets of codes) can pass. */
  mayMatch(kinds: number, levels: number): boolean {
    if (kinds & (1 << KIND_CODE.gap)) return true;
    const some = (wanted: ReadonlySet<number> | undefined, there: number): boolean =>
      wanted === undefined || [...wanted].some((code) => there & (1 << code));
    return some(this.#kinds, kinds) && some(this.#levels, levels);
  }

  /** Whether some frame can pass that is no gap, by the names that there are. */
  mayHaveNames(frames: SampledFrames): boolean {
    const sessions = this.#sessions;
    const scopes = this.#scopes;
    const isWanted = (seq: number): boolean =>
      sessions?.has(frames.sessionLow(seq), frames.sessionHigh(seq)) ?? true;
    const isInScope = (seq: number): boolean =>
      scopes?.has(frames.scopeLow(seq), frames.scopeHigh(seq)) ?? true;
    if (scopes && !frames.scopeFrames.some(isInScope)) return false;
    if (sessions && !frames.sessionFrames.some(isWanted)) return false;
    return this.#query?.mayHaveNames(frames) ?? true;
  }

  matches(frames: IndexedFrames, seq: number): boolean {
    const kind = frames.kind(seq);
    if (kind === KIND_CODE.gap) return true;
    if (this.#kinds && !this.#kinds.has(kind)) return false;
    if (this.#levels && !this.#levels.has(frames.level(seq))) return false;
    if (this.#sessions && !this.#sessions.has(frames.sessionLow(seq), frames.sessionHigh(seq))) {
      return false;
    }
    if (this.#nodes && !this.#nodes.has(this.#nodeNames?.name(frames.node(seq)) ?? ''))
      return false;
    if (this.#labelled) {
      const { labels, history } = this.#labelled;
      if (!history.had(frames.sessionLow(seq), frames.sessionHigh(seq), seq, labels)) return false;
    }
    if (this.#scopes && !this.#scopes.has(frames.scopeLow(seq), frames.scopeHigh(seq)))
      return false;
    return this.#query?.matches(frames, seq) ?? true;
  }

  /** Whether a `session` frame of this bot passes. */
  matchesSnapshot(snapshot: BotSnapshot): boolean {
    if (this.#levels || this.#scopes) return false;
    if (this.#kinds && !this.#kinds.has(KIND_CODE.session)) return false;
    if (this.#nodes && !this.#nodes.has(snapshot.node ?? '')) return false;
    if (this.#labelled && !hasLabels(snapshot.labels, this.#labelled.labels)) return false;
    const { low, high } = this.#names.of(snapshot.id);
    if (this.#sessions && !this.#sessions.has(low, high)) return false;
    return this.#query?.matchesSnapshot(snapshot) ?? true;
  }
}

/**
 * The nodes that a key asks for, null for all, and the key without them, null for everything: the journal of a node knows no nodes.
 */
export function nodesOfKey(key: string): { nodes: readonly string[] | null; key: string | null } {
  const parts = JSON.parse(key) as (readonly string[] | null)[];
  const at = INDEXED.indexOf('node');
  const nodes = parts[at] ?? null;
  parts[at] = null;
  return { nodes, key: parts.some((part) => part !== null) ? JSON.stringify(parts) : null };
}

/**
 * The filter for what parameters select (selection.ts), within what their token reaches; null for everything.
 * @throws DroverError `bad_request`.
 */
export function parseFilter(
  parameters: Parameters<typeof selectionOf>[0],
  names: NameHasher,
  reach: StreamReach = null,
  nodeNames?: NodeNaming,
  makeJudge?: MakeJudge,
): Filter | null {
  const values = new Map<IndexedField, Set<string>>();
  const rest = takeIndexed(selectionOf(parameters, 'lines'), values);
  const query = rest.length > 0 ? new FrameQuery(rest, makeJudge, nodeNames) : undefined;
  let labelled: FilterParts['labelled'];
  if (reach && 'bots' in reach) narrow(values, 'bot', new Set(reach.bots));
  else if (reach) labelled = reach;
  if (values.size === 0 && !labelled && !query) return null;
  return new Filter(values, names, { labelled, nodeNames, query });
}

/** Narrows `values` by the terms that the index answers. @returns the others. */
function takeIndexed(query: Query, values: Map<IndexedField, Set<string>>): Query {
  return query.filter((term) => {
    if (term.type !== 'field' || term.isNot || !isIndexed(term.field)) return true;
    const wanted = term.values.map(literal);
    if (wanted.includes(undefined)) return true;
    narrow(values, term.field, new Set(wanted as string[]));
    return false;
  });
}

/** Narrows the values further, because one of `wanted` is required too. */
function narrow(
  values: Map<IndexedField, Set<string>>,
  name: IndexedField,
  wanted: ReadonlySet<string>,
): void {
  const before = values.get(name);
  values.set(name, new Set([...wanted].filter((value) => before?.has(value) ?? true)));
}

/**
 * A value that no frame has lets nothing through, so it is left out of the key. That bounds the filters without names
 * to some hundred.
 */
function isKnown(name: IndexedField, value: string): boolean {
  const codes = name === 'event' ? KIND_CODE : name === 'level' ? LEVEL_CODE : undefined;
  return codes === undefined || Object.hasOwn(codes, value);
}

function isIndexed(field: FieldName): field is IndexedField {
  return (INDEXED as readonly FieldName[]).includes(field);
}

function codes(
  values: ReadonlySet<string> | undefined,
  table: Readonly<Record<string, number>>,
): Set<number> | undefined {
  if (!values) return undefined;
  const found = new Set<number>();
  for (const value of values) {
    const code = Object.hasOwn(table, value) ? table[value] : undefined;
    if (code !== undefined) found.add(code);
  }
  return found;
}

function hashes(values: ReadonlySet<string> | undefined, names: NameHasher): HashSet | undefined {
  return values && new HashSet([...values].map((value) => names.once(value)));
}
