import { EVENT, hasShape } from './response-shapes.js';
import type { StreamEvent } from './stream-events.js';

/** Bound of one line in characters, far above the service's own limits. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;

/**
 * Parses NDJSON that arrives in chunks. Yields the events whose lines end in a chunk together.
 * @throws SyntaxError if a line is not an event. @throws RangeError if a line is too long.
 */
export async function* eventsIn(
  chunks: AsyncIterable<string>,
): AsyncGenerator<StreamEvent[], void, undefined> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = chunk.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARS) {
      throw new RangeError(`a line is longer than ${MAX_LINE_CHARS} characters`);
    }
    if (lines.length > 0) yield lines.map(parseEvent);
  }
  if (rest !== '') throw new SyntaxError('the last line is incomplete');
}

function parseEvent(line: string): StreamEvent {
  const value: unknown = JSON.parse(line);
  if (hasShape(value, EVENT)) return value as StreamEvent;
  throw new SyntaxError(`${line.slice(0, 60)} is not an event`);
}
