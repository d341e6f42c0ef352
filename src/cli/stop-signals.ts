// Runs in main. Owns the handlers of SIGINT and SIGTERM. It imports nothing, so that they are installed first.

/** Time limit of an orderly shutdown in ms; then the process is killed. */
const LIMIT_MS = 9500;
/** A second signal within this time, in ms, counts as the same one. */
const REPEAT_MS = 1000;

const controller = new AbortController();
let since: number | undefined;

/** Aborted on the first SIGINT or SIGTERM. */
export const stopSignal: AbortSignal = controller.signal;

function stop(): void {
  const now = performance.now();
  if (since === undefined) {
    since = now;
    setTimeout(die, LIMIT_MS).unref();
    controller.abort();
  } else if (now - since > REPEAT_MS) {
    // Under npm and timeout, one Ctrl-C arrives twice. A later one means: now.
    die();
  }
}

/** SIGKILL, because terminating a thread with open sockets aborts the process, and one in native code does not end. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // Only the init process of a container gets here.
  process.abort();
}

process.on('SIGINT', stop);
process.on('SIGTERM', stop);
