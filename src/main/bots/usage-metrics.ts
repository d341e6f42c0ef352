import type { BotUsage } from '../../shared/contract/events.js';
import type { KindUsage } from '../../shared/contract/metric-layout.js';

/** Sums by kind, of kinds whose bots use anything. @param kindOf undefined for a bot that was deleted meanwhile. */
export function usageByKind(
  bots: Iterable<readonly [id: string, usage: BotUsage]>,
  kindOf: (id: string) => string | undefined,
): Record<string, KindUsage> {
  const kinds: Record<string, KindUsage> = {};
  for (const [bot, usage] of bots) {
    const kind = kindOf(bot);
    if (kind === undefined) continue;
    kinds[kind] ??= { cpu: 0, lines: 0, bytes: 0, connections: 0 };
    const sums = kinds[kind];
    sums.cpu += usage.cpu;
    sums.lines += usage.lines_per_second;
    sums.bytes += usage.bytes_per_second;
    sums.connections += usage.connections;
  }
  return kinds;
}
