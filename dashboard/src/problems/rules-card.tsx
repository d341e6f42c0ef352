import { useLayoutEffect, useState } from 'preact/hooks';
import type { Rule } from '../../../src/client/index.js';
import { firing } from '../model/alerts.js';
import { recorded } from '../model/event-source.js';
import { isUnlimited, may } from '../model/own-token.js';
import { type Resource, useResource } from '../model/resource.js';
import { changeQuery, route } from '../model/route.js';
import { api } from '../model/session.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { say, sayError } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { NotifyButton } from './notify-button.js';
import { changedRule, fieldsOf, newFields } from './rule-body.js';
import { RuleForm } from './rule-form.js';
import { RuleRow } from './rule-row.js';
import { STATE_ORDER } from './rule-text.js';

/** Values change all the time; that a rule fires comes with the stream. */
const RELOAD_MS = 2000;

/** All rules; none for a token that is limited to some bots, which may not see them, and beside a recording. */
export function useRules(): Resource<Rule[]> {
  const isAllowed = isUnlimited() && recorded.value === undefined;
  return useResource(
    async (signal) => (isAllowed ? await api().rules.list({ signal }) : []),
    [isAllowed],
    { when: [firing.value], everyMs: RELOAD_MS },
  );
}

/** The rules with their states. The address asks for a new one: `new` is its query, `on` what it is for. */
export function RulesCard({ rules: answer }: { rules: Resource<Rule[]> }) {
  const { value, reload } = answer;
  const [editing, setEditing] = useState<Rule>();
  const [deleting, setDeleting] = useState<Rule>();
  const { query } = route.value;
  const wanted = query.get('new');
  const on = query.get('on') === 'bots' ? 'bots' : 'lines';
  const isAllowed = isUnlimited();
  const mayChange = may('control') && isAllowed;
  const create = (): void => changeQuery({ new: ' ', on: 'lines' });
  const close = (): void => {
    setEditing(undefined);
    if (route.peek().query.has('new')) changeQuery({ new: '', on: '' });
  };
  // A deleted rule takes its button with it.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  useKeys(t('page.problems'), mayChange ? [{ keys: 'n', does: t('alerts.new'), run: create }] : []);

  const change = async (rule: Rule, enabled: boolean): Promise<void> => {
    try {
      await api().rules.replace(rule.id, changedRule(rule, { enabled }));
    } catch (thrown) {
      sayError(thrown, t('alerts.couldNotChange', { name: rule.name }));
    }
    reload();
  };
  const remove = async (rule: Rule): Promise<void> => {
    setDeleting(undefined);
    try {
      await api().rules.remove(rule.id);
      say(t('action.deleted', { what: rule.name }));
    } catch (thrown) {
      sayError(thrown, t('alerts.couldNotDelete', { name: rule.name }));
    }
    reload();
  };

  const rules = (value ?? []).toSorted(
    (a, b) => STATE_ORDER.indexOf(a.state) - STATE_ORDER.indexOf(b.state),
  );
  return (
    <section class="card" aria-labelledby="rules-title">
      <header class="card-head">
        <h2 id="rules-title">{t('alerts.rules')}</h2>
        {isAllowed ? (
          <>
            <NotifyButton />
            {mayChange ? (
              <button type="button" onClick={create}>
                <Icon name="add" />
                {t('alerts.new')}
              </button>
            ) : (
              <NeedsScope scope="control" to={t('alerts.changeRules')} />
            )}
          </>
        ) : null}
      </header>
      {isAllowed ? <Unanswered of={answer} /> : <p class="muted">{t('alerts.limited')}</p>}
      {value === undefined || !isAllowed ? null : rules.length === 0 ? (
        <p class="muted">{t('alerts.noRules')}</p>
      ) : (
        <ul class="rules">
          {rules.map((rule) => (
            <RuleRow
              key={rule.id}
              rule={rule}
              mayChange={mayChange}
              onEdit={() => setEditing(rule)}
              onSwitch={(enabled) => void change(rule, enabled)}
              onDelete={() => setDeleting(rule)}
            />
          ))}
        </ul>
      )}
      {editing || (mayChange && wanted !== null) ? (
        <RuleForm
          rule={editing}
          first={editing ? fieldsOf(editing) : newFields((wanted ?? '').trim(), on)}
          onClose={close}
          onSaved={({ name }) => {
            say(t(editing ? 'alerts.saved' : 'alerts.created', { name }));
            close();
            reload();
          }}
        />
      ) : null}
      {deleting ? (
        <Confirm
          title={t('action.onQuestion', { action: t('action.delete'), target: deleting.name })}
          action={t('action.delete')}
          isDangerous
          onYes={() => void remove(deleting)}
          onClose={() => setDeleting(undefined)}
        >
          <p>{t('alerts.deleteText')}</p>
        </Confirm>
      ) : null}
    </section>
  );
}
