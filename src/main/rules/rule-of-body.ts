import type { CreateRuleBody, RuleSettings } from '../../shared/contract/rules.js';
import { DroverError } from '../../shared/errors.js';
import { readQuery } from '../../shared/query/read-query.js';

/** The rule that a body asks for. @throws DroverError `bad_request` with one line that says what is wrong. */
export function ruleOfBody(id: string, body: CreateRuleBody): RuleSettings {
  const { name, query, condition, threshold, window_ms: window } = body;
  const isOfBots = condition === 'bots';
  checkQuery(body);
  if (isOfBots && window !== undefined) {
    throw wrong(
      'window_ms: the condition bots has no window; use for_ms for how long it must hold',
    );
  }
  if (!isOfBots && window === undefined) {
    throw wrong(`window_ms: the condition ${condition} needs a window, for example 60000`);
  }
  if (condition === 'absence' && threshold !== undefined) {
    throw wrong('threshold: the condition absence has none; it fires when no line has matched');
  }
  if (threshold !== undefined && condition !== 'rate' && !Number.isInteger(threshold)) {
    throw wrong(`threshold: the condition ${condition} counts, so it must be a whole number`);
  }
  return {
    id,
    name,
    query,
    condition,
    threshold: condition === 'absence' ? null : (threshold ?? 1),
    window_ms: window ?? null,
    for_ms: body.for_ms ?? 0,
    severity: body.severity ?? 'warn',
    enabled: body.enabled ?? true,
  };
}

/** @throws DroverError `bad_request`. */
export function checkQuery({
  query,
  condition,
}: Pick<CreateRuleBody, 'query' | 'condition'>): void {
  const terms = readQuery(query, condition === 'bots' ? 'bots' : 'lines');
  if (terms.some((term) => term.type === 'field' && term.field === 'event')) {
    throw wrong('query: a rule counts lines only; leave event: out');
  }
}

function wrong(message: string): DroverError {
  return new DroverError('bad_request', message);
}
