import { useLogAddress } from '../model/log-address.js';
import { route } from '../model/route.js';
import { timeRange } from '../model/time-range.js';
import { t } from '../texts/text.js';
import { LogPane } from './log-pane.js';

export function LogView() {
  const address = useLogAddress();
  return (
    <div class="view-full log-view">
      <h1 class="unseen">{t('page.log')}</h1>
      <LogPane {...address} at={route.value.query.get('at') ?? timeRange.value.momentMs} />
    </div>
  );
}
