// Runs in tabs. Owns the silence of bots: since their last line, or, where the page does not know it, from when on
// they have had none.

import type { BotSnapshot } from '../../../src/client/index.js';
import type { Line } from '../hub/messages.js';
import { bots, clockAheadMs, countedSince, doubted, lastLines, missedAt } from './live.js';
import { isStopped } from './stopped.js';

type Bot = Pick<BotSnapshot, 'id' | 'status' | 'desired' | 'since_ms'>;

export interface Silence {
  /** Of the last line, or from when on there is none. In ms; undefined when the journal has none. */
  at: number | undefined;
  /** There may be a line before `at`. */
  isSince: boolean;
}

/** All lines since then were looked at, in ms; undefined: only those of the stream. */
let readTo: number | undefined;
/** Bots of which the journal has no line. */
const without = new Set<string>();

/** A new session, or a new connection to the service. */
export function forgetSilence(): void {
  readTo = undefined;
  without.clear();
}

export function noteReadTo(ms: number): void {
  readTo = Math.min(readTo ?? ms, ms);
}

export function noteWithout(ids: readonly string[]): void {
  for (const id of ids) without.add(id);
}

/** Whether a bot runs, or is about to. */
function isUp(bot: Bot): boolean {
  return !isStopped(bot) && bot.status !== 'failed';
}

/** The last line of a bot; undefined when there may be a later one. */
function lineOf(id: string): Line | undefined {
  return doubted.has(id) ? undefined : lastLines.get(id);
}

/** From when on the page has seen all lines, in ms. */
function seenSince(): number | undefined {
  // Seconds are counted by the clock of this machine.
  const countingFrom =
    countedSince === null ? undefined : countedSince * 1000 - clockAheadMs.peek();
  return readTo ?? missedAt.peek() ?? countingFrom;
}

/** @returns null for a bot that does not run, and before anything is known. */
export function silenceOf(bot: Bot): Silence | null {
  const { id, since_ms } = bot;
  if (!isUp(bot)) return null;
  const line = lineOf(id);
  // A change of the status is a line too. A line before it may be that of an earlier bot with this name.
  if (line) return { at: Math.max(line.at, since_ms), isSince: false };
  if (without.has(id)) return { at: undefined, isSince: false };
  const since = seenSince();
  if (since === undefined) return null;
  return since_ms < since ? { at: since, isSince: true } : { at: since_ms, isSince: false };
}

/** To sort by: the longest silence is the largest. It is the same at any time, so that equal ones stay in their order. */
export function silenceRank(bot: Bot): number | null {
  const silence = silenceOf(bot);
  return silence && -(silence.at ?? 0);
}

/** Bots that run, and of which no last line is known. */
export function silentBots(): string[] {
  const isSought = ({ id }: Bot): boolean => !lineOf(id) && !without.has(id);
  return [...bots.values()].flatMap((bot) => (isUp(bot) && isSought(bot) ? bot.id : []));
}
