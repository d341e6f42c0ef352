// Runs in the worker of a run. Reads a line of the log as `drover record` writes it: a million of them are read for one search, and
// JSON.parse with a check of each field takes several times as long.

import type { Level, LogEvent } from '../../../src/client/index.js';

export interface RecordedLine {
  event: 'log';
  at_ms: number;
  data: LogEvent;
}

/** A string of JSON without escapes, and one with them; both without quotes. */
const PLAIN = '[ !#-\\[\\]-\\uffff]*';
const ANY = `${PLAIN}(?:\\\\(?:["\\\\/bfnrt]|u[\\da-fA-F]{4})${PLAIN})*`;
const TIME = '([1-9]\\d{0,14})';

const LINE = new RegExp(
  `^\\{"at_ms":${TIME},"id":"${PLAIN}","event":"log","data":\\{"timestamp_ms":${TIME},` +
    `"level":"(info|warn|error|state)","scope":"(${PLAIN})","session_id":(?:null|"(${PLAIN})"),` +
    `"transport":(?:null|"(tcp|http)"),"direction":(?:null|"(incoming|outgoing)"),` +
    `(?:"correlation_id":"(${PLAIN})",)?"message":"(${ANY})"\\}\\}$`,
);

/** @returns undefined for anything else, also for the same in another form: then it is to be parsed. */
export function recordedLine(text: string): RecordedLine | undefined {
  const found = LINE.exec(text);
  if (!found) return undefined;
  const [, at, time, level, scope = '', session, transport, direction, correlation, message = ''] =
    found;
  return {
    event: 'log',
    at_ms: Number(at),
    data: {
      timestamp_ms: Number(time),
      level: level as Level,
      scope,
      session_id: session ?? null,
      transport: (transport ?? null) as LogEvent['transport'],
      direction: (direction ?? null) as LogEvent['direction'],
      ...(correlation !== undefined && { correlation_id: correlation }),
      message: message.includes('\\') ? (JSON.parse(`"${message}"`) as string) : message,
    },
  };
}
