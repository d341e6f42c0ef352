// Pure. The frames of a part that the journal has read for a replay.

import type { BotSnapshot, LogEvent } from '../../shared/contract/events.js';
import { KIND_CODE, LEVEL_CODE, NO_LEVEL } from '../../shared/stream/frame.js';

export interface ReplayedFrame {
  /** In the node's own numbering. */
  seq: number;
  /** KIND_CODE. */
  kind: number;
  /** LEVEL_CODE, or NO_LEVEL. */
  level: number;
  session: string | null;
  scope: string | null;
  /** Its data. */
  json: string;
}

/** @param bytes whole frames. */
export function readFrames(bytes: Uint8Array): ReplayedFrame[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const frames: ReplayedFrame[] = [];
  for (const frame of text.split('\n\n')) {
    const match = /^id: [0-9a-f]+-(\d+)\nevent: (\w+)\ndata: (.*)$/s.exec(frame);
    if (!match) continue;
    const [, seq, kind, json = ''] = match;
    frames.push({
      seq: Number(seq),
      kind: KIND_CODE[kind as keyof typeof KIND_CODE],
      json,
      ...namesIn(json),
    });
  }
  return frames;
}

/** What the data of a frame says of its bot, its scope and its level. */
export function namesIn(json: string): {
  session: string | null;
  scope: string | null;
  level: number;
} {
  const data = JSON.parse(json) as Partial<LogEvent> & { snapshot?: BotSnapshot };
  const { snapshot, session_id: session = null, scope = null, level } = data;
  const code = level === undefined ? NO_LEVEL : LEVEL_CODE[level];
  return { session: snapshot?.id ?? session, scope, level: code };
}
