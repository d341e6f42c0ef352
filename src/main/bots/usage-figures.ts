// What a bot uses, as it is shown, and which changes of it are worth an event.

import type { BotUsage } from '../../shared/contract/events.js';
import { USAGE_NAMES, type UsageName } from '../../shared/contract/usage.js';

/** The usage of one bot in one window. */
export interface Sums {
  cpuMs: number;
  lines: number;
  bytes: number;
}

/** Smaller changes are shown with the next larger one. */
const NOTABLE: Readonly<Record<UsageName, number>> = {
  cpu: 0.01,
  memory_mb: 8,
  lines_per_second: 1,
  bytes_per_second: 1024,
  connections: 1,
};
/** Changes below this share of what is shown wait too. */
const NOTABLE_SHARE = 0.2;

/**
 * @param sums of a window of `ms`. @param memoryBytes null when the bot has no process and is not alone on its host: the memory of one
 * bot of several is not known. @returns null when it uses nothing.
 */
export function usageOf(
  sums: Sums = { cpuMs: 0, lines: 0, bytes: 0 },
  ms: number,
  connections: number,
  memoryBytes: number | null,
): BotUsage | null {
  const usage: BotUsage = {
    cpu: round(sums.cpuMs / ms, 1000),
    memory_mb: memoryBytes === null ? null : round(memoryBytes / 2 ** 20, 10),
    lines_per_second: round((sums.lines * 1000) / ms, 10),
    bytes_per_second: round((sums.bytes * 1000) / ms, 1),
    connections,
  };
  return USAGE_NAMES.some((name) => (usage[name] ?? 0) > 0) ? usage : null;
}

/** Whether its code did anything, beside having memory and connections. */
export function isUsed(usage: BotUsage): boolean {
  return usage.cpu > 0 || usage.lines_per_second > 0;
}

/** Whether `now` differs from what is shown so much that it is worth an event. */
export function isNotable(shown: BotUsage | null, now: BotUsage | null): boolean {
  if (now === null) return shown !== null;
  return USAGE_NAMES.some((name) => {
    const before = shown?.[name] ?? 0;
    const change = Math.abs((now[name] ?? 0) - before);
    return change >= Math.max(NOTABLE[name], before * NOTABLE_SHARE);
  });
}

function round(value: number, steps: number): number {
  return Math.round(value * steps) / steps;
}
