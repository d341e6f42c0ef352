import type { StreamEvent } from '../../client/index.js';
import { activityText } from '../../shared/contract/activity.js';
import { alertLine } from '../../shared/contract/alert-line.js';
import { progressText } from '../../shared/contract/operation-text.js';
import { type Printed, safeText } from '../../shared/terminal.js';
import { safeJson } from './output.js';

const COLORS: Readonly<Record<string, number>> = {
  info: 32,
  warn: 33,
  error: 31,
  state: 36,
  session: 35,
  gap: 31,
  alert: 31,
  activity: 34,
  operation: 34,
  other: 90,
};
const DIM = 2;

/** One line: time, level or kind, bot, scope and direction, message. */
export function eventLine(event: StreamEvent, isColored: boolean): Printed[] {
  const paint = (color: number | undefined, text: string): Printed =>
    isColored ? { color: color ?? 0, text } : safeText(text);
  const line = (at: number | null, kind: string, who: string, text: string): Printed[] => {
    const time = at === null ? ' '.repeat(12) : clock(at);
    const label = safeText(kind).padEnd(7);
    const rest = `${safeText(who).padEnd(12)} ${safeText(text)}\n`;
    return [paint(DIM, time), ' ', paint(COLORS[kind], label), ' ', rest];
  };
  switch (event.event) {
    case 'log': {
      const { timestamp_ms, level, scope, session_id, direction, message } = event.data;
      const arrow = direction === null ? '' : direction === 'outgoing' ? '> ' : '< ';
      return line(timestamp_ms, level, `${session_id ?? '-'} ${scope}`, `${arrow}${message}`);
    }
    case 'session': {
      const { id, status, since_ms, data } = event.data.snapshot;
      return line(since_ms, 'session', `${id} ${status}`, safeJson(data));
    }
    case 'gap': {
      const { from, to, dropped } = event.data;
      const count = dropped === null ? 'an unknown number of' : String(dropped);
      return line(null, 'gap', '-', `lost ${count} events, from ${from} to ${to}`);
    }
    case 'alert': {
      const { timestamp_ms, rule } = event.data;
      return line(timestamp_ms, 'alert', rule.severity, alertLine(event.data));
    }
    case 'activity': {
      const { timestamp_ms, session_id, address } = event.data;
      const text = activityText(event.data, session_id ?? '');
      return line(timestamp_ms, 'activity', address ?? '-', text);
    }
    case 'operation': {
      const { began_ms, ended_ms, actor } = event.data;
      return line(ended_ms ?? began_ms, 'operation', actor.name, progressText(event.data));
    }
    case 'other':
      return line(null, 'other', event.name, safeJson(event.data));
  }
}

/** Local time of day with milliseconds. */
function clock(ms: number): string {
  const at = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}
