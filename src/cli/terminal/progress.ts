// Owns the progress line of a long command: on standard error, only on a terminal, cleared before any other output.

import { CLEAR_LINE, safeText, write } from '../../shared/terminal.js';

const INTERVAL_MS = 1000;

let isShown = false;
let timer: NodeJS.Timeout | undefined;

export function showProgress(text: string): void {
  if (process.stderr.isTTY !== true || process.env['TERM'] === 'dumb') return;
  // A line wider than the terminal would wrap and could not be cleared.
  const line = safeText(text).slice(0, (process.stderr.columns || 80) - 1);
  write(process.stderr, CLEAR_LINE, line);
  isShown = true;
}

/** Shows the text now and every second, until {@link endProgress}. */
export function followProgress(text: () => string): void {
  showProgress(text());
  timer = setInterval(() => showProgress(text()), INTERVAL_MS);
}

/** Clears the line until the next update. */
export function clearProgress(): void {
  if (isShown) write(process.stderr, CLEAR_LINE);
  isShown = false;
}

/** Clears the line and stops the updates. Every command ends with it. */
export function endProgress(): void {
  clearInterval(timer);
  clearProgress();
}

const BAR_WIDTH = 20;

/** `[=====>    ]`. */
export function progressBar(done: number, all: number): string {
  const filled = all === 0 ? BAR_WIDTH : Math.floor((BAR_WIDTH * done) / all);
  const tip = filled < BAR_WIDTH ? '>' : '';
  return `[${`${'='.repeat(filled)}${tip}`.padEnd(BAR_WIDTH)}]`;
}

/** Elapsed time, of a limit if there is one: `3s of 30s`. */
export function elapsed(sinceMs: number, limitMs?: number): string {
  const seconds = (ms: number): string => `${Math.floor(ms / 1000)}s`;
  const passed = seconds(performance.now() - sinceMs);
  return limitMs === undefined ? passed : `${passed} of ${seconds(limitMs)}`;
}
