// Runs in tabs. Owns the silence of bots: since their last line, or, where the page does not know it, from when on
// they have had none.

import type { BotSnapshot } from '../../../src/client/index.js';
import { bots, countedSince, lastLines } from './live.js';
import { isStopped } from './stopped.js';
import { serverNow } from './time.js';

type Bot = Pick<BotSnapshot, 'id' | 'status' | 'desired'>;

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

/** @returns null for a bot that does not run, and before anything is known. */
export function silenceOf(bot: Bot): Silence | null {
  const { id } = bot;
  if (!isUp(bot)) return null;
  const line = lastLines.get(id);
  if (line) return { at: line.at, isSince: false };
  if (without.has(id)) return { at: undefined, isSince: false };
  const since = readTo ?? (countedSince === null ? undefined : countedSince * 1000);
  return since === undefined ? null : { at: since, isSince: true };
}

/** In ms, to sort by: the longest silence is the largest. */
export function silenceMs(bot: Bot): number | null {
  const silence = silenceOf(bot);
  return silence && serverNow() - (silence.at ?? 0);
}

/** Bots that run, and of which no line is known. */
export function silentBots(): string[] {
  const isSought = ({ id }: Bot): boolean => !lastLines.has(id) && !without.has(id);
  return [...bots.values()].flatMap((bot) => (isUp(bot) && isSought(bot) ? bot.id : []));
}
