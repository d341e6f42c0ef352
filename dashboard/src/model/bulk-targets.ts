// Which commands bots have in common, and on which of them a command can run.

import type { BotSnapshot, KindInfo } from '../../../src/client/index.js';
import type { Schema } from '../parts/schema.js';
import { isStopped } from './stopped.js';

/** A command of some kinds, with the same arguments in each. */
export interface SharedCommand {
  /** Of this command, among all that are offered. */
  key: string;
  name: string;
  description: string;
  args: Schema;
  kinds: ReadonlySet<string>;
}

type Bot = Pick<BotSnapshot, 'id' | 'kind' | 'status' | 'desired'>;

/** Those of the kinds of these bots; the one that the most kinds have first. */
export function sharedCommands(
  bots: readonly Pick<Bot, 'kind'>[],
  kinds: readonly KindInfo[],
): SharedCommand[] {
  const wanted = new Set(bots.map(({ kind }) => kind));
  const found = new Map<string, SharedCommand & { kinds: Set<string> }>();
  for (const { kind, commands } of kinds) {
    if (!wanted.has(kind)) continue;
    for (const [name, { description, args }] of Object.entries(commands)) {
      // Kinds may have commands of the same name that take something else.
      const key = `${name} ${JSON.stringify(args)}`;
      const known = found.get(key);
      if (known) known.kinds.add(kind);
      else {
        found.set(key, { key, name, description, args: args as Schema, kinds: new Set([kind]) });
      }
    }
  }
  return [...found.values()].sort(
    (a, b) => b.kinds.size - a.kinds.size || a.name.localeCompare(b.name, 'en'),
  );
}

/** What a command would do: on which bots it runs, and which are left out. */
export interface DryRun {
  targets: string[];
  /** They do not run. */
  stopped: string[];
  /** Their kind has no such command. */
  without: string[];
}

export function dryRun(bots: readonly Bot[], command: Pick<SharedCommand, 'kinds'>): DryRun {
  const found: DryRun = { targets: [], stopped: [], without: [] };
  for (const bot of bots) {
    const { id, kind, status } = bot;
    if (!command.kinds.has(kind)) found.without.push(id);
    else if (isStopped(bot) || status === 'failed' || status === 'backoff') found.stopped.push(id);
    else found.targets.push(id);
  }
  return found;
}
