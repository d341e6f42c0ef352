// Runs in the command line. Owns the line on a terminal that says how far a long command is. It goes before anything else
// is written, and nothing of it is left at the end. It is on standard error, and only where that is a terminal.

const EACH_MS = 1000;

let isShown = false;
let timer: NodeJS.Timeout | undefined;

export function showProgress(text: string): void {
  if (process.stderr.isTTY !== true || process.env['TERM'] === 'dumb') return;
  // One that is longer than the terminal is wide would stay.
  const line = text.slice(0, (process.stderr.columns || 80) - 1);
  process.stderr.write(`\r\u001b[K${line}`);
  isShown = true;
}

/** Shows it now and each second, until {@link endProgress}. */
export function followProgress(text: () => string): void {
  showProgress(text());
  timer = setInterval(() => showProgress(text()), EACH_MS);
}

/** Takes the line away; it comes again when there is something new. */
export function clearProgress(): void {
  if (isShown) process.stderr.write('\r\u001b[K');
  isShown = false;
}

/** Every command ends with it. */
export function endProgress(): void {
  clearInterval(timer);
  clearProgress();
}

/** How long it has been going on, of how long it may: `3s of 30s`. */
export function elapsed(sinceMs: number, limitMs?: number): string {
  const seconds = (ms: number): string => `${Math.floor(ms / 1000)}s`;
  const passed = seconds(performance.now() - sinceMs);
  return limitMs === undefined ? passed : `${passed} of ${seconds(limitMs)}`;
}
