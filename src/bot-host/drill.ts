import type { HostFault } from '../shared/contract/threads.js';

/** Breaks this host thread as a bot could, for drills. */
export function causeFault(fault: HostFault): void {
  // Breaks outside of the Rpc call, as a bot's fault would.
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
