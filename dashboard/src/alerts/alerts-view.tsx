import { useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, type Rule } from '../../../src/client/index.js';
import { firing } from '../model/alerts.js';
import { may } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { replaceQuery, route } from '../model/route.js';
import { api } from '../model/session.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { say, sayError } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { AlertHistory } from './alert-history.js';
import { NotifyButton } from './notify-button.js';
import { changedRule, fieldsOf, newFields } from './rule-body.js';
import { RuleForm } from './rule-form.js';
import { RuleRow } from './rule-row.js';
import { STATE_ORDER } from './rule-text.js';

/** Values change all the time; that a rule fires comes with the stream. */
const RELOAD_MS = 2000;

/** Rules with their states, and what has fired. */
export function AlertsView() {
  const answer = useResource((signal) => api().rules.list({ signal }), [], {
    when: [firing.value],
    everyMs: RELOAD_MS,
  });
  const { value, error, reload } = answer;
  const [editing, setEditing] = useState<Rule>();
  const [deleting, setDeleting] = useState<Rule>();
  // The address asks for a new rule: `new` is its query, `on` what it is for.
  const { query } = route.value;
  const wanted = query.get('new');
  const on = query.get('on') === 'bots' ? 'bots' : 'lines';
  const isForbidden = error instanceof ApiError && error.status === 403;
  const mayChange = may('control') && !isForbidden;
  const create = (): void => replaceQuery({ new: ' ', on: 'lines' });
  const close = (): void => {
    setEditing(undefined);
    if (route.peek().query.has('new')) replaceQuery({});
  };
  // A deleted rule takes its button with it.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  useKeys(t('page.alerts'), mayChange ? [{ keys: 'n', does: t('alerts.new'), run: create }] : []);

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
    <>
      <ViewHead
        title={t('page.alerts')}
        note={
          value && value.length > 0
            ? t('alerts.note', { n: firing.value.length, all: value.length })
            : ''
        }
      >
        <NotifyButton />
        {mayChange ? (
          <button type="button" class="primary" onClick={create}>
            <Icon name="add" />
            {t('alerts.new')}
          </button>
        ) : isForbidden ? null : (
          <NeedsScope scope="control" to={t('alerts.changeRules')} />
        )}
      </ViewHead>
      <div class="page">
        {isForbidden ? (
          <p class="empty muted">{t('alerts.limited')}</p>
        ) : (
          <>
            <section class="card" aria-labelledby="rules-title">
              <h2 id="rules-title">{t('alerts.rules')}</h2>
              <Unanswered of={answer} />
              {value === undefined ? null : rules.length === 0 ? (
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
            </section>
            <AlertHistory />
          </>
        )}
      </div>
      {editing || wanted !== null ? (
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
    </>
  );
}
