import type { Condition, CreateRuleBody, Rule, Severity } from '../../../src/client/index.js';

/** The fields of the form, as typed. */
export interface RuleFields {
  name: string;
  query: string;
  condition: Condition;
  threshold: string;
  /** In s. */
  window: string;
  /** In s. */
  held: string;
  severity: Severity;
  enabled: boolean;
}

export function fieldsOf(rule: Rule): RuleFields {
  return {
    name: rule.name,
    query: rule.query,
    condition: rule.condition,
    threshold: String(rule.threshold ?? 1),
    window: String((rule.window_ms ?? 60_000) / 1000),
    held: String(rule.for_ms / 1000),
    severity: rule.severity,
    enabled: rule.enabled,
  };
}

/** A new rule on a query. @param use what the query is for. */
export function newFields(query: string, use: 'bots' | 'lines'): RuleFields {
  return {
    name: '',
    query,
    condition: use === 'bots' ? 'bots' : 'count',
    threshold: use === 'bots' ? '1' : '10',
    window: '60',
    held: '0',
    severity: 'warn',
    enabled: true,
  };
}

/** The body of a request: only what the condition has. The service says what is wrong with the rest. */
export function bodyOf(fields: RuleFields): CreateRuleBody {
  const { name, query, condition, severity, enabled } = fields;
  return {
    name: name.trim(),
    query,
    condition,
    ...(condition === 'absence' ? {} : { threshold: Number(fields.threshold) }),
    ...(condition === 'bots' ? {} : { window_ms: Math.round(Number(fields.window) * 1000) }),
    for_ms: Math.round(Number(fields.held) * 1000),
    severity,
    enabled,
  };
}

/** The same rule as a body, with something changed. */
export function changedRule(rule: Rule, change: Partial<RuleFields>): CreateRuleBody {
  return bodyOf({ ...fieldsOf(rule), ...change });
}
