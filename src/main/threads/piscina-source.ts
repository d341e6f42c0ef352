import type { MessagePort, Transferable, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { Deferred } from '../../shared/deferred.js';
import type { ThreadHandle } from './thread-source.js';

export interface PiscinaOptions<Task> {
  entry: URL;
  /** Runs until its thread is told to end. */
  task: Task;
  transferList: Transferable[];
  /** Main's end of the channel for its Rpc. */
  port: MessagePort;
  maxOldGenerationSizeMb: number;
  /** The thread has failed outside of its task. */
  failed: (error: Error) => void;
}

/** A piscina pool of one thread that runs one task, which ends with the thread. */
export function startPiscinaTask<Task>(options: PiscinaOptions<Task>): ThreadHandle {
  const { maxOldGenerationSizeMb, transferList } = options;
  const piscina = new Piscina<Task, void>({
    filename: options.entry.href,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    // By default piscina may put a thread to sleep in Atomics.wait between two tasks.
    atomics: 'disabled',
    resourceLimits: { maxOldGenerationSizeMb },
  });
  const ended = new Deferred<Error | undefined>();
  const exited = new Deferred();
  let isTerminated = false;
  // An error may come when the task has ended already. Without a listener it would be thrown in main.
  piscina.on('error', (thrown: unknown) => {
    const error = toError(thrown);
    options.failed(error);
    ended.resolve(error);
  });
  // Created by the constructor; it stays for good because its task never ends before it.
  const worker = piscina.threads[0] as Worker;
  worker.once('exit', () => {
    exited.resolve();
    // By then piscina has rejected a task that did not end.
    setImmediate(() => ended.resolve(undefined));
  });
  piscina.run(options.task, { transferList }).then(
    () => ended.resolve(undefined),
    (thrown: unknown) => ended.resolve(toError(thrown)),
  );
  return {
    port: options.port,
    threadId: worker.threadId,
    ended: ended.promise,
    exited: exited.promise,
    utilization: () => worker.performance.eventLoopUtilization(),
    terminate() {
      if (isTerminated) return;
      isTerminated = true;
      void worker.terminate();
      void piscina.destroy();
    },
  };
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
