// Runs in main. Owns what systemd is told: that the service is ready, and that it stops. Only when systemd asks for it
// (NOTIFY_SOCKET). That is a datagram socket of the local kind, which Node cannot open: systemd's own command can, and is
// there wherever systemd is.

import { spawn } from 'node:child_process';

/** How long the command may take, in ms; then the service goes on without. */
const WITHIN_MS = 5000;

const STATES = { ready: 'READY=1', stopping: 'STOPPING=1' };

/** @param failed is told in one line when systemd could not be reached. It never throws and nobody has to wait for it. */
export function tellSystemd(
  state: keyof typeof STATES,
  status: string,
  failed: (message: string) => void,
): void {
  if (!process.env['NOTIFY_SOCKET']) return;
  const fault = (why: unknown): void => failed(`systemd is not told that it is ${state}: ${why}`);
  const args = [STATES[state], `STATUS=${status}`];
  const child = spawn('systemd-notify', args, { stdio: 'ignore', timeout: WITHIN_MS });
  // The service may end before it does.
  child.unref();
  child.once('error', ({ message }) => fault(message));
  child.once('exit', (code, signal) => {
    if (code !== 0) fault(`systemd-notify ended with ${code ?? signal}`);
  });
}
