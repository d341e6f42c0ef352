import { complain as tell, write } from '../../shared/terminal.js';
import { EXIT } from '../exit-codes.js';
import { failureOf } from '../failure.js';
import { stopSignal } from '../stop-signals.js';
import { clearProgress, endProgress } from './progress.js';

/**
 * A commander action that runs `task`, prints its error, and exits with its exit code (0 if it returns none). After a stop
 * signal, an error that the task throws counts as the interruption.
 */
export function action<A extends unknown[]>(
  task: (...args: A) => Promise<number | undefined>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    // EPIPE: the reader is gone (head, a closed pager). Exit with the code known so far (process.exitCode).
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') process.exit();
      complain(`cannot write the output: ${message}`);
      process.exit(EXIT.failed);
    });
    process.exitCode = await exitCodeOf(() => task(...args));
    endProgress();
    // Keep-alive connections would hold the process open for seconds, so it exits explicitly, once all output is written.
    await flush(process.stdout);
    await flush(process.stderr);
    process.exit();
  };
}

async function exitCodeOf(task: () => Promise<number | undefined>): Promise<number> {
  try {
    return (await task()) ?? EXIT.ok;
  } catch (thrown) {
    if (stopSignal.aborted) return EXIT.interrupted;
    const { exitCode, message, stack } = failureOf(thrown);
    complain(message);
    if (stack !== undefined) write(process.stderr, `${stack}\n`);
    return exitCode;
  }
}

/** One line on standard error. */
export function complain(message: string): void {
  clearProgress();
  tell(message);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
