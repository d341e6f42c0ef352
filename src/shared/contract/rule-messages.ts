// Messages between main and the rules thread. Types only.

import type { MessagePort } from 'node:worker_threads';
import type { SharedLag } from '../memory/loop-lag.js';
import type { RuleState } from './rule-bounds.js';
import type { AlertEvent, RuleSettings } from './rules.js';
import type { Block, LoopEvents } from './slow-turn.js';
import type { StreamIdentity } from './threads.js';

export interface RulesStart {
  stream: StreamIdentity;
  lag: SharedLag;
  /** Index of its cells on the ring. */
  reader: number;
}

/** A rule that is looked at. Another revision of it begins without a past. */
export interface WatchedRule {
  rule: RuleSettings;
  revision: number;
  /** In a cluster, of one that fires: since when, in ms. */
  firingForMs?: number;
}

/** The result of evaluating a rule. */
export interface RuleReport {
  id: string;
  revision: number;
  state: Exclude<RuleState, 'off' | 'refused'>;
  value: number;
  bots: string[];
}

/** Methods of the thread that main calls. */
export type RulesMethods = {
  /** The channel to the broadcaster; a new one replaces the old. */
  attachBroadcaster(input: { port: MessagePort }): void;
  /** The rules from now on. Those whose revision is the same keep their past; others see lines from frame `from` on. */
  watch(input: { rules: WatchedRule[]; from: number }): void;
  /** While the stream is stalled, the time of rules stops too. */
  stall(input: { isStalled: boolean }): void;
  /** Answers when it has read what is on the ring now, and told what has changed by that. */
  catchUp(input: null): void;
  /** For drills: blocks its event loop for so long. */
  block(input: Block): void;
  close(input: null): void;
};

/** Methods of main that the thread calls. */
export type RulesEvents = LoopEvents & {
  /** Rules whose state or value has changed. A change of state is told at once, of values once a second. */
  changed(input: { reports: RuleReport[] }): void;
  /** An alert is on the stream. */
  alerted(input: { event: AlertEvent }): void;
  /** The ring has overwritten so many frames before the thread could read them. */
  lost(input: { frames: number }): void;
};
