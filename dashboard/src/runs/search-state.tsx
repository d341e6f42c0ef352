// How far the search of a run is, for one that takes long; and that it was cancelled.

import { t } from '../texts/text.js';
import type { Selection } from './use-selection.js';

export function SearchState({ selection }: { selection: Selection }) {
  const { search, cancel, again } = selection;
  if (!search) return null;
  const n = Math.floor(search.share * 100);
  if (search.isCancelled) {
    return (
      <p class="run-note" role="status">
        {t('runs.searchCancelled', { n })}
        <button type="button" onClick={again}>
          {t('runs.searchAgain')}
        </button>
      </p>
    );
  }
  return (
    <p class="run-note">
      {t('runs.searchingShare', { n })}
      <progress max={1} value={search.share} aria-label={t('runs.searching')} />
      <button type="button" aria-label={t('runs.cancelSearch')} onClick={cancel}>
        {t('button.cancel')}
      </button>
    </p>
  );
}
