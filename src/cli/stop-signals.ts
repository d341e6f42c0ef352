// Runs in main. Owns the handlers of signals. It imports only what Node has loaded, so that they are installed first.

import { isatty } from 'node:tty';

/** Time limit of an orderly shutdown in ms; then the process is killed. */
const LIMIT_MS = 9500;
/** A second signal within this time, in ms, counts as the same one. */
const REPEAT_MS = 1000;

const controller = new AbortController();
let since: number | undefined;

/** Signals that do not stop the service, by what it does instead. */
export interface OtherSignals {
  /** SIGHUP, while the terminal is open, or if there was none. */
  reload(): void;
  /** A signal without a meaning. */
  ignored(signal: NodeJS.Signals): void;
}

/** Aborted on the first SIGINT, SIGTERM or SIGQUIT, and on SIGHUP unless it means to reload. */
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

/** Their default ends the process; that of SIGUSR1 opens the port of the inspector, through which anybody can run code in it. */
const MEANINGLESS = ['SIGUSR1', 'SIGUSR2', 'SIGALRM'] as const;
/** Standard streams that are a terminal. Of `nohup` none is. */
const terminals = [0, 1, 2].filter((fd) => isatty(fd));
let others: OtherSignals | undefined;

/** From now on SIGHUP reloads, unless the terminal was closed, and signals without a meaning are reported. */
export function onOtherSignals(handlers: OtherSignals): void {
  others = handlers;
}

function hangUp(): void {
  // A closed terminal is no longer a TTY. On Windows the signal means nothing else.
  const isClosed = process.platform === 'win32' || terminals.some((fd) => !isatty(fd));
  if (others && !isClosed) {
    others.reload();
    return;
  }
  // Node aborts at its exit, where it resets a terminal that is gone; everything is done by then.
  if (isClosed) process.once('exit', die);
  stop();
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const) process.on(signal, stop);
process.on('SIGHUP', hangUp);
for (const signal of MEANINGLESS) process.on(signal, () => others?.ignored(signal));
