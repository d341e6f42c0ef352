import type { Rule } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefTo } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { conditionText, STATES, valueText } from './rule-text.js';

interface Props {
  rule: Rule;
  mayChange: boolean;
  onEdit: () => void;
  onSwitch: (enabled: boolean) => void;
  onDelete: () => void;
}

export function RuleRow({ rule, mayChange, onEdit, onSwitch, onDelete }: Props) {
  void second.value;
  const { title, tone } = STATES[rule.state];
  const name = visible(rule.name);
  const query = visible(rule.query);
  const isOfBots = rule.condition === 'bots';
  return (
    <li class="rule" data-rule={rule.name} data-state={rule.state}>
      <span class="rule-state">
        <span class={`tag tone-${tone}`}>{title}</span>
        {rule.since_ms === null ? null : (
          <time class="muted" title={fullTime(rule.since_ms)}>
            {age(rule.since_ms)}
          </time>
        )}
      </span>
      <span class="rule-what">
        <strong>{name}</strong> <span class={`level level-${rule.severity}`}>{rule.severity}</span>
        <span class="rule-condition">
          {conditionText(rule)}{' '}
          <a href={hrefTo(isOfBots ? 'bots' : 'log', '', { q: rule.query })}>
            <code>{query === '' ? (isOfBots ? 'all bots' : 'all lines') : query}</code>
          </a>
        </span>
        {rule.bots.length === 0 ? null : (
          <span class="rule-bots">
            {rule.bots.map((id) => (
              <a key={id} href={hrefTo('bots', id)}>
                {id}
              </a>
            ))}
          </span>
        )}
      </span>
      <span class="rule-value">{rule.state === 'off' ? '' : valueText(rule)}</span>
      {mayChange ? (
        <span class="rule-end">
          <label class="check">
            <input
              type="checkbox"
              checked={rule.enabled}
              aria-label={`${name} is on`}
              onChange={({ currentTarget }) => onSwitch(currentTarget.checked)}
            />
            <span aria-hidden="true">On</span>
          </label>
          <button
            type="button"
            class="quiet square"
            aria-label={`Edit ${name}`}
            title="Edit"
            onClick={onEdit}
          >
            <Icon name="edit" />
          </button>
          <button
            type="button"
            class="quiet square danger"
            aria-label={`Delete ${name}`}
            title="Delete"
            onClick={onDelete}
          >
            <Icon name="delete" />
          </button>
        </span>
      ) : null}
    </li>
  );
}
