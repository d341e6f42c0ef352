import type { Kind } from '../shared/contract/event-kinds.js';
import type {
  ActivityEvent,
  AlertEvent,
  GapEvent,
  LogEvent,
  OperationEvent,
  SessionEvent,
} from '../shared/contract/events.js';
import type { SseFrame } from './sse-parser.js';

interface WithId {
  /** For resuming; null for the initial snapshots, which are not numbered. */
  id: string | null;
}

/** An event of the stream, discriminated by `event`. */
export type StreamEvent =
  | (WithId & { event: 'log'; data: LogEvent })
  | (WithId & { event: 'session'; data: SessionEvent })
  | (WithId & { event: 'gap'; data: GapEvent })
  | (WithId & { event: 'alert'; data: AlertEvent })
  | (WithId & { event: 'activity'; data: ActivityEvent })
  | (WithId & { event: 'operation'; data: OperationEvent })
  /** An unknown event of a later service version: `name` is its name (`message` by default), `data` its JSON or text. */
  | (WithId & { event: 'other'; name: string; data: unknown });

const KNOWN: ReadonlySet<string> = new Set<Kind>([
  'log',
  'session',
  'gap',
  'alert',
  'activity',
  'operation',
]);

/** @throws SyntaxError if the data of a known event is not JSON. */
export function typedEvent(frame: SseFrame, resumes: boolean): StreamEvent {
  const { event, data } = frame;
  // The last snapshot of a new stream has the position as its id. It is no event of that number.
  const isSnapshot = event === 'session' && frame.idBefore === null && !resumes;
  const id = isSnapshot ? null : frame.id;
  if (KNOWN.has(event)) return { id, event, data: JSON.parse(data) } as StreamEvent;
  return { id, event: 'other', name: event === '' ? 'message' : event, data: jsonOrText(data) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
