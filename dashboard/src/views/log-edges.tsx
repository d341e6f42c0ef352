// Owns what stands where the rows of a log end: how it is with the past, and the way to the present.

import { isLoaded } from '../model/live.js';
import type { Edge, LogWindow } from '../model/log-window.js';
import { Icon } from '../parts/icons.js';

const PAST: Record<Edge, string> = {
  more: 'older lines above',
  stopped: 'older lines not searched',
  loading: 'loading the past …',
  end: 'from the beginning',
  off: 'no older lines here',
  failed: 'the past could not be loaded',
};

export function Nothing({ shown }: { shown: LogWindow }) {
  const top = shown.top.value;
  const isSearching = top === 'loading' || !isLoaded.value;
  return (
    <p class="empty muted log-list">
      {isSearching ? 'Loading …' : top === 'stopped' ? 'No line found so far.' : 'No line yet.'}
    </p>
  );
}

/** `1 line`, `1,200 new lines`. */
function linesOf(count: number, which = ''): string {
  return `${count.toLocaleString('en')} ${which}${count === 1 ? 'line' : 'lines'}`;
}

/** What a person can do about the past when it does not come by itself. */
export function Head({ shown, onMore }: { shown: LogWindow; onMore: () => void }) {
  const top = shown.top.value;
  if (top !== 'stopped' && top !== 'failed') return null;
  return (
    <div class="log-more" role="status">
      <span>
        {top === 'stopped'
          ? 'A long search found little; there is more to search.'
          : `The past could not be loaded: ${shown.topError.value}`}
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
  onFollow,
}: {
  shown: LogWindow;
  isFollowing: boolean;
  onFollow: () => void;
}) {
  const { rows } = shown;
  const top = shown.top.value;
  const held = shown.held.value;
  const past = PAST[top] + (top === 'off' ? `: ${shown.topError.value}` : '');
  return (
    <footer class="log-foot">
      <span data-top={top}>
        {linesOf(rows.length)}, {past}
      </span>
      {isFollowing ? null : (
        <button type="button" class="to-end" onClick={onFollow}>
          <Icon name="follow" />
          {held > 0
            ? linesOf(held, 'new ')
            : shown.isJoined.value
              ? 'To the end'
              : 'To the present'}
        </button>
      )}
    </footer>
  );
}
