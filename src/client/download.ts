// Pure; runs in clients. Owns how the lines of a download (NDJSON) become events.

import { EVENT } from './response-shapes.js';
import { hasShape } from './shape.js';
import type { StreamEvent } from './stream-events.js';

/** Longest line, in characters; far above what the service lets through. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;

/**
 * The events of a text that comes in pieces, one on each line, with those together that a piece has ended.
 * @throws SyntaxError when a line is none. @throws RangeError when one does not end.
 */
export async function* eventsIn(
  pieces: AsyncIterable<string>,
): AsyncGenerator<StreamEvent[], void, undefined> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = piece.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARS) {
      throw new RangeError(`a line is longer than ${MAX_LINE_CHARS} characters`);
    }
    if (lines.length > 0) yield lines.map(eventOn);
  }
  if (rest !== '') throw new SyntaxError('the last line has no end');
}

function eventOn(line: string): StreamEvent {
  const value: unknown = JSON.parse(line);
  if (hasShape(value, EVENT)) return value as StreamEvent;
  throw new SyntaxError(`${line.slice(0, 60)} is no event`);
}
