// Runs in main. Owns the rules and their states. The rules thread says when a condition holds, and main publishes the alert.

import { randomBytes } from 'node:crypto';
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
import { CONTROL_SCOPE, RULES_SCOPE, SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import { logItem } from '../service-events.js';
import type { RuleStore } from '../store/rule-store.js';
import { checkQuery, ruleOfBody } from './rule-of-body.js';

/** Changes that wait for the disk. Fronts have fewer calls open. */
const MAX_WAITING = 1000;
/** Least time between two lines about lost frames, in ms. */
const LOST_EVERY_MS = 60_000;

export interface RulesParts {
  store: Pick<RuleStore, 'all' | 'put' | 'remove'>;
  /** Publishes at once, without waiting. */
  tell(...items: MainItem[]): void;
  /** The thread looks at these from now on. */
  watch(rules: WatchedRule[]): void;
  /** Unix epoch ms. */
  now(): number;
}

interface Known {
  rule: RuleSettings;
  /** Why it is not looked at, in one line; null when it can be. */
  fault: string | null;
  /** Increases with each change: reports of earlier ones are late. */
  revision: number;
  report: Pick<RuleReport, 'state' | 'bots'> & { value: number | null };
  firingSince: number | null;
}

/** Who asks: the rights of the token, and its name. */
export interface RuleCaller {
  rights: Rights;
  by: string;
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
      this.#say('warn', `rule ${name} is not looked at: ${fault}; change or delete it`);
    }
    if (this.#known.size > 0) this.#watch();
  }

  /** @throws DroverError `forbidden` for a token that is limited to some bots. */
  list({ rights }: Pick<RuleCaller, 'rights'>): Rule[] {
    expectAll(rights);
    return [...this.#known.values()]
      .map(shown)
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** On disk when this resolves. @throws DroverError `bad_request`, `conflict`, `forbidden`, `not_stored`. */
  create(body: CreateRuleBody, caller: RuleCaller): Promise<Rule> {
    expectAll(caller.rights);
    return this.#turn.run(async () => {
      if (this.#known.size >= MAX_RULES) {
        throw new DroverError('conflict', `there are ${MAX_RULES} rules already; delete one first`);
      }
      const rule = ruleOfBody(randomBytes(8).toString('hex'), body);
      return this.#put(rule, caller, 'created');
    });
  }

  /** Its state begins again. @throws DroverError `not_found` and as {@link create}. */
  replace(id: string, body: CreateRuleBody, caller: RuleCaller): Promise<Rule> {
    expectAll(caller.rights);
    return this.#turn.run(async () => {
      this.#get(id);
      return this.#put(ruleOfBody(id, body), caller, 'changed');
    });
  }

  /** @throws DroverError `not_found`, `forbidden`, `not_stored`. */
  remove(id: string, caller: RuleCaller): Promise<void> {
    expectAll(caller.rights);
    return this.#turn.run(async () => {
      const known = this.#get(id);
      await this.#parts.store.remove(id);
      this.#known.delete(id);
      this.#end(known);
      this.#said('deleted', known.rule, caller);
      this.#watch();
    });
  }

  /** What the thread has found. */
  changed(reports: readonly RuleReport[]): void {
    for (const { id, revision, state, value, bots } of reports) {
      const known = this.#known.get(id);
      if (known?.revision !== revision) continue;
      known.report = { state, value, bots };
      if (state === 'firing' && known.firingSince === null) {
        known.firingSince = this.#parts.now();
        this.#alert(known, 'firing');
      } else if (state !== 'firing') this.#end(known);
    }
  }

  /** The ring has overwritten so many frames before the thread could read them. */
  lost(frames: number): void {
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
      this.#end(known);
      known.report = { ...NOTHING_YET };
    }
  }

  /** What the thread is to look at. */
  get watched(): WatchedRule[] {
    return [...this.#known.values()].flatMap(({ rule, revision, fault }) =>
      rule.enabled && fault === null ? [{ rule, revision }] : [],
    );
  }

  /** Rules that fire, by severity. */
  firing(): Record<Severity, number> {
    const counts = { info: 0, warn: 0, error: 0 };
    for (const { rule, firingSince } of this.#known.values()) {
      if (firingSince !== null) counts[rule.severity] += 1;
    }
    return counts;
  }

  get size(): number {
    return this.#known.size;
  }

  async #put(rule: RuleSettings, caller: RuleCaller, done: string): Promise<Rule> {
    for (const other of this.#known.values()) {
      if (other.rule.name === rule.name && other.rule.id !== rule.id) {
        throw new DroverError('conflict', `there is a rule ${JSON.stringify(rule.name)} already`);
      }
    }
    await this.#parts.store.put(rule);
    const before = this.#known.get(rule.id);
    if (before) this.#end(before);
    const known = this.#fresh(rule);
    this.#known.set(rule.id, known);
    this.#said(done, rule, caller);
    this.#watch();
    return shown(known);
  }

  #fresh(rule: RuleSettings, fault: string | null = null): Known {
    this.#revision += 1;
    return { rule, fault, revision: this.#revision, report: { ...NOTHING_YET }, firingSince: null };
  }

  #get(id: string): Known {
    const known = this.#known.get(id);
    if (!known) throw new DroverError('not_found', `there is no rule ${id}`);
    return known;
  }

  #watch(): void {
    this.#parts.watch(this.watched);
  }

  #end(known: Known): void {
    if (known.firingSince === null) return;
    this.#alert(known, 'resolved');
    known.firingSince = null;
  }

  #alert({ rule, report, firingSince }: Known, state: AlertEvent['state']): void {
    const { enabled: _, ...then } = rule;
    const now = this.#parts.now();
    const event: AlertEvent = {
      timestamp_ms: now,
      state,
      rule: then,
      since_ms: firingSince ?? now,
      value: report.value,
      bots: report.bots,
    };
    const level = state === 'firing' ? rule.severity : 'info';
    this.#parts.tell({ kind: 'alert', event }, logItem(level, RULES_SCOPE, alertLine(event)));
  }

  #said(done: string, { name }: RuleSettings, { by }: RuleCaller): void {
    const line = `rule ${JSON.stringify(name)} was ${done} by ${JSON.stringify(by)}`;
    this.#parts.tell(logItem('info', CONTROL_SCOPE, line));
  }

  #say(level: 'warn' | 'error', line: string): void {
    this.#parts.tell(logItem(level, SERVICE_SCOPE, line));
  }
}

const NOTHING_YET: Known['report'] = { state: 'ok', value: null, bots: [] };

function shown({ rule, fault, report, firingSince }: Known): Rule {
  const state = fault !== null ? 'refused' : rule.enabled ? report.state : 'off';
  const { value, bots } = report;
  return { ...rule, state, reason: fault, since_ms: firingSince, value, bots };
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
