import type { ProcessEnd } from '../../shared/pipe/messages.js';

/** What Node writes to standard error before it ends itself for want of memory. */
const OUT_OF_MEMORY =
  /JavaScript heap out of memory|(?:Allocation|allocation) failed|FATAL ERROR: .*memory|std::bad_alloc/;

/** A bot host process has ended, and was not asked to. */
export class ProcessEnded extends Error {
  /** Set for a process that was out of memory, as for a thread. */
  readonly code: string | undefined;
  /** The end of the process, for the incident report. */
  readonly exit: { code: number | null; signal: string | null };
  /** The last lines of its standard error, oldest first. */
  readonly stderr: readonly string[];
  /** Its own code says why: an error outside of any run. What no bot host sends is from a bot. */
  readonly isOwn: boolean;

  /**
   * @param wasKilled whether main has ended it.
   * @param wasShort whether the system has ended it, or something that it had started, for want of memory.
   */
  constructor(
    { code, signal, failure, stderr }: ProcessEnd,
    wasKilled: boolean,
    wasShort: boolean,
  ) {
    const isOutOfMemory = failure === null && (wasShort || OUT_OF_MEMORY.test(stderr.join('\n')));
    super(failure?.message ?? messageFor(code, signal, isOutOfMemory, wasKilled));
    this.code = isOutOfMemory ? 'ERR_WORKER_OUT_OF_MEMORY' : undefined;
    this.exit = { code, signal };
    this.stderr = stderr;
    this.isOwn = failure !== null && !failure.isFault;
    // The stack would be that of main.
    if (failure?.stack) this.stack = failure.stack;
    else delete this.stack;
  }
}

function messageFor(
  code: number | null,
  signal: string | null,
  isOutOfMemory: boolean,
  wasKilled: boolean,
): string {
  const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
  if (isOutOfMemory) return `its process ran out of memory and ${how}`;
  const isSystem = signal === 'SIGKILL' && !wasKilled;
  return `its process ${how}${isSystem ? ', perhaps by the system for want of memory' : ''}`;
}
