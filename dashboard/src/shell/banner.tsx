// Owns the line that says that something is not as it should be: no connection, a clock that is off.

import { clockAheadMs, connection } from '../model/live.js';
import { retryNow } from '../model/session.js';
import { second, span } from '../model/time.js';
import { Icon } from '../parts/icons.js';

/** A clock that is off by less than this, in ms, is no news; by how much is said in whole ones. */
const MINUTE_MS = 60_000;

/** It is there from the beginning: what comes into it is read aloud then, politely and once. */
export function Banner() {
  return (
    <div role="status" aria-atomic={false}>
      <ConnectionBanner />
      <ClockBanner />
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
  // Drawn anew each second.
  void second.value;
  const left = Math.max(0, Math.ceil((now.retryAtMs - Date.now()) / 1000));
  return (
    <div class="banner bad">
      <Icon name="warn" />
      <span>
        <strong>Connection lost.</strong> What is shown may be old.{' '}
        {/* Each second another: nobody wants to hear that. */}
        <span aria-hidden="true">{left > 0 ? `Next try in ${left} s.` : 'Trying …'}</span>
      </span>
      <button type="button" onClick={retryNow}>
        Try now
      </button>
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
        service's. Times are the service's.
      </span>
    </div>
  );
}

/** How the stream is, in a word. */
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
