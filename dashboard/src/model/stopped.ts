import type { BotSnapshot } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

type Bot = Pick<BotSnapshot, 'status' | 'desired'>;

/** Whether it is stopped until the next start, or is about to be. */
export function isStopped({ status, desired }: Bot): boolean {
  return status === 'stopped' || desired === 'stopped';
}

/** The bots by what a restart does to them. */
export interface ForRestart {
  /** Those that it restarts. */
  running: string[];
  /** Those that it would start. */
  stopped: string[];
  /** `94 running, 6 stopped`. */
  text: string;
}

/** @param ids those that no longer exist count as running: the service reports an error for them. */
export function forRestart(ids: readonly string[], bots: ReadonlyMap<string, Bot>): ForRestart {
  const running: string[] = [];
  const stopped: string[] = [];
  let failed = 0;
  for (const id of ids) {
    const bot = bots.get(id);
    if (bot && isStopped(bot)) stopped.push(id);
    else running.push(id);
    if (bot?.status === 'failed' && !isStopped(bot)) failed += 1;
  }
  const text = [
    [running.length - failed, 'confirm.running'] as const,
    [failed, 'confirm.failed'] as const,
    [stopped.length, 'confirm.stoppedCount'] as const,
  ]
    .filter(([count]) => count > 0)
    .map(([n, key]) => t(key, { n }))
    .join(', ');
  return { running, stopped, text };
}
