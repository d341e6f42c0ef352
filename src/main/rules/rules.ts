// Runs in main. Owns the rules and their states. The rules thread says when a condition holds, and main publishes the alert.
//
// In a cluster every node looks at the rules, on the same stream, so that each knows what is within a window. One of them speaks: it
// stores with the rule that it fires, and then says it.

import { randomBytes } from 'node:crypto';
import type { RuleRecord, RuleSharing, RuleStore } from '../../cluster/node-service.js';
import { alertLine } from '../../shared/contract/alert-line.js';
import type { MainItem } from '../../shared/contract/events.js';
import { MAX_RULES, type Severity } from '../../shared/contract/rule-bounds.js';
import type { RuleReport, WatchedRule } from '../../shared/contract/rule-messages.js';
import type {
  AlertEvent,
  CreateRuleBody,
  Rule,
  RuleSettings,
} from '../../shared/contract/rules.js';
import { RULES_SCOPE, SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import { logItem } from '../threads/service-events.js';
import { checkQuery, ruleOfBody } from './rule-of-body.js';

/** Changes that wait for the disk. Fronts have fewer calls open. */
const MAX_WAITING = 1000;
/** Least time between two lines about lost frames, in ms. */
const LOST_EVERY_MS = 60_000;

export interface RulesParts {
  store: RuleStore;
  /** Null in a single service. */
  sharing: RuleSharing | null;
  /** Publishes at once, without waiting. */
  tell(...items: MainItem[]): void;
  /** The thread looks at these from now on. */
  watch(rules: WatchedRule[]): void;
  /** Unix epoch ms. */
  now(): number;
}

interface Known {
  rule: RuleSettings;
  /** Of {@link RuleRecord}; 0 in a single service. */
  madeAt: number;
  changedAt: number;
  /** Why it is not evaluated, in one line; null when it can be. */
  fault: string | null;
  /** Increases with each change: reports of earlier ones are late. */
  revision: number;
  report: Pick<RuleReport, 'state' | 'bots'> & { value: number | null };
  /** The last one: it fires, or has stopped. */
  alert: AlertEvent | null;
  /** In a cluster: the time of the last alert that is on the stream. */
  heardAt: number | null;
  /** An alert is being stored. */
  isRaising: boolean;
}

export class Rules {
  readonly #parts: RulesParts;
  readonly #known = new Map<string, Known>();
  /** One change at a time: names are unique and there is a bound. */
  readonly #turn = new Semaphore({ permits: 1, maxQueued: MAX_WAITING });
  #revision = 0;
  #lost = 0;
  #lostSaidAt = Number.NEGATIVE_INFINITY;

  constructor(parts: RulesParts) {
    this.#parts = parts;
    // An earlier version may have accepted what this one refuses.
    for (const rule of parts.store.all()) {
      this.#known.set(rule.id, this.#fresh(rule, faultOf(rule)));
    }
  }

  /** The bots are there: rules are looked at from now on. */
  begin(): void {
    for (const { rule, fault } of this.#known.values()) {
      if (fault === null) continue;
      const name = JSON.stringify(rule.name);
      this.#say('warn', `rule ${name} is not evaluated: ${fault}; change or delete it`);
    }
    if (this.#known.size > 0) this.#watch();
  }

  /** @throws DroverError `forbidden` for a token that is limited to some bots. */
  list(rights: Rights): Rule[] {
    expectAll(rights);
    return [...this.#known.values()]
      .sort((one, other) => (isBefore(one, other) ? -1 : 1))
      .map((known) => this.#shown(known));
  }

  /** On disk when this resolves. @throws DroverError `bad_request`, `conflict`, `forbidden`, `not_stored`. */
  create(body: CreateRuleBody, rights: Rights): Promise<Rule> {
    expectAll(rights);
    return this.#turn.run(async () => {
      if (this.#known.size >= MAX_RULES) {
        throw new DroverError('conflict', `there are ${MAX_RULES} rules already; delete one first`);
      }
      const rule = ruleOfBody(randomBytes(8).toString('hex'), body);
      return this.#put(rule);
    });
  }

  /** Its state begins again. @throws DroverError `not_found` and as {@link create}. */
  replace(id: string, body: CreateRuleBody, rights: Rights): Promise<Rule> {
    expectAll(rights);
    return this.#turn.run(async () => {
      this.#get(id);
      return this.#put(ruleOfBody(id, body));
    });
  }

  /** @returns it as it was. @throws DroverError `not_found`, `forbidden`, `not_stored`. */
  remove(id: string, rights: Rights): Promise<RuleSettings> {
    expectAll(rights);
    return this.#turn.run(async () => {
      const known = this.#get(id);
      await this.#parts.store.remove(id);
      this.#known.delete(id);
      this.#end(known);
      this.#watch();
      return known.rule;
    });
  }

  /** What the thread has found. */
  changed(reports: readonly RuleReport[]): void {
    for (const { id, revision, state, value, bots } of reports) {
      const known = this.#known.get(id);
      if (known?.revision !== revision) continue;
      known.report = { state, value, bots };
      this.#decide(known);
    }
  }

  /**
   * What the cluster has of a rule; null when it was removed.
   * @param isNews it was not there when this node has loaded the rules: an alert may not have been said yet.
   */
  learn(id: string, record: RuleRecord | null, isNews: boolean): void {
    const before = this.#known.get(id);
    if (!record) this.#known.delete(id);
    else {
      const { rule, made_at_ms: madeAt, changed_at_ms: changedAt, alert } = record;
      const isSame = before?.changedAt === changedAt;
      const { heardAt = null } = before ?? {};
      const known = isSame
        ? { ...before }
        : { ...this.#fresh(rule, faultOf(rule)), changedAt, heardAt };
      this.#known.set(id, Object.assign(known, { madeAt, alert, isRaising: false }));
      if (!isNews) known.heardAt = alert?.timestamp_ms ?? null;
      else if (this.#parts.sharing?.speaks) this.#sayUnheard(known);
    }
    this.#watch();
  }

  /** The cluster has no record of it that can be read. @param fault why, in one line; null when there is none at all. */
  lack(id: string, fault: string | null): void {
    const known = this.#known.get(id);
    if (!known) return;
    this.#known.set(id, { ...known, fault: fault ?? faultOf(known.rule), changedAt: 0 });
    this.#watch();
  }

  /** An alert is on the stream. */
  alerted({ rule: { id }, timestamp_ms }: AlertEvent): void {
    const known = this.#known.get(id);
    if (known) known.heardAt = timestamp_ms;
  }

  /** This node speaks from now on: it says what the one before it had stored and not said, and what has changed since. */
  speak(): void {
    for (const known of this.#known.values()) this.#sayUnheard(known);
    this.decide();
  }

  /** Looks for what has changed since the last alerts. */
  decide(): void {
    for (const known of this.#known.values()) this.#decide(known);
  }

  /** The thread has got another stream, on which each rule begins again. */
  streamBegins(): void {
    for (const known of this.#known.values()) {
      this.#revision += 1;
      known.revision = this.#revision;
      known.report = { ...NOTHING_YET };
    }
    this.#missed();
    this.#watch();
  }

  /** The thread has not seen all that was on the stream: what had to be said counts as said. */
  #missed(): void {
    for (const known of this.#known.values()) known.heardAt = known.alert?.timestamp_ms ?? null;
  }

  /** The ring has overwritten so many frames before the thread could read them. */
  lost(frames: number): void {
    this.#missed();
    this.#lost += frames;
    const now = this.#parts.now();
    if (now - this.#lostSaidAt < LOST_EVERY_MS) return;
    this.#lostSaidAt = now;
    this.#say(
      'warn',
      `rules have not seen ${this.#lost} events: there are more than they keep up with`,
    );
    this.#lost = 0;
  }

  /** The thread was lost. Another one begins without a past. */
  threadLost(reason: string): void {
    this.#say('error', `the rules thread was lost and is replaced: ${reason}`);
    for (const known of this.#known.values()) {
      // In a cluster the next thread is told what fires.
      if (!this.#parts.sharing) this.#end(known);
      known.report = { ...NOTHING_YET };
    }
    this.#missed();
  }

  /** What the thread is to look at. */
  get watched(): WatchedRule[] {
    const { sharing, now } = this.#parts;
    return [...this.#known.values()].flatMap((known) => {
      const { rule, revision, alert } = known;
      if (!rule.enabled || this.#faultOf(known) !== null) return [];
      if (!sharing || alert?.state !== 'firing') return [{ rule, revision }];
      return [{ rule, revision, firingForMs: Math.max(0, now() - alert.since_ms) }];
    });
  }

  /** Rules that fire, by severity. */
  firing(): Record<Severity, number> {
    const counts = { info: 0, warn: 0, error: 0 };
    for (const known of this.#known.values()) {
      if (this.#shown(known).state === 'firing') counts[known.rule.severity] += 1;
    }
    return counts;
  }

  get size(): number {
    return this.#known.size;
  }

  async #put(rule: RuleSettings): Promise<Rule> {
    for (const other of this.#known.values()) {
      if (other.rule.name === rule.name && other.rule.id !== rule.id) {
        throw new DroverError('conflict', `there is a rule ${JSON.stringify(rule.name)} already`);
      }
    }
    const before = this.#known.get(rule.id);
    await this.#parts.store.put(rule);
    // In a cluster it was learned.
    if (!this.#parts.sharing) this.#known.set(rule.id, this.#fresh(rule));
    if (before) this.#end(before);
    this.#watch();
    return this.#shown(this.#get(rule.id));
  }

  #fresh(rule: RuleSettings, fault: string | null = null): Known {
    this.#revision += 1;
    return {
      rule,
      madeAt: 0,
      changedAt: 0,
      fault,
      revision: this.#revision,
      report: { ...NOTHING_YET },
      alert: null,
      heardAt: null,
      isRaising: false,
    };
  }

  #get(id: string): Known {
    const known = this.#known.get(id);
    if (!known) throw new DroverError('not_found', `there is no rule ${id}`);
    return known;
  }

  #watch(): void {
    this.#parts.watch(this.watched);
  }

  /** Whether it fires, or has stopped, since the last alert. */
  #decide(known: Known): void {
    const { rule, report, alert } = known;
    const { sharing } = this.#parts;
    const isFiring = alert?.state === 'firing';
    const isOther = report.state === (isFiring ? 'ok' : 'firing');
    if (report.value === null || !isOther || known.isRaising) return;
    const event = this.#eventOf(known, isFiring ? 'resolved' : 'firing');
    if (!sharing) {
      known.alert = event;
      this.#publish(event);
    } else if (sharing.speaks) {
      known.isRaising = true;
      void sharing.raise(rule.id, event).then(() => {
        known.isRaising = false;
      });
    }
  }

  /** Nobody has said its alert on the stream. */
  #sayUnheard(known: Known): void {
    const { alert } = known;
    if (alert && alert.timestamp_ms !== known.heardAt) this.#publish(alert);
  }

  /** Somebody has changed or removed it, or the thread was lost. */
  #end(known: Known): void {
    if (known.alert?.state !== 'firing') return;
    known.alert = this.#eventOf(known, 'resolved');
    this.#publish(known.alert);
  }

  #eventOf({ rule, report, alert }: Known, state: AlertEvent['state']): AlertEvent {
    const { enabled: _, ...then } = rule;
    const now = this.#parts.now();
    return {
      timestamp_ms: now,
      state,
      rule: then,
      since_ms: state === 'resolved' && alert ? alert.since_ms : now,
      value: report.value,
      bots: report.bots,
    };
  }

  #publish(event: AlertEvent): void {
    const level = event.state === 'firing' ? event.rule.severity : 'info';
    this.#parts.tell({ kind: 'alert', event }, logItem(level, RULES_SCOPE, alertLine(event)));
  }

  /** Why it is not evaluated, in one line; null when it is. */
  #faultOf(known: Known): string | null {
    if (known.fault !== null || !this.#parts.sharing) return known.fault;
    if (known.changedAt === 0) return 'the cluster does not have it';
    const isTaken = [...this.#known.values()].some(
      (other) => other.rule.name === known.rule.name && isBefore(other, known),
    );
    return isTaken ? 'another rule of the cluster has its name; change one of the names' : null;
  }

  #shown(known: Known): Rule {
    const { rule, report, alert } = known;
    const off = { ...rule, since_ms: null, value: null, bots: [] };
    const unknown = this.#parts.sharing?.fault ?? null;
    const fault = unknown === null ? this.#faultOf(known) : known.fault;
    if (fault !== null) return { ...off, state: 'refused', reason: fault };
    if (!rule.enabled) return { ...off, state: 'off', reason: null };
    if (unknown !== null) return { ...off, state: 'unknown', reason: unknown };
    const isFiring = alert?.state === 'firing';
    // Of one that fires here, and of which that is not stored yet.
    const state = isFiring ? 'firing' : report.state === 'firing' ? 'pending' : report.state;
    const { value, bots } = report;
    return {
      ...rule,
      state,
      reason: null,
      since_ms: isFiring ? alert.since_ms : null,
      value,
      bots,
    };
  }

  #say(level: 'warn' | 'error', line: string): void {
    this.#parts.tell(logItem(level, SERVICE_SCOPE, line));
  }
}

const NOTHING_YET: Known['report'] = { state: 'ok', value: null, bots: [] };

/** In a list. Of two with one name the older counts. */
function isBefore(one: Known, other: Known): boolean {
  const [a, b] = [one.rule, other.rule];
  if (a.name !== b.name) return a.name < b.name;
  return one.madeAt === other.madeAt ? a.id < b.id : one.madeAt < other.madeAt;
}

function faultOf(rule: RuleSettings): string | null {
  try {
    checkQuery(rule);
    return null;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** A rule looks at all bots, and its alerts go to everyone who sees them. */
function expectAll({ reach }: Rights): void {
  if (reach === null) return;
  throw new DroverError(
    'forbidden',
    'rules are about all bots, and this token is limited to some of them',
  );
}
