// Runs in the command line. Owns the end of every command but start: what is printed of an error, and the exit code.

import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { failureOf } from '../failure.js';
import { stopSignal } from '../stop-signals.js';
import { clearProgress, endProgress } from './progress.js';

/**
 * An action for commander that runs `task` and ends the process with its exit code, 0 when it gives none. When the process
 * was told to end, what the task threw because of that is no error.
 */
export function action<A extends unknown[]>(
  task: (...args: A) => Promise<number | undefined>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    // Whoever reads the output has gone (head, a pager that was left): there is nobody to tell. What is known by then of
    // how it ends (process.exitCode) counts.
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') process.exit();
      complain(`the output cannot be written: ${message}`);
      process.exit(EXIT.failed);
    });
    process.exitCode = await ended(() => task(...args));
    endProgress();
    // Connections that are kept alive would keep the process for some seconds; what is printed goes out first.
    await flush(process.stdout);
    await flush(process.stderr);
    process.exit();
  };
}

async function ended(task: () => Promise<number | undefined>): Promise<number> {
  try {
    return (await task()) ?? EXIT.ok;
  } catch (thrown) {
    if (stopSignal.aborted) return EXIT.interrupted;
    const { exitCode, message, stack } = failureOf(thrown);
    complain(message);
    if (stack !== undefined) process.stderr.write(`${stack}\n`);
    return exitCode;
  }
}

/** One line on standard error. */
export function complain(message: string): void {
  clearProgress();
  process.stderr.write(`drover: ${messageOf(message)}\n`);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
