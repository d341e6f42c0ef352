import { isLoaded, loaded } from '../model/live.js';
import type { Edge, LogWindow } from '../model/log-window.js';
import { Icon } from '../parts/icons.js';
import { Unanswered } from '../parts/unanswered.js';
import { type PlainKey, t } from '../texts/text.js';

/** The state of the top edge, for the status line. */
const EDGES: Record<Edge, PlainKey> = {
  more: 'edge.more',
  stopped: 'edge.stopped',
  loading: 'edge.loading',
  end: 'edge.end',
  off: 'edge.off',
  failed: 'edge.failed',
};

export function Nothing({
  shown,
  isFiltered,
  isRange,
}: {
  shown: LogWindow;
  isFiltered: boolean;
  /** It is of a part of the time only. */
  isRange: boolean;
}) {
  const top = shown.top.value;
  if (!isLoaded.value) return <Unanswered of={loaded.value} />;
  // Without the journal only lines since the page was opened are known.
  if (top === 'failed' || (top === 'off' && (isRange || isFiltered))) {
    return (
      <p class="empty muted log-nothing">{t('log.notLoaded', { reason: shown.topError.value })}</p>
    );
  }
  const found = !isFiltered
    ? isRange
      ? t('log.noneInRange')
      : t('log.noneYet')
    : top === 'stopped'
      ? t('log.noMatchSoFar')
      : t(isRange ? 'log.noMatchInRange' : 'log.noMatch');
  return <p class="empty muted log-nothing">{top === 'loading' ? t('state.loading') : found}</p>;
}

/** Offers to continue a search that stopped, or to retry a failed one. */
export function Head({ shown, onMore }: { shown: LogWindow; onMore: () => void }) {
  const top = shown.top.value;
  if (top !== 'stopped' && top !== 'failed') return null;
  return (
    <div class="log-more" role="status">
      <span>
        {top === 'stopped'
          ? t('log.stopped')
          : t('log.notLoaded', { reason: shown.topError.value })}
      </span>
      <button type="button" onClick={onMore}>
        {top === 'stopped' ? t('log.searchFurther') : t('log.tryAgain')}
      </button>
    </div>
  );
}

export function Foot({
  shown,
  isFollowing,
  isRange,
  onFollow,
}: {
  shown: LogWindow;
  isRange: boolean;
  isFollowing: boolean;
  onFollow: () => void;
}) {
  const { rows } = shown;
  const top = shown.top.value;
  const held = shown.held.value;
  const state = t(top === 'end' && isRange ? 'edge.endOfRange' : EDGES[top]);
  const edge = top === 'off' ? `${state}: ${shown.topError.value}` : state;
  return (
    <footer class="log-foot">
      <span data-top={top}>
        {t('count.lines', { n: rows.length })}, {edge}
      </span>
      {isFollowing ? null : (
        <button type="button" class="to-end" onClick={onFollow}>
          <Icon name="follow" />
          {held > 0
            ? t('count.newLines', { n: held })
            : shown.isJoined.value || shown.isAtEnd.value
              ? t('log.jumpToEnd')
              : t('log.jumpToLatest')}
        </button>
      )}
    </footer>
  );
}
