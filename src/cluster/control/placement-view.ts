// Runs in main. Owns the leader's view of how full the nodes are: the records, and what it has decided that they do not show yet.

import type { BotRecords } from './bot-records.js';
import type { BotRecord, Member, Members, PlacementInput } from './parts.js';
import { type Candidate, type Choice, choose } from './placement.js';

/** How long a node has to make the record of a bot that it was given, in ms; then its place is free again. */
const EXPECTED_MS = 15_000;
/** Decisions that records do not show yet. When there are more, the oldest is forgotten: nodes are then filled less evenly. */
const MAX_EXPECTED = 20_000;

export type WishOf = Omit<PlacementInput, 'id'>;

/** What a bot that has a record asks of another node. */
export function wishOf({ spec, sealed }: BotRecord): PlacementInput {
  return { ...spec, needs_key: sealed !== null };
}

interface Expected {
  node: string;
  group: string | undefined;
  until: number;
}

export class PlacementView {
  readonly #members: Members;
  readonly #records: BotRecords;
  /** By bot, oldest first. */
  readonly #expected = new Map<string, Expected>();
  /** How many of them each node has. */
  readonly #counts = new Map<string, number>();
  /** Nodes that did not answer, with when they had renewed their leases then. Bounded by the nodes. */
  readonly #silent = new Map<string, number>();

  constructor(members: Members, records: BotRecords) {
    this.#members = members;
    this.#records = records;
    records.onChange((id) => this.#forget(id));
  }

  /** @param except a node that does not take the bot: it has it, or is lost. */
  choose(wish: WishOf, except: string | null = null): Choice {
    const candidates = this.candidates().filter(({ node }) => node !== except);
    const { host_group: group } = wish;
    return choose(wish, candidates, group === undefined ? null : this.#nodeOf(group, except));
  }

  /** The node did not answer: it takes no bots until it has renewed its lease, however empty it is. */
  avoid(node: string): void {
    const member = this.#members.get(node);
    if (member) this.#silent.set(node, member.renewed_at_ms);
  }

  candidates(): Candidate[] {
    this.#expire();
    return this.#members.all().map((member) => ({
      ...member,
      isLive: member.isLive && !this.#isSilent(member),
      bots: this.#records.on(member.node).size + (this.#counts.get(member.node) ?? 0),
    }));
  }

  #isSilent({ node, renewed_at_ms }: Member): boolean {
    return this.#silent.has(node) && this.#silent.get(node) === renewed_at_ms;
  }

  /** The bot is about to be on that node. */
  expect({ id, host_group: group }: WishOf & { id: string }, node: string): void {
    this.#forget(id);
    const [oldest] = this.#expected.keys();
    if (this.#expected.size >= MAX_EXPECTED && oldest !== undefined) this.#forget(oldest);
    this.#expected.set(id, { node, group, until: performance.now() + EXPECTED_MS });
    this.#counts.set(node, (this.#counts.get(node) ?? 0) + 1);
  }

  /** The node that a group's bots are on or go to; null when that is none that keeps them. */
  #nodeOf(group: string, except: string | null): string | null {
    const keeps = (node: string): boolean => {
      const member = this.#members.get(node);
      return node !== except && member?.isLive === true && member.wanted !== 'draining';
    };
    for (const expected of this.#expected.values()) {
      if (expected.group === group && keeps(expected.node)) return expected.node;
    }
    for (const id of this.#records.inGroup(group)) {
      const record = this.#records.get(id);
      if (!record || !keeps(record.node)) continue;
      if (record.state === 'placed' || record.state === 'placing') return record.node;
    }
    return null;
  }

  #expire(): void {
    const now = performance.now();
    for (const [id, { until }] of this.#expected) {
      if (until > now) return;
      this.#forget(id);
    }
  }

  #forget(id: string): void {
    const expected = this.#expected.get(id);
    if (!expected) return;
    this.#expected.delete(id);
    this.#counts.set(expected.node, (this.#counts.get(expected.node) ?? 1) - 1);
  }
}
