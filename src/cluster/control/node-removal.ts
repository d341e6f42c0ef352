// Runs in main of the leader. Removes a node that does not run any more from the cluster, for good.
//
// The order matters: first it is written that the node is removed, then it is asked whether its lease has ended. A node that takes its
// lease looks afterwards whether it was removed: so one of the two sees the other.

import type { BotsOfRemoved } from '../../shared/contract/nodes.js';
import { DroverError } from '../../shared/errors.js';
import type { BotRecords } from './bot-records.js';
import type { BotRecord, Members } from './parts.js';
import { type PlacementView, wishOf } from './placement-view.js';
import type { Revised } from './record-table.js';
import type { RemovedNodes } from './removed-nodes.js';

/** Bots that an error names. */
const NAMED = 20;

export interface RemovalParts {
  members: Members;
  records: BotRecords;
  removed: RemovedNodes;
  view: PlacementView;
}

/** @param bots what becomes of those that are on it; null: there must be none. @throws DroverError `not_found`, `conflict`, `unavailable`. */
export async function removeNode(
  { members, records, removed, view }: RemovalParts,
  node: string,
  bots: BotsOfRemoved | null,
): Promise<void> {
  const member = members.get(node);
  const left = (): Revised[] => [...records.on(node)].flatMap((id) => records.entry(id) ?? []);
  if (!member && left().length === 0) {
    throw new DroverError('not_found', `no node ${JSON.stringify(node)}`);
  }
  if (member?.isLive) {
    throw new DroverError('conflict', `node ${node} runs: drain it and stop it first`);
  }
  expectNone(node, bots, left(), view);
  const unmark = await removed.mark(node, member?.id ?? null);
  let hasEnded = false;
  try {
    hasEnded = await members.end(node);
  } finally {
    if (!hasEnded) await unmark();
  }
  if (!hasEnded) {
    const why = `the lease of node ${node} may not have run out yet`;
    throw new DroverError('unavailable', why, 1);
  }
  // Together: the caller does not wait long.
  const writes = left().map(async (entry) => {
    const { record } = entry;
    const { id } = record.spec;
    if (bots === 'delete') await records.remove(id, (now) => now.node === node);
    else await records.replace(id, entry, moved(record, view));
  });
  await Promise.all(writes);
  const { length } = left();
  if (length > 0) {
    const why = `${length} bots of node ${node} have changed meanwhile`;
    throw new DroverError('unavailable', why, 1);
  }
}

/** @throws DroverError `conflict` that names the bots for which nothing was said, or which cannot move. */
function expectNone(
  node: string,
  bots: BotsOfRemoved | null,
  left: readonly Revised[],
  view: PlacementView,
): void {
  if (bots === 'delete') return;
  const ids = left.map(({ record }) => record.spec.id);
  if (bots === null) {
    if (ids.length === 0) return;
    const which = `has ${ids.length === 1 ? 'the bot' : `${ids.length} bots:`} ${named(ids)}`;
    const how = `drover nodes rm ${node} --move-bots or --delete-bots (?bots=move, ?bots=delete)`;
    throw new DroverError('conflict', `node ${node} ${which}; say what becomes of them: ${how}`);
  }
  const stuck = left.flatMap(({ record }) => {
    const choice = targetOf(record, view);
    return 'reason' in choice ? [`${record.spec.id}: ${choice.reason}`] : [];
  });
  if (stuck.length === 0) return;
  throw new DroverError('conflict', `node ${node} has bots that cannot move: ${named(stuck)}`);
}

function named(texts: readonly string[]): string {
  const more = texts.length - NAMED;
  return texts.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function targetOf(record: BotRecord, view: PlacementView): { node: string } | { reason: string } {
  const { failover, node } = record;
  if (failover === 'bound') return { reason: `its secrets were on ${node} only` };
  return view.choose(wishOf(unpinned(record)), node);
}

function moved(record: BotRecord, view: PlacementView): BotRecord {
  const choice = targetOf(record, view);
  if ('reason' in choice) throw new DroverError('unavailable', choice.reason, 1);
  const { spec } = unpinned(record);
  view.expect(spec, choice.node);
  const given = { state: 'placing' as const, to: null, reason: null };
  return { ...record, ...given, spec, node: choice.node, term: record.term + 1 };
}

/** A bot that names the node that is removed names none any more. */
function unpinned(record: BotRecord): BotRecord {
  const { node, ...spec } = record.spec;
  return node === record.node ? { ...record, spec } : record;
}
