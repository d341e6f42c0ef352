import type { Response } from './engine.js';
import { statusLine } from './status-line.js';

/** The bytes of a response that bypasses the HTTP server. The connection has to be closed after it. */
export function rawResponse({ status, headers, body }: Response): Buffer {
  const lines = [`HTTP/1.1 ${statusLine(status)}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  lines.push(`Date: ${new Date().toUTCString()}`);
  lines.push(`Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', '');
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), Buffer.from(body)]);
}
