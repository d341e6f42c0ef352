// Runs in a bot host thread. Owns the faults of drills: a host does to itself what a broken bot could do to it.

import type { HostFault } from '../shared/contract/threads.js';

export function causeFault(fault: HostFault): void {
  // Outside of the call that asked for it, as a bot's fault would be.
  setImmediate(() => {
    switch (fault) {
      case 'crash':
        throw new Error('a drill has crashed this host');
      case 'hang':
        for (;;);
      case 'out_of_memory': {
        const hoard: unknown[] = [];
        for (;;) hoard.push(new Array(100_000).fill(hoard));
      }
    }
  });
}
