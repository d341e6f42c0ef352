import { DraftsBanner } from '../config/drafts-banner.js';
import { cluster } from '../model/cluster.js';
import { clockAheadMs, connection } from '../model/live.js';
import { retryNow } from '../model/session.js';
import { second, span } from '../model/time.js';
import { Icon } from '../parts/icons.js';

/** Smallest clock difference to report, and the unit in which it is reported, in ms. */
const MINUTE_MS = 60_000;

/** Always present, so that screen readers announce each change once. */
export function Banner() {
  return (
    <div role="status" aria-atomic={false}>
      <ConnectionBanner />
      <ClusterBanner />
      <ClockBanner />
      <DraftsBanner />
    </div>
  );
}

function ConnectionBanner() {
  const now = connection.value;
  if (now.state === 'refused') {
    return (
      <div class="banner bad">
        <Icon name="warn" />
        <span>No live data: {now.reason}</span>
      </div>
    );
  }
  if (now.state !== 'waiting') return null;
  // Redraw every second.
  void second.value;
  const left = Math.max(0, Math.ceil((now.retryAtMs - Date.now()) / 1000));
  return (
    <div class="banner bad">
      <Icon name="warn" />
      <span>
        <strong>Connection lost.</strong> The data on this page may be out of date.{' '}
        {/* Changes every second, so it is hidden from screen readers. */}
        <span aria-hidden="true">{left > 0 ? `Reconnecting in ${left} s.` : 'Reconnecting…'}</span>
      </span>
      <button type="button" onClick={retryNow}>
        Reconnect now
      </button>
    </div>
  );
}

/** Not while the connection is lost, which says the same of everything. */
function ClusterBanner() {
  const { value: list } = cluster;
  if (list === null || list.state === 'on' || connection.value.state !== 'open') return null;
  return (
    <div class="banner bad" data-cluster={list.state}>
      <Icon name="warn" />
      <span>
        <strong>
          {list.state === 'joining'
            ? 'This node has not joined the cluster yet.'
            : 'This node is cut off from the cluster.'}
        </strong>{' '}
        What this page shows of other nodes may be out of date
        {list.reason === null ? '.' : `: ${list.reason}`}
      </span>
    </div>
  );
}

function ClockBanner() {
  const ahead = clockAheadMs.value;
  const minutes = Math.round(Math.abs(ahead) / MINUTE_MS);
  if (minutes === 0) return null;
  return (
    <div class="banner">
      <Icon name="warn" />
      <span>
        This machine's clock is {span(minutes * MINUTE_MS)} {ahead > 0 ? 'ahead of' : 'behind'} the
        service's. All times are shown by the service's clock.
      </span>
    </div>
  );
}

/** The state of the stream, in one word. */
export function ConnectionState() {
  const { state } = connection.value;
  const name =
    state === 'open'
      ? 'Live'
      : state === 'connecting'
        ? 'Connecting'
        : state === 'waiting'
          ? 'Reconnecting'
          : 'Not connected';
  const tone = state === 'open' ? 'good' : state === 'refused' ? 'bad' : 'wait';
  return (
    <span class={`connection tone-${tone}`} role="status" data-connection={state}>
      <span class="connection-dot" aria-hidden="true" />
      <span class="connection-name">{name}</span>
    </span>
  );
}
