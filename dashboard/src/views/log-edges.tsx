import { isLoaded } from '../model/live.js';
import type { Edge, LogWindow } from '../model/log-window.js';
import { Icon } from '../parts/icons.js';

/** The state of the top edge, for the status line. */
const EDGES: Record<Edge, string> = {
  more: 'scroll up for older lines',
  stopped: 'older lines not searched yet',
  loading: 'loading older lines…',
  end: 'complete from the beginning',
  off: 'older lines not available',
  failed: 'older lines could not be loaded',
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
  const isSearching = top === 'loading' || !isLoaded.value;
  const found = !isFiltered
    ? isRange
      ? 'No lines in this time range.'
      : 'No lines yet.'
    : top === 'stopped'
      ? 'No matching lines so far.'
      : `No lines match the filter${isRange ? ' in this time range' : ''}.`;
  return <p class="empty muted log-list">{isSearching ? 'Loading…' : found}</p>;
}

/** `1 line`, `1,200 new lines`. */
function linesOf(count: number, which = ''): string {
  return `${count.toLocaleString('en')} ${which}${count === 1 ? 'line' : 'lines'}`;
}

/** Offers to continue a search that stopped, or to retry a failed one. */
export function Head({ shown, onMore }: { shown: LogWindow; onMore: () => void }) {
  const top = shown.top.value;
  if (top !== 'stopped' && top !== 'failed') return null;
  return (
    <div class="log-more" role="status">
      <span>
        {top === 'stopped'
          ? 'The search stopped after a while with few results.'
          : `Older lines could not be loaded: ${shown.topError.value}`}
      </span>
      <button type="button" onClick={onMore}>
        {top === 'stopped' ? 'Search further back' : 'Try again'}
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
  const of = top === 'end' && isRange ? ' of the range' : '';
  const edge = EDGES[top] + of + (top === 'off' ? `: ${shown.topError.value}` : '');
  return (
    <footer class="log-foot">
      <span data-top={top}>
        {linesOf(rows.length)}, {edge}
      </span>
      {isFollowing ? null : (
        <button type="button" class="to-end" onClick={onFollow}>
          <Icon name="follow" />
          {held > 0
            ? linesOf(held, 'new ')
            : shown.isJoined.value || shown.isAtEnd.value
              ? 'Jump to end'
              : 'Jump to latest'}
        </button>
      )}
    </footer>
  );
}
