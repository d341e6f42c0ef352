import { visible } from '../../../src/shared/contract/escapes.js';
import { firing } from '../model/alerts.js';
import { hrefTo, route } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { t } from '../texts/text.js';

/** Names that are shown; the others are counted. */
const MAX_NAMES = 3;

/** The rules that fire, on every page but their own. */
export function FiringBar() {
  const { value: rules } = firing;
  if (rules.length === 0 || route.value.view === 'problems') return null;
  const more = rules.length - MAX_NAMES;
  return (
    <div class={`banner${rules.some(({ severity }) => severity === 'error') ? ' bad' : ''}`}>
      <Icon name="bell" />
      <span>
        <strong>{t('alerts.fire', { n: rules.length })}</strong>{' '}
        {rules
          .slice(0, MAX_NAMES)
          .map(({ name }) => visible(name))
          .join(', ')}
        {more > 0 ? ` ${t('count.more', { n: more })}` : ''}
      </span>
      <a href={hrefTo('problems')}>{t('alerts.show')}</a>
    </div>
  );
}
