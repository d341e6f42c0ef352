// Runs in main, before everything else. Owns SIGINT and SIGTERM: they ask for an orderly end, which has its limit. It
// imports nothing, so that a signal finds it from the first moment on.

/** How long an orderly end may take before the process ends all the same, in ms. */
const LIMIT_MS = 9500;
/** A signal that comes again within this time is the same one, in ms. */
const REPEAT_MS = 1000;

const controller = new AbortController();
let since: number | undefined;

/** Aborted when the process is to end. */
export const stopSignal: AbortSignal = controller.signal;

function stop(): void {
  const now = performance.now();
  if (since === undefined) {
    since = now;
    setTimeout(die, LIMIT_MS).unref();
    controller.abort();
  } else if (now - since > REPEAT_MS) {
    // One Ctrl-C reaches the process twice under npm and timeout. A later one means: now.
    die();
  }
}

/** Threads with open sockets cannot be terminated (the process would abort), so it dies as hard as it can. */
function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

process.on('SIGINT', stop);
process.on('SIGTERM', stop);
