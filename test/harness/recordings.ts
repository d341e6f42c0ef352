// Recordings of `drover record`, written as text: what a run was is said by the test.

import type { BotSnapshot, Level } from '../../src/client/index.js';

export const STARTED_AT_MS = Date.UTC(2026, 10, 20, 13, 2, 3);

/** What happens in a run, in order. Times in ms since its start. */
export type Step =
  | { at: number; line: string; level?: Level; bot?: string | null; scope?: string }
  | {
      at: number;
      bot: string;
      status: string;
      error?: string;
      restarts?: number;
      labels?: Record<string, string>;
    }
  | { at: number; lost: number };

const CREATED = { kind: 'painter', desired: 'running', restarts: 0, host: 0 } as const;

/** The lines of the file, without the end of each. @param endMs undefined: the recorder was killed. */
export function recordingLines(steps: readonly Step[], endMs?: number): string[] {
  const head = {
    drover_recording: 1,
    started_at_ms: STARTED_AT_MS,
    url: 'http://127.0.0.1:8090',
    filter: null,
  };
  const events = steps.map((step, at) => ({
    at_ms: STARTED_AT_MS + step.at,
    id: `e-${at + 1}`,
    ...eventOf(step),
  }));
  const end = {
    at_ms: STARTED_AT_MS + (endMs ?? 0),
    event: 'end',
    data: {
      by: 'command',
      run_ms: endMs,
      events: steps.length,
      gaps: steps.filter((step) => 'lost' in step).length,
      disconnects: 0,
      missing: null,
    },
  };
  return [head, ...events, ...(endMs === undefined ? [] : [end])].map((one) => JSON.stringify(one));
}

export function recording(steps: readonly Step[], endMs?: number): string {
  return `${recordingLines(steps, endMs).join('\n')}\n`;
}

function eventOf(step: Step): { event: string; data: unknown } {
  if ('lost' in step) {
    return { event: 'gap', data: { dropped: step.lost, from: 'e-1', to: 'e-9' } };
  }
  if ('line' in step) {
    const { at, line: message, level = 'info', bot: session_id = null, scope = 'bot' } = step;
    const timestamp_ms = STARTED_AT_MS + at;
    const wire = { transport: null, direction: null };
    return { event: 'log', data: { timestamp_ms, level, scope, session_id, ...wire, message } };
  }
  const { at, bot: id, status, error: last_error = null, restarts = 0, labels = {} } = step;
  const snapshot: BotSnapshot = {
    ...CREATED,
    id,
    status,
    restarts,
    since_ms: STARTED_AT_MS + at,
    started_at_ms: null,
    last_error,
    labels,
    data: {},
    usage: null,
    over_quota: [],
  };
  return { event: 'session', data: { snapshot } };
}
