// Pure; used by the engines. Owns the bytes of an answer that an HTTP server cannot be asked for: before a request was
// understood, or where none is wanted.

import { STATUS_CODES } from 'node:http';
import type { Response } from './engine.js';

/** The whole answer, after which the connection is to be closed. */
export function rawResponse({ status, headers, body }: Response): Buffer {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  lines.push(`Date: ${new Date().toUTCString()}`);
  lines.push(`Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', '');
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), Buffer.from(body)]);
}
