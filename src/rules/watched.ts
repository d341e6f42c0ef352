import type { NameHasher } from '../shared/contract/name-hash.js';
import type { RuleReport, WatchedRule } from '../shared/contract/rule-messages.js';
import type { NodeNaming } from '../shared/memory/node-names.js';
import { readQuery } from '../shared/query/read-query.js';
import { type Filter, parseFilter } from '../shared/stream/filter.js';
import type { IndexedFrames } from '../shared/stream/frame-line.js';
import { type BotMirror, LiveJudge } from './bot-mirror.js';
import { MatchingBots } from './matching-bots.js';
import { RuleWatch } from './rule-watch.js';

/** Runs in the rules thread. Owns the state of one rule, and its filter of lines or its set of bots. */
export class Watched {
  readonly id: string;
  /** For the operator. */
  readonly title: string;
  readonly revision: number;
  readonly #watch: RuleWatch;
  readonly #bots: MatchingBots | undefined;
  /** Null: all lines. Undefined: none. */
  readonly #lines: Filter | null | undefined;
  readonly #mirror: BotMirror;
  #last: Omit<RuleReport, 'id' | 'revision'> | undefined;

  /** @param nodes of the stream; undefined on one without. */
  constructor(
    watched: WatchedRule,
    mirror: BotMirror,
    names: NameHasher,
    nodes: NodeNaming | undefined,
    now: number,
  ) {
    const { rule, revision } = watched;
    this.title = titleOf(watched);
    this.id = rule.id;
    this.revision = revision;
    this.#mirror = mirror;
    this.#watch = new RuleWatch(rule, now);
    this.take(watched, now);
    if (rule.condition === 'bots') {
      this.#bots = new MatchingBots(mirror, readQuery(rule.query, 'bots'));
      return;
    }
    this.#lines = parseFilter(
      [['query', rule.query]],
      names,
      null,
      nodes,
      (_, condition) => new LiveJudge(mirror, condition),
    );
    this.#lines?.begin();
  }

  /** What others know of it. */
  take({ firingForMs }: WatchedRule, now: number): void {
    if (firingForMs !== undefined) this.#watch.takeFiring(firingForMs, now);
  }

  get countsLines(): boolean {
    return this.#lines !== undefined;
  }

  /** A line of the log. */
  see(frames: IndexedFrames, seq: number, now: number): void {
    if (this.#lines !== null && !this.#lines?.matches(frames, seq)) return;
    this.#watch.note(this.#mirror.name(frames.sessionLow(seq), frames.sessionHigh(seq)), now);
  }

  /** Looks at the bots that have changed. @param withValues also at those that time may have changed. */
  *catchUp(withValues: boolean, isOver: () => boolean): Generator<undefined> {
    if (withValues) this.#bots?.refresh();
    yield* this.#bots?.catchUp(isOver) ?? [];
  }

  /** To be called when it has caught up. @param withValues also a change of its value counts. @returns what is to be told; undefined when nothing has changed. */
  look(now: number, withValues: boolean): RuleReport | undefined {
    const bots = this.#bots;
    if (bots) this.#watch.match(bots.count, bots.sample);
    const seen = this.#watch.look(now);
    const last = this.#last;
    const isSame = last?.state === seen.state && (!withValues || last.value === seen.value);
    if (isSame) return undefined;
    this.#last = seen;
    return { id: this.id, revision: this.revision, ...seen };
  }

  end(): void {
    this.#bots?.end();
    this.#lines?.end();
  }
}

/** What is evaluated, for the operator. */
export function titleOf({ rule }: WatchedRule): string {
  return `the rule ${JSON.stringify(rule.name)}`;
}
