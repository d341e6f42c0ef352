// The progress of a long search of a run, and whether it was cancelled.

import { t } from '../texts/text.js';
import type { RunSource } from './run-source.js';

export function SearchState({ source }: { source: RunSource }) {
  const { value: search } = source.search;
  if (!search) return null;
  const { share, isCancelled } = search;
  const n = Math.floor(share * 100);
  return (
    <p class="run-note">
      {isCancelled ? (
        t('runs.searchCancelled', { n })
      ) : (
        <>
          {t('runs.searchingShare', { n })}
          <progress max={1} value={share} aria-label={t('runs.searching')} />
        </>
      )}
      {/* One button, which keeps the focus. */}
      <button
        type="button"
        aria-label={isCancelled ? undefined : t('runs.cancelSearch')}
        // A held key must not restart the search that it has cancelled.
        onKeyDown={(event) => event.repeat && event.preventDefault()}
        onClick={() => (isCancelled ? source.again() : source.cancel())}
      >
        {isCancelled ? t('runs.searchAgain') : t('button.cancel')}
      </button>
    </p>
  );
}
