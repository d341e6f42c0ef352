// Pure; runs in clients. Owns how an event of the stream is typed.

import type { GapEvent, LogEvent, SessionEvent } from '../shared/contract/events.js';
import type { SseFrame } from './sse-parser.js';

interface WithId {
  /** To resume from; null for the snapshots at the beginning, which are not of the numbering. */
  id: string | null;
}

/** An event of the stream; `event` tells which. */
export type StreamEvent =
  | (WithId & { event: 'log'; data: LogEvent })
  | (WithId & { event: 'session'; data: SessionEvent })
  | (WithId & { event: 'gap'; data: GapEvent })
  /** Of a later version of the service: `name` is its name, `message` when it has none; `data` its JSON, or its text. */
  | (WithId & { event: 'other'; name: string; data: unknown });

/** @throws SyntaxError when an event that is known is not JSON. */
export function typedEvent({ event, data, id }: SseFrame): StreamEvent {
  if (event === 'log' || event === 'session' || event === 'gap') {
    return { id, event, data: JSON.parse(data) } as StreamEvent;
  }
  return { id, event: 'other', name: event === '' ? 'message' : event, data: jsonOrText(data) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
