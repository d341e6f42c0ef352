import type { Answered } from '../model/asking.js';
import { connection } from '../model/live.js';
import { t } from '../texts/text.js';

/** Shown instead of a value that has not arrived, or above an outdated one: what is unknown is never shown as none. */
export function Unanswered({ of: { value, error } }: { of: Answered<unknown> }) {
  if (value === undefined) {
    return <p class="muted unanswered">{error ? error.message : t('state.loading')}</p>;
  }
  // While the connection is lost, the banner says it of everything.
  if (!error || connection.value.state !== 'open') return null;
  return (
    <p class="muted unanswered" role="status">
      {t('state.outdated', { reason: error.message })}
    </p>
  );
}
