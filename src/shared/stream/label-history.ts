// Runs in a front thread and in the journal thread. Owns the labels that each bot had at each frame, so that a stream that is
// limited by labels gets exactly what its bots wrote while they had them, at any cursor.

import { hasLabels } from '../contract/labels.js';
import { SpanHistory } from './span-history.js';

export type BotLabels = Readonly<Record<string, string>>;

export class LabelHistory extends SpanHistory<BotLabels> {
  constructor() {
    super(isSame);
  }

  /** Whether the session had all of the wanted labels at frame `seq`. */
  had(low: number, high: number, seq: number, wanted: BotLabels): boolean {
    return this.at(low, high, seq).some((labels) => hasLabels(labels, wanted));
  }
}

function isSame(one: BotLabels, other: BotLabels): boolean {
  return Object.keys(one).length === Object.keys(other).length && hasLabels(one, other);
}
