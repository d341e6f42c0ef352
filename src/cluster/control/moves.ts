// Runs in main. Owns the moves from nodes that give their bots away, and those of a rebalance. One group of
// bots at a time: the next one leaves when all of the last are elsewhere.

import type { BotSpec } from '../../shared/contract/bots.js';
import type { HeldBot } from '../../shared/contract/nodes.js';
import { DroverError } from '../../shared/errors.js';
import { noBot } from '../../shared/no-bot.js';
import type { BotRecords } from './bot-records.js';
import type { BotRecord, Member, Members } from './parts.js';
import { type Choice, rebalanced, type Unit, unitsOf } from './placement.js';
import { type PlacementView, type WishOf, wishOf } from './placement-view.js';

/** Bots without a group that move together. */
const TOGETHER = 10;

export class Moves {
  readonly #view: PlacementView;
  readonly #members: Members;
  readonly #records: BotRecords;
  readonly #say: (level: 'info' | 'warn', line: string) => void;
  /** Bots that are on their way from a node, by node. */
  readonly #leaving = new Map<string, Set<string>>();
  /** What is left of a rebalance. Bounded by the bots; another leader does not know of it. */
  #rebalance: Unit[] = [];
  #rebalancing = new Set<string>();
  /** What was said last of a node that gives its bots away. */
  readonly #said = new Map<string, string>();

  constructor(
    view: PlacementView,
    members: Members,
    records: BotRecords,
    say: (level: 'info' | 'warn', line: string) => void,
  ) {
    this.#view = view;
    this.#members = members;
    this.#records = records;
    this.#say = say;
  }

  /** This node does not lead any more. */
  forget(): void {
    this.#leaving.clear();
    this.#said.clear();
    this.#rebalance = [];
    this.#rebalancing.clear();
  }

  /** @returns how many bots are to move. */
  rebalance(): number {
    const placed = [...this.#records.ids()]
      .flatMap((id) => this.#records.get(id) ?? [])
      .filter(isMovable)
      .map((record) => ({ ...wishOf(record), on: record.node }));
    this.#rebalance = rebalanced(placed, this.#view.candidates());
    return this.#rebalance.reduce((sum, { ids }) => sum + ids.length, 0);
  }

  /** Begins to move a bot, with its host group. @returns how many move. @throws DroverError `not_found`, `conflict`, `unavailable`. */
  async move(id: string, node: string): Promise<number> {
    const first = this.#records.get(id);
    if (!first) throw noBot(id);
    if (!this.#members.get(node)) {
      throw new DroverError('not_found', `no node ${JSON.stringify(node)}`);
    }
    const { host_group: group } = first.spec;
    const unit = (group === undefined ? [id] : [...this.#records.inGroup(group)])
      .flatMap((one) => this.#records.get(one) ?? [])
      .filter((record) => record.node !== node);
    for (const record of unit) this.#expectMovable(record, node);
    await this.#leave(
      unit.map(({ spec }) => [spec.id, node]),
      new Set(),
    );
    return unit.length;
  }

  #expectMovable(record: BotRecord, to: string): void {
    const { spec, node, state } = record;
    if (state !== 'placed' || !this.#members.get(node)?.isLive) {
      const why = state === 'placed' ? `its node ${node} is lost` : 'it is on its way already';
      throw new DroverError('unavailable', `bot ${spec.id} cannot move now: ${why}`, 1);
    }
    const choice = this.#choiceOf(record, { ...wishOf(record), node: to });
    if ('node' in choice) return;
    throw new DroverError('conflict', `bot ${spec.id} cannot move to ${to}: ${choice.reason}`);
  }

  stuckOn(node: string): HeldBot[] {
    return unitsOf(this.#botsOn(node)).flatMap((unit) => {
      const to = this.#targetOf(unit.map(({ record }) => record));
      return 'reason' in to ? unit.map(({ id }) => ({ bot: id, reason: to.reason })) : [];
    });
  }

  /** Starts the moves that are due. */
  async advance(): Promise<void> {
    for (const member of this.#members.all()) {
      if (member.isLive && member.wanted === 'draining') await this.#drain(member);
      else this.#said.delete(member.node);
    }
    await this.#continueRebalance();
  }

  async #drain({ node }: Member): Promise<void> {
    const leaving = this.#leaving.get(node) ?? new Set();
    this.#leaving.set(node, leaving);
    if (this.#underWay(leaving)) return;
    const here = this.#botsOn(node);
    // Those that an earlier leader has told to leave.
    const told = here.filter(({ record: { state } }) => state === 'leaving' || state === 'free');
    if (told.length > 0) return;
    const units = unitsOf(here);
    const next: [string, string][] = [];
    let reason = '';
    for (const unit of units) {
      const isGroup = unit.length > 1;
      if (next.length > 0 && isGroup) continue;
      const to = this.#targetOf(unit.map(({ record }) => record));
      if ('reason' in to) {
        reason ||= `${unit[0]?.id}: ${to.reason}`;
        continue;
      }
      for (const { id, record } of unit) {
        next.push([id, to.node]);
        // Those that come after it in this turn count it.
        this.#view.expect(record.spec, to.node);
      }
      if (isGroup || next.length >= TOGETHER) break;
    }
    if (next.length > 0) return this.#leave(next, leaving);
    const line =
      here.length === 0
        ? `the node ${node} has given all its bots away`
        : `the node ${node} cannot give its bots away (${here.length} left), ${reason}`;
    if (this.#said.get(node) === line) return;
    this.#said.set(node, line);
    this.#say(here.length === 0 ? 'info' : 'warn', line);
  }

  #botsOn(node: string): (BotSpec & { record: BotRecord })[] {
    return [...this.#records.on(node)].flatMap((id) => {
      const record = this.#records.get(id);
      return record ? [{ ...record.spec, record }] : [];
    });
  }

  /** One node for all of a unit. */
  #targetOf(unit: readonly BotRecord[]): Choice {
    const [first] = unit;
    if (!first) return { reason: 'there is no bot' };
    const to = this.#choiceOf(first, wishOf(first));
    if ('reason' in to) return to;
    for (const record of unit) {
      const node = record.spec.node ?? to.node;
      const other = this.#choiceOf(record, { ...wishOf(record), node });
      if ('reason' in other) return other;
      if (other.node !== to.node) return { reason: `its group has no node in common` };
    }
    return to;
  }

  /** Another node for a bot. */
  #choiceOf({ failover, node, spec }: BotRecord, wish: WishOf): Choice {
    if (failover === 'bound') return { reason: `the secrets of ${spec.id} are on ${node} only` };
    if (spec.node === node) return { reason: `it names the node ${node}` };
    return this.#view.choose(wish, node);
  }

  async #continueRebalance(): Promise<void> {
    if (this.#underWay(this.#rebalancing)) return;
    for (;;) {
      const next = this.#rebalance.shift();
      if (!next) return;
      const { ids, from, to } = next;
      // What has changed since is left where it is.
      const isStill = ids.every((id) => {
        const record = this.#records.get(id);
        return record && isMovable(record) && record.node === from;
      });
      if (!isStill || !this.#members.get(to)?.isLive) continue;
      await this.#leave(
        ids.map((id) => [id, to]),
        this.#rebalancing,
      );
      return;
    }
  }

  async #leave(bots: readonly (readonly [string, string])[], moving: Set<string>): Promise<void> {
    moving.clear();
    await Promise.all(
      bots.map(async ([id, to]) => {
        const entry = this.#records.entry(id);
        if (entry?.record.state !== 'placed') return;
        moving.add(id);
        const leaving = { ...entry.record, state: 'leaving' as const, to, reason: null };
        if (!(await this.#records.replace(id, entry, leaving))) moving.delete(id);
      }),
    );
  }

  /** Whether some of them are not placed again. */
  #underWay(moving: Set<string>): boolean {
    for (const id of moving) {
      const record = this.#records.get(id);
      if (!record || record.state === 'placed') moving.delete(id);
    }
    return moving.size > 0;
  }
}

function isMovable({ state, failover, spec }: BotRecord): boolean {
  return state === 'placed' && failover !== 'bound' && spec.node === undefined;
}
