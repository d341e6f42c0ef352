// Schemas of rules, and of the events that they make.

import { nullable, oneOf, time } from './json-schema.js';
import { MAX_QUERY } from './query-bounds.js';
import {
  CONDITIONS,
  MAX_FOR_MS,
  MAX_RULE_BOTS,
  MAX_RULE_NAME,
  MAX_THRESHOLD,
  RULE_STATES,
  SEVERITIES,
  WINDOW,
} from './rule-bounds.js';
import Type, { type Static } from './typebox.js';

const closed = { additionalProperties: false };

const name = Type.String({
  minLength: 1,
  maxLength: MAX_RULE_NAME,
  pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]+$',
  description: 'Unique; alerts show it.',
});
const query = Type.String({
  maxLength: MAX_QUERY,
  description:
    'A query (docs/QUERY.md) for lines, or for bots with the condition `bots`. Empty for all.',
});
const condition = oneOf(CONDITIONS, {
  description:
    '`count`: at least `threshold` lines matched within the window. `rate`: at least as many per second. `absence`: none matched. `bots`: at least `threshold` bots match now.',
});
const threshold = Type.Number({
  exclusiveMinimum: 0,
  maximum: MAX_THRESHOLD,
  description: 'When it fires; an integer except for `rate`. Default 1. Not for `absence`.',
});
const window = Type.Integer({
  ...WINDOW,
  description: 'Required, except for `bots`, which has no window.',
});
const hold = Type.Integer({
  minimum: 0,
  maximum: MAX_FOR_MS,
  description: 'How long the condition must hold before the rule fires. Default 0.',
});
const severity = oneOf(SEVERITIES, { description: 'Default `warn`.' });
const enabled = Type.Boolean({ description: 'Default true.' });

/** Body of `POST /api/rules` and `PUT /api/rules/{id}`. */
export const CreateRuleBody = Type.Object(
  {
    name,
    query,
    condition,
    threshold: Type.Optional(threshold),
    window_ms: Type.Optional(window),
    for_ms: Type.Optional(hold),
    severity: Type.Optional(severity),
    enabled: Type.Optional(enabled),
  },
  closed,
);
export type CreateRuleBody = Static<typeof CreateRuleBody>;

/** The settings of a rule, without its state. */
const settings = {
  id: Type.String(),
  name: Type.String(),
  query: Type.String(),
  condition,
  threshold: nullable(Type.Number(), 'Null for `absence`.'),
  window_ms: nullable(Type.Integer(), 'Null for `bots`.'),
  for_ms: Type.Integer({ description: 'In ms.' }),
  severity: oneOf(SEVERITIES),
};

const RuleSettings = Type.Object({ ...settings, enabled: Type.Boolean() });
export type RuleSettings = Static<typeof RuleSettings>;

const value = nullable(
  Type.Number(),
  'What is compared with the threshold. Null before the first evaluation.',
);
const bots = Type.Array(Type.String(), {
  maxItems: MAX_RULE_BOTS,
  description: 'Ids of some bots that it is about.',
});

/** A rule as `GET /api/rules` shows it. */
export const Rule = Type.Object(
  {
    ...RuleSettings.properties,
    state: oneOf(RULE_STATES, {
      description:
        '`pending`: the condition holds, but not yet for `for_ms`. `off`: it is not looked at. `refused`: it was stored by an earlier version, and this one does not accept its query; or another rule of the cluster has its name. `unknown`: this node of a cluster does not know it at present.',
    }),
    reason: nullable(
      Type.String(),
      'Why it is `refused` or `unknown`, in one line; otherwise null.',
    ),
    since_ms: nullable(Type.Integer(), 'Since when it fires. Unix epoch milliseconds.'),
    value,
    bots,
  },
  {
    description: 'A rule, and its state.',
    examples: [
      {
        id: '6f0d2c1b9a3f2e64',
        name: 'refused logins',
        query: 'scope:http "login refused"',
        condition: 'count',
        threshold: 10,
        window_ms: 60_000,
        for_ms: 0,
        severity: 'error',
        enabled: true,
        state: 'firing',
        reason: null,
        since_ms: 1795257586197,
        value: 14,
        bots: ['shop-3', 'shop-7'],
      },
    ],
  },
);
export type Rule = Static<typeof Rule>;

/** Answer of `GET /api/rules`. */
export const RuleList = Type.Object({
  rules: Type.Array(Rule, { description: 'In the order of their names.' }),
});
export type RuleList = Static<typeof RuleList>;

/** Data of an `alert` frame. */
export const AlertEvent = Type.Object(
  {
    timestamp_ms: time('When it happened.'),
    state: oneOf(['firing', 'resolved']),
    rule: Type.Object(settings, { description: 'The rule as it was then.' }),
    since_ms: time('When it began to fire.'),
    value,
    bots,
  },
  {
    description: 'A rule fires, or stops: data of an `alert` event.',
    examples: [
      {
        timestamp_ms: 1795257586197,
        state: 'firing',
        rule: {
          id: '6f0d2c1b9a3f2e64',
          name: 'refused logins',
          query: 'scope:http "login refused"',
          condition: 'count',
          threshold: 10,
          window_ms: 60_000,
          for_ms: 0,
          severity: 'error',
        },
        since_ms: 1795257586197,
        value: 14,
        bots: ['shop-3', 'shop-7'],
      },
    ],
  },
);
export type AlertEvent = Static<typeof AlertEvent>;
