// Says on standard error when a stream has nothing new of other nodes of the cluster, and when it has again.

import type { StreamEvent } from '../../client/index.js';
import { complain } from '../terminal/action.js';

export class ClusterWatch {
  #isOff = false;

  /** To be called with each event of a stream. */
  see(event: StreamEvent): void {
    if (event.event !== 'other' || event.name !== 'cluster') return;
    const { state, reason } = (event.data ?? {}) as { state?: unknown; reason?: unknown };
    const isOff = state !== 'on';
    if (isOff) {
      const why = typeof reason === 'string' ? `: ${reason}` : '';
      complain(
        `the service has no connection to its cluster, lines of other nodes are missing${why}`,
      );
    } else if (this.#isOff) complain('the service is connected to its cluster again');
    this.#isOff = isOff;
  }
}
