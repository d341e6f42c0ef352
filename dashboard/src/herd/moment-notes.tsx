import { hrefIn } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { momentText } from '../range/range-text.js';
import { t } from '../texts/text.js';
import { past, pastError } from './past.js';

/** Unknown bots that are named. */
const MAX_NAMED = 5;

/** Notes on what is unknown about the moment. */
export function MomentNotes({ shown }: { shown: number }) {
  const { value: found } = past;
  const { unknown = [], missing = [] } = found ?? {};
  const knownFrom = found?.known_from_ms ?? null;
  const notes: string[] = [];
  if (pastError.value) notes.push(t('moment.noStates', { reason: pastError.value.message }));
  if (unknown.length > 0) {
    const named = unknown.slice(0, MAX_NAMED).join(', ');
    const more = unknown.length - MAX_NAMED;
    notes.push(
      t('moment.unknown', {
        n: unknown.length,
        names: more > 0 ? `${named} ${t('count.more', { n: more })}` : named,
      }),
    );
  }
  if (knownFrom !== null && shown < knownFrom) {
    notes.push(t('moment.knownFrom', { time: momentText(knownFrom) }));
  }
  if (found && knownFrom === null) notes.push(t('moment.noneYet'));
  if (found?.is_in_gap) {
    notes.push(t('moment.gap'));
  }
  for (const { node, reason } of missing) {
    notes.push(t('moment.missingNode', { node, reason }));
  }
  return (
    <div class="moment">
      <a href={hrefIn('log')}>
        {t('moment.log')}
        <Icon name="right" />
      </a>
      {notes.length === 0 ? null : (
        <p class="moment-notes" role="status">
          {notes.join(' ')}
        </p>
      )}
    </div>
  );
}
