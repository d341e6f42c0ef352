import { CreateRuleBody, Rule, RuleList } from '../rules.js';
import { exampleOf } from './examples.js';
import type { Routes } from './route.js';

const rule = exampleOf(Rule) as Rule;
const BODY: CreateRuleBody = {
  name: 'refused logins',
  query: 'scope:http "login refused"',
  condition: 'count',
  threshold: 10,
  window_ms: 60_000,
  severity: 'error',
};
const LIMITED = 'The token lacks the scope, or is limited to some bots: rules are about all.';
const BAD = 'The body or its query is not valid; the message says what and where.';
const TAKEN = 'Another rule has this name';

export const RULE_ROUTES = {
  'GET /api/rules': {
    id: 'listRules',
    access: 'read',
    tag: 'Rules',
    summary: 'List all rules, with their states',
    description:
      'A rule looks at the lines or at the bots that a query selects, and fires when there are too many of them, or none. It makes an `alert` event on the stream when it begins to fire and when it stops, and a line in the scope `drover.rules`. In a cluster all nodes have the same rules, and judge them over the events of all.',
    answers: {
      200: { description: 'All rules.', schema: RuleList, example: { rules: [rule] } },
    },
    errors: { 403: LIMITED },
  },
  'POST /api/rules': {
    id: 'createRule',
    access: 'control',
    activity: 'rule.create',
    tag: 'Rules',
    summary: 'Create a rule',
    description:
      'It is kept over restarts. Its state is not: each start of the service begins with none.',
    body: { schema: CreateRuleBody, example: BODY },
    answers: {
      201: {
        description: 'It is stored, and looks at lines from now on.',
        schema: Rule,
        example: { ...rule, state: 'ok', since_ms: null, value: null, bots: [] },
      },
    },
    errors: { 400: BAD, 403: LIMITED, 409: `${TAKEN}, or there are 100 rules already.` },
  },
  'PUT /api/rules/{id}': {
    id: 'replaceRule',
    access: 'control',
    activity: 'rule.update',
    tag: 'Rules',
    summary: 'Replace a rule',
    description: 'The body is the whole rule. Its state begins again: if it fires, it stops.',
    body: { schema: CreateRuleBody, example: { ...BODY, threshold: 20 } },
    answers: {
      200: {
        description: 'It is stored.',
        schema: Rule,
        example: { ...rule, threshold: 20, state: 'ok', since_ms: null, value: null, bots: [] },
      },
    },
    errors: { 400: BAD, 403: LIMITED, 404: 'There is no such rule.', 409: `${TAKEN}.` },
  },
  'DELETE /api/rules/{id}': {
    id: 'deleteRule',
    access: 'control',
    activity: 'rule.delete',
    tag: 'Rules',
    summary: 'Delete a rule',
    description: 'If it fires, it stops.',
    answers: { 204: { description: 'It is gone.' } },
    errors: { 403: LIMITED, 404: 'There is no such rule.' },
  },
} satisfies Routes;
