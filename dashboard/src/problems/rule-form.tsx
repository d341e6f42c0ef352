import { useState } from 'preact/hooks';
import type { Condition, Rule, Severity } from '../../../src/client/index.js';
import { CONDITIONS, SEVERITIES } from '../../../src/shared/contract/rule-bounds.js';
import { api } from '../model/session.js';
import { FormDialog } from '../parts/form-dialog.js';
import { QueryBox } from '../query/query-box.js';
import { t } from '../texts/text.js';
import { bodyOf, type RuleFields } from './rule-body.js';
import { CONDITION_TITLES } from './rule-text.js';

interface Props {
  /** The rule that is edited; undefined for a new one. */
  rule: Rule | undefined;
  first: RuleFields;
  onClose: () => void;
  onSaved: (rule: Rule) => void;
}

/** The form of a new or an existing rule. */
export function RuleForm({ rule, first, onClose, onSaved }: Props) {
  const [fields, setFields] = useState(first);
  const { condition } = fields;
  const change = (some: Partial<RuleFields>): void => setFields((now) => ({ ...now, ...some }));
  const save = async (): Promise<void> => {
    const body = bodyOf(fields);
    const { rules } = api();
    onSaved(await (rule ? rules.replace(rule.id, body) : rules.create(body)));
  };
  return (
    <FormDialog
      title={rule ? t('alerts.editOf', { name: rule.name }) : t('alerts.new')}
      action={t(rule ? 'button.save' : 'button.create')}
      isReady={fields.name.trim() !== ''}
      send={save}
      onClose={onClose}
    >
      <div class="field">
        <label for="rule-name">{t('term.name')}</label>
        <input
          id="rule-name"
          autocomplete="off"
          maxLength={100}
          placeholder={t('alerts.example')}
          value={fields.name}
          onInput={({ currentTarget }) => change({ name: currentTarget.value })}
        />
      </div>
      <div class="field">
        <label for="rule-condition">{t('alerts.firesOn')}</label>
        <select
          id="rule-condition"
          value={condition}
          onChange={({ currentTarget }) => change({ condition: currentTarget.value as Condition })}
        >
          {CONDITIONS.map((name) => (
            <option key={name} value={name}>
              {t(CONDITION_TITLES[name])}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <span class="field-title">
          {t(condition === 'bots' ? 'alerts.queryBots' : 'alerts.queryLines')}
        </span>
        <QueryBox
          // Another language of fields.
          key={condition === 'bots' ? 'bots' : 'lines'}
          use={condition === 'bots' ? 'bots' : 'lines'}
          value={fields.query}
          waitMs={0}
          onChange={(query) => change({ query })}
        />
        <p class="hint">{t(condition === 'bots' ? 'alerts.hintBots' : 'alerts.hintLines')}</p>
      </div>
      <div class="field-pair rule-numbers">
        {condition === 'absence' ? null : (
          <NumberField
            id="rule-threshold"
            title={t(condition === 'rate' ? 'alerts.leastRate' : 'alerts.least')}
            value={fields.threshold}
            onChange={(threshold) => change({ threshold })}
          />
        )}
        {condition === 'bots' ? null : (
          <NumberField
            id="rule-window"
            title={t(condition === 'absence' ? 'alerts.windowAbsence' : 'alerts.window')}
            value={fields.window}
            onChange={(window) => change({ window })}
          />
        )}
      </div>
      <div class="field-pair rule-numbers">
        <NumberField
          id="rule-for"
          title={t('alerts.hold')}
          value={fields.held}
          onChange={(held) => change({ held })}
        />
        <div class="field">
          <label for="rule-severity">{t('alerts.severity')}</label>
          <select
            id="rule-severity"
            value={fields.severity}
            onChange={({ currentTarget }) => change({ severity: currentTarget.value as Severity })}
          >
            {SEVERITIES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </div>
      </div>
    </FormDialog>
  );
}

interface NumberProps {
  id: string;
  title: string;
  value: string;
  onChange: (value: string) => void;
}

function NumberField({ id, title, value, onChange }: NumberProps) {
  return (
    <div class="field">
      <label for={id}>{title}</label>
      <input
        id={id}
        type="number"
        min="0"
        step="any"
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  );
}
