// Runs in main. The leader's part: it gives bots to nodes, and takes them from nodes that are lost or give them away. All that it has to
// know is in the records and the leases, so that another leader continues where this one has ended.
//
// The order in which a lost node's bots are given away matters: first the records are read, then it is asked whether the lease has
// ended, then they are written with the revisions that were read. A node that has a lease again writes the records of its bots before it
// starts them: either that write came before the reading, and so did the lease, or one of the two writes fails.

import type { BotsOfRemoved, HeldBot, Rebalanced } from '../../shared/contract/nodes.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { LostBot } from '../wire/bus-messages.js';
import type { BotRecords } from './bot-records.js';
import { Moves } from './moves.js';
import { removeNode } from './node-removal.js';
import type { BotRecord, Member, Members, PlacementInput } from './parts.js';
import { canRead, suits } from './placement.js';
import { PlacementView, wishOf } from './placement-view.js';
import type { Revised } from './record-table.js';
import type { RemovedNodes } from './removed-nodes.js';

/** Changes of records and nodes within this are handled together, in ms. */
const TOGETHER_MS = 20;
/** How often it looks without a change, in ms: at leases that may not be ended yet, and at what NATS has refused. */
const TICK_MS = 500;
/** Bots whose names a line has. */
const NAMED = 5;

export interface DutiesParts {
  members: Members;
  records: BotRecords;
  removed: RemovedNodes;
  /** Keeps what a lost node still publishes from the stream, and shows its bots as lost. Resolves when that is on the stream. */
  fence(node: string, bots: LostBot[]): Promise<void>;
  /** The lease of a node has run out: an incident. Called again for the same. */
  lost(node: Member): void;
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class LeaderDuties {
  readonly #parts: DutiesParts;
  readonly #view: PlacementView;
  readonly #moves: Moves;
  /** Lost nodes whose place in the stream was ended. */
  readonly #fenced = new Set<string>();
  /** Nodes whose lease has run out and whose place was not ended yet, also those without bots. */
  readonly #ranOut = new Set<string>();
  /** Bots that are not where they are to be, as far as is known. Bounded by the records. */
  readonly #unsettled = new Set<string>();
  readonly #unlisten: (() => void)[];
  #timer: NodeJS.Timeout | undefined;
  #tick: NodeJS.Timeout | undefined;
  #isWorking = false;
  #isAskedAgain = false;
  #isElected = false;
  #fault = '';
  /** What decides where bots may be, of all nodes. */
  #standing = '';

  constructor(parts: DutiesParts) {
    this.#parts = parts;
    const { members, records, say } = parts;
    this.#view = new PlacementView(members, records);
    this.#moves = new Moves(this.#view, members, records, say);
    this.#unlisten = [
      records.onChange((id) => this.#changed(id)),
      records.onLoaded(() => this.#lookAtAll()),
      members.onChange(() => this.#nodesChanged()),
    ];
  }

  elected(): void {
    this.#isElected = true;
    this.#tick = setInterval(() => this.#soon(), TICK_MS);
    this.#lookAtAll();
  }

  deposed(): void {
    this.#isElected = false;
    clearInterval(this.#tick);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#fenced.clear();
    this.#ranOut.clear();
    this.#moves.forget();
  }

  close(): void {
    this.deposed();
    for (const unlisten of this.#unlisten) unlisten();
  }

  /** The node that a new bot is created on. @throws DroverError `conflict`, or `unavailable` when there is none. */
  place({ except = [], ...wish }: PlacementInput): { node: string } {
    const { records } = this.#parts;
    this.#expectLeader();
    for (const node of except) this.#view.avoid(node);
    if (records.get(wish.id)) throw new DroverError('conflict', `bot ${wish.id} exists already`);
    const choice = this.#view.choose(wish);
    if ('reason' in choice) throw new DroverError('unavailable', choice.reason);
    this.#view.expect(wish, choice.node);
    return choice;
  }

  /** Begins to move bots from fuller nodes to emptier ones. */
  rebalance(): { moves: number } {
    this.#expectLeader();
    const moves = this.#moves.rebalance();
    this.#soon();
    return { moves };
  }

  /** As {@link Moves.move}. */
  async move({ id, node }: { id: string; node: string }): Promise<Rebalanced> {
    this.#expectLeader();
    return { moving: await this.#moves.move(id, node) };
  }

  /** As {@link removeNode}. */
  async removeNode({ node, bots }: { node: string; bots: BotsOfRemoved | null }): Promise<null> {
    this.#expectLeader();
    await removeNode({ ...this.#parts, view: this.#view }, node, bots);
    return null;
  }

  /** Has the bots of lost nodes shown again, when this node leads: another has joined that does not know them. */
  showLost(): void {
    this.#fenced.clear();
    if (this.#isElected) this.#soon();
  }

  /** The bots of a node that no other node takes now. Every node knows it. */
  stuckOn(node: string): HeldBot[] {
    return this.#moves.stuckOn(node);
  }

  #expectLeader(): void {
    const { members, records } = this.#parts;
    if (!this.#isElected) {
      throw new DroverError('unavailable', `the node ${members.self} does not lead the cluster`, 1);
    }
    if (records.fault !== null) throw new DroverError('unavailable', records.fault, 1);
  }

  #changed(id: string): void {
    this.#note(id);
    if (this.#isElected) this.#soon();
  }

  #note(id: string): void {
    const record = this.#parts.records.get(id);
    const on = record && this.#parts.members.get(record.node);
    const isSettled = !record || (record.state === 'placed' && on && suits(record.spec, on));
    if (isSettled) this.#unsettled.delete(id);
    else this.#unsettled.add(id);
  }

  /** Most changes are renewals, which say nothing about where bots may be. */
  #nodesChanged(): void {
    if (!this.#isElected) return;
    const nodes = this.#parts.members
      .all()
      .map((one) => [one.node, one.isLive, one.wanted, one.labels, one.kinds, one.has_key]);
    const standing = JSON.stringify(nodes);
    if (standing === this.#standing) return;
    this.#standing = standing;
    this.#lookAtAll();
  }

  #lookAtAll(): void {
    if (!this.#isElected) return;
    for (const id of this.#parts.records.ids()) this.#note(id);
    this.#soon();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#work();
    }, TOGETHER_MS);
  }

  async #work(): Promise<void> {
    if (this.#isWorking) {
      this.#isAskedAgain = true;
      return;
    }
    this.#isWorking = true;
    try {
      await this.#pass();
      this.#fault = '';
    } catch (thrown) {
      // It looks again with the next tick.
      const reason = messageOf(thrown);
      const { say } = this.#parts;
      if (reason !== this.#fault) say('warn', `bots cannot be placed now: ${reason}`);
      this.#fault = reason;
    }
    this.#isWorking = false;
    if (this.#isAskedAgain && this.#isElected) this.#soon();
    this.#isAskedAgain = false;
  }

  async #pass(): Promise<void> {
    const { members, records } = this.#parts;
    if (!this.#isElected || records.fault !== null) return;
    for (const member of members.ranOut()) {
      this.#parts.lost(member);
      this.#ranOut.add(member.node);
    }
    const lost = [...new Set([...records.nodes(), ...this.#ranOut])].filter(
      (node) => !members.get(node)?.isLive,
    );
    for (const node of this.#ranOut) if (!lost.includes(node)) this.#ranOut.delete(node);
    for (const node of this.#fenced) if (!lost.includes(node)) this.#fenced.delete(node);
    await Promise.all(lost.map((node) => this.#failOver(node)));
    await this.#settle();
    await this.#moves.advance();
  }

  async #failOver(node: string): Promise<void> {
    const { members, records, fence, say } = this.#parts;
    const read = [...records.on(node)].flatMap((id) => records.entry(id) ?? []);
    const toMove = read.filter(({ record }) => record.failover === 'restart');
    const isFirst = !this.#fenced.has(node);
    if (!isFirst && toMove.length === 0) return;
    if (!(await members.end(node))) return;
    if (isFirst) {
      await fence(
        node,
        read.map(({ record }) => shownOf(record)),
      );
      this.#fenced.add(node);
      this.#ranOut.delete(node);
      const stays = read.length - toMove.length;
      say(
        'warn',
        `the node ${node} is lost: bots that start elsewhere: ${toMove.length}, bots that wait for it: ${stays}`,
      );
    }
    if (this.#isElected) await this.#give(toMove, node);
  }

  /** Bots that nobody runs, and bots that are on a node where they are not to be. */
  async #settle(): Promise<void> {
    const { members, records } = this.#parts;
    const free: Revised[] = [];
    const misplaced: [Revised, Member][] = [];
    for (const id of this.#unsettled) {
      const entry = records.entry(id);
      if (!entry) continue;
      const { record } = entry;
      const on = members.get(record.node);
      // A node that cannot read its secrets does not take it.
      const isRefused =
        record.state === 'placing' && on?.isLive && !canRead(on, record.sealed !== null);
      if (record.state === 'free' || isRefused) free.push(entry);
      else if (record.state === 'placed' && on?.isLive && !suits(record.spec, on)) {
        misplaced.push([entry, on]);
      }
    }
    await this.#give(free, null);
    const unplaced: Unplaced = new Map();
    await Promise.all(
      misplaced.map(async ([entry, { node }]) => {
        const { record } = entry;
        const choice =
          record.failover === 'bound'
            ? { reason: `it cannot leave ${node}: its secrets are there only` }
            : this.#view.choose(wishOf(record), node);
        if ('reason' in choice) return this.#wait(entry, choice.reason, unplaced);
        const changed = { ...record, state: 'leaving' as const, to: choice.node, reason: null };
        await records.replace(record.spec.id, entry, changed);
      }),
    );
    this.#sayUnplaced(unplaced);
  }

  /** @param lost the node that had them, when it is lost. */
  async #give(entries: readonly Revised[], lost: string | null): Promise<void> {
    const unplaced: Unplaced = new Map();
    const { records } = this.#parts;
    const writes = entries.map((entry) => {
      const { record } = entry;
      const choice = this.#choiceFor(record, lost);
      if ('reason' in choice) return this.#wait(entry, choice.reason, unplaced);
      // Those that come after it in this turn count it.
      this.#view.expect(record.spec, choice.node);
      const { node } = choice;
      const given = { state: 'placing' as const, to: null, reason: null };
      return records.replace(record.spec.id, entry, {
        ...record,
        ...given,
        node,
        term: record.term + 1,
      });
    });
    await Promise.all(writes);
    this.#sayUnplaced(unplaced);
  }

  #choiceFor(record: BotRecord, lost: string | null): { node: string } | { reason: string } {
    const { spec, node, to } = record;
    const wish = wishOf(record);
    if (to) {
      const wanted = this.#view.choose({ ...wish, node: to });
      if ('node' in wanted) return wanted;
    }
    const choice = this.#view.choose(wish, lost);
    if ('node' in choice || lost !== null) return choice;
    // It has left its node for one that is gone by now: better there than nowhere.
    const on = this.#parts.members.get(node);
    const isAble = on?.isLive && suits(spec, on) && canRead(on, record.sealed !== null);
    return isAble ? { node } : choice;
  }

  async #wait(entry: Revised, reason: string, unplaced: Unplaced): Promise<void> {
    const { record } = entry;
    if (record.reason === reason) return;
    const { id } = record.spec;
    await this.#parts.records.replace(id, entry, { ...record, reason });
    unplaced.set(reason, [...(unplaced.get(reason) ?? []), id]);
  }

  #sayUnplaced(unplaced: Unplaced): void {
    for (const [reason, ids] of unplaced) {
      const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : '';
      this.#parts.say('warn', `no place for ${ids.slice(0, NAMED).join(', ')}${more}: ${reason}`);
    }
  }
}

function shownOf({ spec, node, term, failover }: BotRecord): LostBot {
  const { id, kind, desired, labels } = spec;
  return { id, kind, desired, labels, node, term, failover };
}

/** Ids of bots, by why there is no node for them. */
type Unplaced = Map<string, string[]>;
