// Runs in the rules thread. Owns the rules that are looked at, and the place on the ring up to which they have seen lines. Without rules
// it reads nothing and has no timer.

import type { NameHasher } from '../shared/contract/name-hash.js';
import type { RuleReport, WatchedRule } from '../shared/contract/rule-messages.js';
import { RULES_SCOPE } from '../shared/contract/scopes.js';
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

export interface EvaluationParts {
  ring: RingReader;
  names: NameHasher;
  /** All snapshots as of just before frame `next`; undefined while there is no broadcaster. */
  baseline(): Promise<{ next: number; sessions: string[] } | undefined>;
  changed(reports: RuleReport[]): void;
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

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
    this.#frames = new FrameCopy(parts.ring);
    this.#mirror = new BotMirror(parts.names);
    this.#ownScope = parts.names.once(RULES_SCOPE);
  }

  /** @param from new rules see lines from this frame on: the thread may have begun, or got the message, later. */
  watch(rules: readonly WatchedRule[], from: number): void {
    const { names, now, every } = this.#parts;
    if (this.#next === undefined) this.#startAt ??= from;
    else this.#read(from);
    const before = new Map(this.#watched.map((one) => [one.id, one]));
    this.#watched = rules.map((rule) => {
      const known = before.get(rule.rule.id);
      if (known?.revision !== rule.revision) {
        nowRuns(titleOf(rule));
        return new Watched(rule, this.#mirror, names, now());
      }
      before.delete(rule.rule.id);
      return known;
    });
    for (const gone of before.values()) gone.end();
    if (rules.length === 0) {
      this.close();
      return;
    }
    this.#stop ??= every(TICK_MS, () => this.tick());
    this.tick();
  }

  /** Reads what is new, looks at all rules, and tells what has changed. */
  tick(): void {
    this.#read();
    if (this.#next === undefined) return;
    const withValues = this.#ticks % VALUES_EVERY === 0;
    this.#ticks += 1;
    const now = this.#parts.now();
    const reports = this.#watched.flatMap((one) => {
      nowRuns(one.title);
      return one.look(now, withValues) ?? [];
    });
    if (reports.length > 0) this.#parts.changed(reports);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#next = undefined;
    this.#startAt = undefined;
    this.#lostFrom = undefined;
    this.#mirror.clear();
  }

  #read(head = this.#parts.ring.head()): void {
    if (this.#stop && this.#next === undefined) void this.#begin();
    while (this.#next !== undefined && this.#next < head) {
      if (!this.#frames.take(this.#next, head)) {
        this.#lostFrom = this.#next;
        this.#next = undefined;
        void this.#begin();
        return;
      }
      nowRuns(`the lines for ${this.#watched.length} rules`);
      for (let seq = this.#frames.first; seq < this.#frames.end; seq++) this.#see(seq);
      this.#next = this.#frames.end;
    }
  }

  #see(seq: number): void {
    const frames = this.#frames;
    const kind = frames.kind(seq);
    if (kind === KIND_CODE.session) this.#mirror.see(frameData(frames.text(seq)));
    if (kind !== KIND_CODE.log || this.#isOwn(seq)) return;
    const now = this.#parts.now();
    for (const one of this.#watched) if (one.countsLines) one.see(frames, seq, now);
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
