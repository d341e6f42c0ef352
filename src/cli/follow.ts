// Runs in the command line. Owns what is said of a live stream beside its events: that it broke, when it is tried again, and
// that it is back.

import type { StreamState } from '../client/index.js';
import { showDuration } from './duration.js';
import { complain } from './run.js';

/** For `onState` of a stream; speaks on standard error. */
export function tellState(): (state: StreamState) => void {
  let isLost = false;
  return (state) => {
    if (state.state === 'waiting') {
      isLost = true;
      const wait = showDuration(state.retryAtMs - Date.now());
      complain(`${state.error.message}; trying again in ${wait}`);
    } else if (state.state === 'open' && isLost) {
      isLost = false;
      complain('connected again');
    }
  };
}
