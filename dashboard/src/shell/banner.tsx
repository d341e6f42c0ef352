import { DraftsBanner } from '../config/drafts-banner.js';
import { cluster } from '../model/cluster.js';
import { clockAheadMs, connection, lag } from '../model/live.js';
import { retryNow } from '../model/session.js';
import { second, span } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { t } from '../texts/text.js';

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
        <span>{t('banner.refused', { reason: now.reason })}</span>
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
        <strong>{t('banner.lost')}</strong> {t('banner.outOfDate')}{' '}
        {/* Changes every second, so it is hidden from screen readers. */}
        <span aria-hidden="true">
          {left > 0 ? t('banner.reconnectIn', { n: left }) : t('banner.reconnecting')}
        </span>
      </span>
      <button type="button" onClick={retryNow}>
        {t('banner.reconnectNow')}
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
        <strong>{list.state === 'joining' ? t('banner.joining') : t('banner.cutOff')}</strong>{' '}
        {t('banner.otherNodes', { rest: list.reason === null ? '.' : `: ${list.reason}` })}
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
        {t(ahead > 0 ? 'banner.clockAhead' : 'banner.clockBehind', {
          time: span(minutes * MINUTE_MS),
        })}
      </span>
    </div>
  );
}

/** A greater delay is shown, in ms. Without a line for the other time, the delay is unknown. */
const LATE_MS = 2000;
const LAG_KNOWN_MS = 5000;

/** The state of the stream, in a few words. */
export function ConnectionState() {
  const { state } = connection.value;
  // The measurement ages with each second.
  void second.value;
  const { ms = 0, atMs = 0 } = lag.value ?? {};
  const isLate = state === 'open' && ms >= LATE_MS && Date.now() - atMs < LAG_KNOWN_MS;
  const name = isLate
    ? t('connection.behind', { time: span(ms) })
    : state === 'open'
      ? t('connection.live')
      : state === 'connecting'
        ? t('connection.connecting')
        : state === 'waiting'
          ? t('connection.reconnecting')
          : t('connection.none');
  const tone = isLate ? 'wait' : state === 'open' ? 'good' : state === 'refused' ? 'bad' : 'wait';
  return (
    <span
      class={`connection tone-${tone}`}
      role="status"
      data-connection={state}
      data-late={isLate}
    >
      <span class="connection-dot" aria-hidden="true" />
      {/* It changes with each second, so a screen reader hears only that lines come late. */}
      <span class="connection-name" aria-hidden={isLate}>
        {name}
      </span>
      {isLate ? <span class="unseen">{t('connection.late')}</span> : null}
    </span>
  );
}
