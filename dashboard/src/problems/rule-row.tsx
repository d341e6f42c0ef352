import type { Rule } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefTo } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { t } from '../texts/text.js';
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
        <span class={`tag tone-${tone}`}>{t(title)}</span>
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
            <code>{query === '' ? t(isOfBots ? 'token.allBots' : 'alerts.allLines') : query}</code>
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
      <span class="rule-value">{rule.reason ?? (rule.state === 'off' ? '' : valueText(rule))}</span>
      {mayChange ? (
        <span class="rule-end">
          <label class="check">
            <input
              type="checkbox"
              checked={rule.enabled}
              aria-label={t('alerts.onOf', { name })}
              onChange={({ currentTarget }) => onSwitch(currentTarget.checked)}
            />
            <span aria-hidden="true">{t('alerts.on')}</span>
          </label>
          <button
            type="button"
            class="quiet square"
            aria-label={t('alerts.editOf', { name })}
            title={t('alerts.edit')}
            onClick={onEdit}
          >
            <Icon name="edit" />
          </button>
          <button
            type="button"
            class="quiet square danger"
            aria-label={t('action.on', { action: t('action.delete'), target: name })}
            title={t('action.delete')}
            onClick={onDelete}
          >
            <Icon name="delete" />
          </button>
        </span>
      ) : null}
    </li>
  );
}
