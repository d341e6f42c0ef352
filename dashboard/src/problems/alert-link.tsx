import { isUnlimited, may } from '../model/own-token.js';
import { hrefTo } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { t } from '../texts/text.js';

/** Links to a new rule on a query, if the token may create one. A space stands for an empty one, which an address would leave out. */
export function AlertLink({ query, on }: { query: string; on: 'bots' | 'lines' }) {
  if (!may('control') || !isUnlimited()) return null;
  return (
    <a
      class="button square quiet"
      href={hrefTo('problems', '', { new: query === '' ? ' ' : query, on })}
      aria-label={t('alerts.onThis')}
      title={t('alerts.onThis')}
    >
      <Icon name="bell" />
    </a>
  );
}
