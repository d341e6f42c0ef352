import type { EventLoopUtilization } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import type { RpcPort } from '../../shared/contract/rpc.js';
import { Deferred } from '../../shared/deferred.js';

/** A thread that was started, by Worker or by piscina. */
export interface ThreadHandle {
  /** The channel of the thread's Rpc. */
  readonly port: RpcPort;
  readonly threadId: number;
  /** Resolves when its code has ended: with the error when it failed, with undefined when it returned or was terminated. */
  readonly ended: Promise<Error | undefined>;
  /** Resolves when the thread no longer exists, after {@link ended}. */
  readonly exited: Promise<void>;
  utilization(): EventLoopUtilization;
  /** A thread that is stuck in native code may take long to exit. */
  terminate(): void;
}

/** Starts a thread. */
export type ThreadSource = () => ThreadHandle;

/** A plain worker thread, whose Rpc runs over its own message channel. */
export function startWorker(entry: URL, workerData?: unknown): ThreadHandle {
  const worker = new Worker(entry, { workerData });
  const ended = new Deferred<Error | undefined>();
  const exited = new Deferred();
  // The listener stays: an error without one would be thrown in main.
  worker.on('error', (error) => ended.resolve(error));
  worker.once('exit', () => {
    ended.resolve(undefined);
    exited.resolve();
  });
  return {
    port: worker,
    threadId: worker.threadId,
    ended: ended.promise,
    exited: exited.promise,
    utilization: () => worker.performance.eventLoopUtilization(),
    terminate: () => void worker.terminate(),
  };
}
