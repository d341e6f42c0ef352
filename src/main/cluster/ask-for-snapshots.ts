// Runs in main. A node that joins takes the snapshots of all bots from another. When none could answer, it asks each node to publish those
// of its bots: it would not know of bots to which nothing happens.

import type { BotRecords } from './bot-records.js';
import type { CallsToMembers } from './node-calls.js';
import type { Members } from './parts.js';

const ASK_MS = 5000;

/** Asks each node once it is there, until all that have bots were asked. @returns a function that ends it. */
export function askForSnapshots(
  others: Pick<CallsToMembers, 'others' | 'call'>,
  members: Pick<Members, 'self' | 'onChange'>,
  records: Pick<BotRecords, 'fault' | 'nodes'>,
): () => void {
  const asked = new Set([members.self]);
  const underWay = new Set<string>();
  const ask = async (node: string): Promise<void> => {
    if (asked.has(node) || underWay.has(node)) return;
    underWay.add(node);
    // Renewals of leases are changes: it is asked again with the next one.
    await others.call(node, 'showBots', null, ASK_MS).then(
      () => asked.add(node),
      () => {},
    );
    underWay.delete(node);
  };
  const look = (): void => {
    const present = others.others();
    for (const node of present) void ask(node);
    const all = [...present, ...records.nodes()];
    if (records.fault === null && all.every((node) => asked.has(node))) unlisten();
  };
  const unlisten = members.onChange(look);
  look();
  return unlisten;
}
