// Reports on standard error that a service shows outdated data of other nodes: once for a list, and for a stream at the start and the end
// of that.

import { ApiError, type StreamEvent } from '../../client/index.js';
import { complain } from '../terminal/action.js';
import type { Connection } from './connection.js';

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
        `the service has no connection to its cluster, so lines of other nodes are missing${why}`,
      );
    } else if (this.#isOff) complain('the service is connected to its cluster again');
    this.#isOff = isOff;
  }
}

/** Reports once that a list of bots is outdated for other nodes, because the service is cut off from them. */
export async function warnWhenCutOff({ client, call }: Connection): Promise<void> {
  const list = await client.nodes(call()).catch((thrown: unknown) => {
    // The service has no nodes, or is restarting: the list itself was answered.
    if (thrown instanceof ApiError) return null;
    throw thrown;
  });
  if (list === null || list.state === 'on' || list.state === 'off') return;
  const self = list.nodes.find(({ is_self: isSelf }) => isSelf);
  const since = self && self.renewed_at_ms > 0 ? new Date(self.renewed_at_ms).toISOString() : null;
  complain(
    `the service has no connection to its cluster${since === null ? '' : ` since ${since}`}, so bots of other nodes are shown as they were then: ${list.reason ?? 'it is connecting'}`,
  );
}
