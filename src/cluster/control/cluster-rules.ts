// Runs in main. Owns this node's part in the rules of the cluster: their records, and the copy of them on the disk of this node. The copy
// is what the node shows before NATS answers, what it has when it is a single service again, and what comes back when NATS has lost its
// data.

import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { explainSchemaError } from '../../shared/contract/explain.js';
import { MAX_RULES } from '../../shared/contract/rule-bounds.js';
import type { AlertEvent, RuleSettings } from '../../shared/contract/rules.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { validatorOf } from '../../shared/validators.js';
import type { LocalRules, NodeRules, RuleRecord, RuleSharing, RuleStore } from '../node-service.js';
import { parseJson } from '../wire/bus-validators.js';
import { PROTOCOL, READABLE } from '../wire/names.js';
import { type Records, refusedChange } from './bot-records.js';
import { LaterValueError } from './bucket.js';

/** Wait before what has failed is tried again, in ms: an alert that NATS did not accept, or the reading before this node speaks. */
const RETRY_MS = 1000;
const UNREADABLE = 'its record in the cluster cannot be read: `drover nodes` has the reason';

export interface ClusterRulesParts {
  local: LocalRules;
  rules: () => NodeRules;
  /** Resolves when the rules thread has told what is due to what the stream has had until now. Rejects when it is not read. */
  caughtUp: () => Promise<void>;
  /** Why the node that leads gets no events, in one line; null when it does, as far as is known. */
  silent: () => string | null;
  /** Why the node has not joined the cluster yet, in one line. */
  notJoined: () => string;
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class ClusterRules implements RuleSharing, RuleStore {
  readonly #parts: ClusterRulesParts;
  #records: Records<RuleRecord> | undefined;
  #isLeader = false;
  #stalled: string | null = 'the stream of the cluster is not there yet';
  #speaks = false;
  /** Grows with each change of what decides whether this node speaks. */
  #turn = 0;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: ClusterRulesParts) {
    this.#parts = parts;
  }

  /** NATS is there. */
  attach(records: Records<RuleRecord>): void {
    this.#records = records;
    records.onChange((id) => this.#changed(id));
    records.onLoaded(() => void this.#loaded());
  }

  get fault(): string | null {
    const { notJoined, silent } = this.#parts;
    return this.#records ? (this.#records.fault ?? this.#stalled ?? silent()) : notJoined();
  }

  /** Why the stream of the cluster is not current here, in one line; null when it is. */
  get stalled(): string | null {
    return this.#stalled;
  }

  get speaks(): boolean {
    return this.#speaks && this.fault === null;
  }

  /** The leader speaks: there is one, and it has the events of all nodes. */
  elected(isLeader: boolean): void {
    this.#isLeader = isLeader;
    void this.#consider();
  }

  streamChanged(stalled: string | null): void {
    if (stalled === this.#stalled) return;
    this.#stalled = stalled;
    void this.#consider();
  }

  /** Those of this node's disk: the records follow. */
  all(): RuleSettings[] {
    return this.#parts.local.all();
  }

  /** All nodes have it soon after this resolves. @throws DroverError `not_found`, `unavailable`. */
  async put(rule: RuleSettings): Promise<void> {
    const records = this.#expected;
    await records.expectCurrent();
    const now = Date.now();
    if (!records.get(rule.id)) {
      await records.create(rule.id, fresh(rule, now));
      return;
    }
    const changed = await records.change(rule.id, (record) => ({
      ...record,
      rule,
      changed_at_ms: Math.max(now, record.changed_at_ms + 1),
      alert: null,
    }));
    if (!changed) throw new DroverError('not_found', `there is no rule ${rule.id}`);
  }

  /** @throws DroverError `unavailable`. */
  async remove(id: string): Promise<void> {
    const records = this.#expected;
    if (records.isUnreadable(id)) await records.removeUnreadable(id);
    else await records.remove(id, () => true);
    await this.#parts.local.remove(id);
  }

  async raise(id: string, alert: AlertEvent): Promise<void> {
    const entry = this.#records?.entry(id);
    if (!entry) return;
    try {
      // When another was faster, what it has written is learned.
      await this.#records?.replace(id, entry, { ...entry.record, alert });
    } catch (thrown) {
      const { say } = this.#parts;
      const { name } = entry.record.rule;
      say('warn', `an alert of the rule ${JSON.stringify(name)} waits: ${messageOf(thrown)}`);
      this.#retryLater();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#records?.close();
  }

  get #expected(): Records<RuleRecord> {
    if (this.#records) return this.#records;
    throw refusedChange(this.#parts.notJoined());
  }

  /** Begins to speak when this node is to, and knows what was said before. */
  async #consider(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.#speaks = false;
    const may = (): boolean => this.#isLeader && this.fault === null && !this.#isClosed;
    if (!may()) return;
    const isCurrent = await this.#parts.caughtUp().then(
      () => true,
      () => false,
    );
    if (turn !== this.#turn || !may()) return;
    if (!isCurrent) return this.#retryLater();
    this.#speaks = true;
    this.#parts.rules().speak();
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      if (this.speaks) this.#parts.rules().decide();
      else void this.#consider();
    }, RETRY_MS);
  }

  #changed(id: string): void {
    const records = this.#records as Records<RuleRecord>;
    const record = records.get(id) ?? null;
    const isDeleted = records.isDeleted(id);
    if (record || isDeleted) {
      this.#parts.rules().learn(id, record, records.wasLoaded);
      void this.#keep(id, record);
    } else this.#parts.rules().lack(id, records.isUnreadable(id) ? UNREADABLE : null);
    const ownAt = this.#parts.local.get(id)?.changedAt ?? 0;
    const isBehind = record ? ownAt > record.changed_at_ms : !isDeleted;
    // While they are not current, all of them are introduced soon.
    if (isBehind && records.fault === null) void this.#introduce(id);
  }

  /** The copy on the disk follows. Never rejects: the store says that it is not written. */
  async #keep(id: string, record: RuleRecord | null): Promise<void> {
    const { local } = this.#parts;
    const changedAt = local.get(id)?.changedAt;
    // One that no cluster has had may be another rule.
    if (changedAt === null) return;
    try {
      if (!record) await local.remove(id);
      else if (changedAt === undefined || changedAt < record.changed_at_ms) {
        await local.put(record.rule, record.changed_at_ms);
      }
    } catch {}
  }

  /** The records are current: the cluster gets what this node has and it does not. */
  async #loaded(): Promise<void> {
    for (const { id } of this.#parts.local.all()) await this.#introduce(id);
    void this.#consider();
  }

  /** Never rejects. */
  async #introduce(id: string): Promise<void> {
    const { local, say } = this.#parts;
    const own = local.get(id);
    if (!own) return;
    try {
      await this.#give(own.rule, own.changedAt);
    } catch (thrown) {
      // Another node was faster.
      if (thrown instanceof DroverError && thrown.code === 'conflict') return;
      const name = JSON.stringify(own.rule.name);
      const why = messageOf(thrown);
      say('error', `the rule ${name} of this node is not in the cluster: ${why}`);
    }
  }

  async #give(rule: RuleSettings, changedAt: number | null): Promise<void> {
    const records = this.#records as Records<RuleRecord>;
    const { local, rules } = this.#parts;
    const { id } = rule;
    if (records.isUnreadable(id)) return;
    const entry = records.entry(id);
    const record = entry?.record;
    if (changedAt !== null && entry) {
      // NATS has lost its data, and a node that has missed the last change was the first to write its copy.
      const isNewer = changedAt > entry.record.changed_at_ms;
      const own = { ...entry.record, rule, changed_at_ms: changedAt, alert: null };
      if (isNewer) await records.replace(id, entry, own);
      return;
    }
    if (changedAt !== null && records.isDeleted(id)) {
      // Removed while this node was away.
      await local.remove(id);
      rules().learn(id, null, true);
      return;
    }
    if (record && isDeepStrictEqual(record.rule, rule)) {
      await local.put(rule, record.changed_at_ms);
      return;
    }
    if (records.size >= MAX_RULES) throw new Error(`it has ${MAX_RULES} rules already`);
    // Two services with a copy of one directory have had one id for two rules.
    const given = record ? { ...rule, id: randomBytes(8).toString('hex') } : rule;
    const now = Date.now();
    await records.create(given.id, { ...fresh(given, now), changed_at_ms: changedAt ?? now });
    if (record) await local.remove(id);
    await local.put(record?.rule ?? rule, record?.changed_at_ms ?? changedAt ?? now);
  }
}

function fresh(rule: RuleSettings, now: number): RuleRecord {
  return { v: PROTOCOL, rule, made_at_ms: now, changed_at_ms: now, alert: null };
}

/** A rule has to be what a request could have made. @throws Error that says why it cannot be read. */
export function readRuleRecord(id: string, text: string): RuleRecord {
  const record = (parseJson(text) ?? {}) as RuleRecord;
  if (!Number.isInteger(record.v)) throw new Error('it has no version');
  if (record.v > READABLE) throw new LaterValueError(record.v);
  const { id: stored, threshold, window_ms, ...body } = record.rule ?? {};
  const asked = {
    ...body,
    ...(threshold !== null && { threshold }),
    ...(window_ms !== null && { window_ms }),
  };
  const validate = validatorOf('CreateRuleBody');
  if (!validate(asked)) throw new Error(explainSchemaError('rule', validate.errors));
  if (stored !== id) throw new Error('it is not of this rule');
  if (!Number.isInteger(record.made_at_ms) || !Number.isInteger(record.changed_at_ms)) {
    throw new Error('it has no times');
  }
  const { alert } = record;
  const isAlert =
    alert === null || (['firing', 'resolved'].includes(alert?.state) && alert.rule?.id === id);
  if (!isAlert) throw new Error('its alert is none');
  return record;
}
