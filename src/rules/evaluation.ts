// Runs in the rules thread. Owns the rules that are looked at, and the place on the ring up to which they have seen lines. Without rules
// it reads nothing and has no timer.

import type { NameHasher } from '../shared/contract/name-hash.js';
import type { RuleReport, WatchedRule } from '../shared/contract/rule-messages.js';
import type { AlertEvent } from '../shared/contract/rules.js';
import { RULES_SCOPE } from '../shared/contract/scopes.js';
import { Deferred } from '../shared/deferred.js';
import type { NodeNaming } from '../shared/memory/node-names.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { frameData, KIND_CODE } from '../shared/stream/frame.js';
import { nowRuns } from '../shared/turn.js';
import { BotMirror } from './bot-mirror.js';
import { FrameCopy } from './frame-copy.js';
import { titleOf, Watched } from './watched.js';

/** How often the ring is read and rules are looked at, in ms: rules wait for time too, so that no doorbell does it. */
const TICK_MS = 250;
/** How often changed values are told, in ticks. */
const VALUES_EVERY = 4;
/** How long it works before the thread does other work, in ms. A line can take a rule milliseconds. */
const SLICE_MS = 20;
/** Looks at a line or a bot between two reads of the clock. */
const CLOCK_EVERY = 8;

export interface EvaluationParts {
  ring: RingReader;
  names: NameHasher;
  /** Of the stream of a cluster. */
  nodes?: NodeNaming | undefined;
  /** All snapshots as of just before frame `next`; undefined while there is no broadcaster. */
  baseline(): Promise<{ next: number; sessions: string[] } | undefined>;
  changed(reports: RuleReport[]): void;
  /** An alert is on the stream. */
  alerted(event: AlertEvent): void;
  /** Frames were overwritten before they were read. */
  lost(frames: number): void;
  /** Calls `task` every so many ms. @returns what ends that. */
  every(ms: number, task: () => void): () => void;
  /** Monotonic, in ms. */
  now(): number;
}

export class Evaluation {
  readonly #parts: EvaluationParts;
  readonly #frames: FrameCopy;
  readonly #mirror: BotMirror;
  /** Those whose lines say that a rule fires: rules would count what they cause. */
  readonly #ownScope: { low: number; high: number };
  #watched: Watched[] = [];
  /** The next frame to be read; undefined until the mirror has a baseline. */
  #next: number | undefined;
  /** Where to begin once there is a baseline. */
  #startAt: number | undefined;
  /** Frames that were lost before the baseline that is on its way. */
  #lostFrom: number | undefined;
  #isAsking = false;
  #ticks = 0;
  #stop: (() => void) | undefined;
  /** The rules to be looked at, when all lines before `from` are read. */
  #asked: { rules: readonly WatchedRule[]; from: number } | undefined;
  #isDue = false;
  /** What a slice has begun. */
  #work: Generator<undefined> | undefined;
  #isSuspended = false;
  #sliceEnd = 0;
  #looks = 0;
  /** Since when the stream is stalled, and how long it was before that. */
  #stalledSince: number | undefined;
  #stalledMs = 0;
  /** Who waits for {@link catchUp}: as many as ask from one look to the next. */
  #waiting: Deferred[] = [];

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
    this.#frames = new FrameCopy(parts.ring);
    this.#mirror = new BotMirror(parts.names);
    this.#ownScope = parts.names.once(RULES_SCOPE);
  }

  /** @param from new rules see lines from this frame on: the thread may have begun, or got the message, later. */
  watch(rules: readonly WatchedRule[], from: number): void {
    // The newest counts: who is behind skips those between.
    this.#asked = { rules, from };
    this.#go();
  }

  /** Reads what is new, looks at all rules, and tells what has changed. */
  tick(): void {
    this.#isDue = true;
    this.#go();
  }

  /** Nothing that a rule waits for can come while the stream is stalled: its time stops too. */
  stall(isStalled: boolean): void {
    const now = this.#parts.now();
    if (isStalled) this.#stalledSince ??= now;
    else if (this.#stalledSince !== undefined) {
      this.#stalledMs += now - this.#stalledSince;
      this.#stalledSince = undefined;
    }
  }

  /** Resolves when what is on the ring now was read, and what has changed by that was told. At once without rules. */
  async catchUp(): Promise<void> {
    const done = new Deferred();
    this.#waiting.push(done);
    this.tick();
    await done.promise;
  }

  get #now(): number {
    return (this.#stalledSince ?? this.#parts.now()) - this.#stalledMs;
  }

  /** Works until all is done or the slice is over, then later. */
  #go(): void {
    if (this.#isSuspended) return;
    this.#sliceEnd = this.#parts.now() + SLICE_MS;
    for (this.#work ??= this.#nextWork(); this.#work; this.#work = this.#nextWork()) {
      if (this.#work.next().done) continue;
      this.#isSuspended = true;
      setImmediate(() => {
        this.#isSuspended = false;
        this.#go();
      });
      return;
    }
  }

  #nextWork(): Generator<undefined> | undefined {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) return this.#watch(asked.rules, asked.from);
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    return this.#look();
  }

  #isOver = (): boolean => {
    this.#looks += 1;
    return this.#looks % CLOCK_EVERY === 0 && this.#parts.now() >= this.#sliceEnd;
  };

  *#watch(rules: readonly WatchedRule[], from: number): Generator<undefined> {
    const { names, nodes, every } = this.#parts;
    if (this.#next === undefined) this.#startAt ??= from;
    else yield* this.#read(from);
    const before = new Map(this.#watched.map((one) => [one.id, one]));
    const watched: Watched[] = [];
    for (const rule of rules) {
      const known = before.get(rule.rule.id);
      if (known?.revision === rule.revision) {
        before.delete(rule.rule.id);
        known.take(rule, this.#now);
        watched.push(known);
        continue;
      }
      nowRuns(titleOf(rule));
      watched.push(new Watched(rule, this.#mirror, names, nodes, this.#now));
      if (this.#isOver()) yield;
    }
    this.#watched = watched;
    for (const gone of before.values()) gone.end();
    if (rules.length === 0) {
      this.#rest();
      return;
    }
    this.#stop ??= every(TICK_MS, () => this.tick());
    this.#isDue = true;
  }

  *#look(): Generator<undefined> {
    const waiting = this.#waiting;
    this.#waiting = [];
    yield* this.#read();
    if (this.#stop && this.#next === undefined) {
      this.#waiting.push(...waiting);
      return;
    }
    const withValues = this.#ticks % VALUES_EVERY === 0;
    this.#ticks += 1;
    const reports: RuleReport[] = [];
    for (const one of this.#watched) {
      nowRuns(one.title);
      yield* one.catchUp(withValues, this.#isOver);
      const report = one.look(this.#now, withValues);
      if (report) reports.push(report);
    }
    if (reports.length > 0) this.#parts.changed(reports);
    for (const done of waiting) done.resolve();
  }

  close(): void {
    this.#asked = undefined;
    this.#work = undefined;
    this.#rest();
  }

  /** There is nothing to be read. */
  #rest(): void {
    this.#isDue = false;
    this.#stop?.();
    this.#stop = undefined;
    this.#next = undefined;
    this.#startAt = undefined;
    this.#lostFrom = undefined;
    this.#mirror.clear();
    for (const done of this.#waiting.splice(0)) done.resolve();
  }

  *#read(head = this.#parts.ring.head()): Generator<undefined> {
    if (this.#stop && this.#next === undefined) void this.#begin();
    while (this.#next !== undefined && this.#next < head) {
      if (!this.#frames.take(this.#next, head)) {
        this.#lostFrom = this.#next;
        this.#next = undefined;
        void this.#begin();
        return;
      }
      nowRuns(this.#title);
      const frames = this.#frames;
      for (let seq = frames.first; seq < frames.end; seq++) {
        const kind = frames.kind(seq);
        if (kind === KIND_CODE.session) this.#mirror.see(frameData(frames.text(seq)));
        if (kind === KIND_CODE.alert) this.#parts.alerted(JSON.parse(frameData(frames.text(seq))));
        if (kind !== KIND_CODE.log || this.#isOwn(seq)) continue;
        const now = this.#now;
        for (const one of this.#watched) {
          if (!one.countsLines) continue;
          one.see(frames, seq, now);
          if (!this.#isOver()) continue;
          yield;
          nowRuns(this.#title);
        }
      }
      this.#next = frames.end;
    }
  }

  /** What it does with lines, for the operator. */
  get #title(): string {
    return `the lines for ${this.#watched.length} rules`;
  }

  #isOwn(seq: number): boolean {
    const { low, high } = this.#ownScope;
    return this.#frames.scopeLow(seq) === low && this.#frames.scopeHigh(seq) === high;
  }

  /** Asks for a baseline; while there is none, each tick asks again. */
  async #begin(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const baseline = await this.#parts.baseline();
      if (!baseline || !this.#stop) return;
      this.#mirror.reset(baseline.sessions);
      // Frames from before the baseline show older snapshots; those behind them make the mirror current again.
      this.#next = Math.min(this.#startAt ?? baseline.next, baseline.next);
      this.#startAt = undefined;
      if (this.#lostFrom !== undefined) this.#parts.lost(baseline.next - this.#lostFrom);
      this.#lostFrom = undefined;
    } finally {
      this.#isAsking = false;
    }
  }
}
