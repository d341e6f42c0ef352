// Runs in a bot host thread. What a bot prints becomes its lines: the service's output is one for all bots, and has no masks.

import { currentRun } from './current-bot.js';
import { ownProperty } from './own-values.js';

/** The methods of console that print, with the level of their lines. The other methods call these. */
const LEVELS = {
  log: 'info',
  info: 'info',
  debug: 'info',
  dir: 'info',
  warn: 'warn',
  error: 'error',
} as const;

/** Makes what bots print on a console the lines of the bot that runs, scope `console`. Other code prints as before. */
export function captureConsole(printer: Console): void {
  for (const method of Object.keys(LEVELS) as (keyof typeof LEVELS)[]) {
    const print = printer[method];
    printer[method] = (...values: unknown[]) => {
      const log = currentRun()?.log.scope('console');
      if (!log) Reflect.apply(print, printer, values);
      // The second argument of `dir` is options, not a value to print.
      else if (method === 'dir') log.info(values[0]);
      else log[LEVELS[method]](...values);
    };
    ownProperty(printer, method);
  }
}

/** Makes what bots write to a stream of the process their lines. Each write is one line. */
export function captureWrites(
  stream: NodeJS.WriteStream,
  scope: string,
  level: 'info' | 'warn',
): void {
  const { write, end, destroy } = stream;
  const capture = (piece: Uint8Array | string, ...more: unknown[]): boolean => {
    const run = currentRun();
    if (!run) return Reflect.apply(write, stream, [piece, ...more]);
    const text = typeof piece === 'string' ? piece : Buffer.from(piece).toString();
    run.log.scope(scope)[level](text.replace(/\r?\n$/, ''));
    const done = more.at(-1);
    if (typeof done === 'function') queueMicrotask(() => done());
    return true;
  };
  stream.write = capture;
  // Leaves the stream open, because all bots share it.
  stream.end = (...pieces: unknown[]) => {
    if (!currentRun()) return Reflect.apply(end, stream, pieces);
    if (typeof pieces[0] === 'string' || pieces[0] instanceof Uint8Array) capture(pieces[0]);
    return stream;
  };
  stream.destroy = (error) => (currentRun() ? stream : destroy.call(stream, error));
  ownProperty(stream, 'write');
}
