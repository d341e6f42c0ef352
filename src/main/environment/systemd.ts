import { spawn } from 'node:child_process';

/** How long the command may take, in ms. */
const WITHIN_MS = 5000;

const STATES = { ready: 'READY=1', stopping: 'STOPPING=1' };

/**
 * Tells systemd that the service is ready, or that it stops, if systemd has set NOTIFY_SOCKET. That is a Unix datagram socket,
 * which Node cannot open; systemd's own command can.
 * @param failed gets one line when systemd could not be reached. The call never throws, and need not be waited for.
 */
export function tellSystemd(
  state: keyof typeof STATES,
  status: string,
  failed: (message: string) => void,
): void {
  if (!process.env['NOTIFY_SOCKET']) return;
  const fault = (why: unknown): void => failed(`systemd is not told that it is ${state}: ${why}`);
  const args = [STATES[state], `STATUS=${status}`];
  const child = spawn('systemd-notify', args, { stdio: 'ignore', timeout: WITHIN_MS });
  // The service may exit before the command does.
  child.unref();
  child.once('error', ({ message }) => fault(message));
  child.once('exit', (code, signal) => {
    if (code !== 0) fault(`systemd-notify ended with ${code ?? signal}`);
  });
}
