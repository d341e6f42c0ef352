import { WORKERS } from '../../shared/package-paths.js';
import { captureStack } from '../../shared/stack-capture.js';
import { threadWaitMs } from '../../shared/thread-waits.js';
import type { HostLink, LinkOptions } from './host-link.js';
import { startPiscinaTask } from './piscina-source.js';

/** What V8 lets a heap grow beyond the limit of a host (see memory-guard.ts), in MB. V8's largest allocation is 1 GB. */
const HEADROOM_MB = 4096;

/** A bot host in a thread of the service. */
export function startThreadLink({ task, transferList, port, failed }: LinkOptions): HostLink {
  const thread = startPiscinaTask({
    entry: WORKERS.botHost,
    task,
    transferList,
    port,
    maxOldGenerationSizeMb: task.maxHeapMb + HEADROOM_MB,
    failed,
  });
  return {
    ...thread,
    isolation: 'thread',
    capture: (withinMs) => captureStack(thread.threadId, withinMs),
    waitedMs: (id) => threadWaitMs(id),
    memory: () => null,
  };
}
