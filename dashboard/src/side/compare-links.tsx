import { t } from '../texts/text.js';
import { hrefOfBots, hrefOfConfigs, MAX_LOGS } from './side-address.js';

/** For two to six selected bots: their logs side by side; for two also their configurations. */
export function CompareLinks({ ids }: { ids: readonly string[] }) {
  if (ids.length < 2 || ids.length > MAX_LOGS) return null;
  const [one = '', other = ''] = ids;
  return (
    <>
      <a class="button" href={hrefOfBots(ids)}>
        {t('side.logs')}
      </a>
      {ids.length === 2 ? (
        <a class="button" href={hrefOfConfigs(one, other)}>
          {t('page.diff')}
        </a>
      ) : null}
    </>
  );
}
