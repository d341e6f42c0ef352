import type { IncomingMessage } from 'node:http';
import { DroverError, type ErrorCode } from '../../../shared/errors.js';
import type { Response } from '../engine.js';
import { RequestHead } from '../request-head.js';
import { errorResponse } from '../responses.js';

/** The limit of uWebSockets.js. */
const MAX_HEADERS = 98;

const TOO_LARGE = refusal('headers_too_large');
const NO_HTTP = refusal('bad_request', 'the request is not valid HTTP/1.1');
const AMBIGUOUS = refusal('ambiguous_length');
const OTHER_VERSION = refusal('version_not_supported');
const LATE = refusal('timeout', 'the request did not arrive in time');
/** CONNECT asks for a target that this server does not serve. */
export const CONNECT_REFUSED = refusal('not_found');

/** Errors of Node's parser and timers. Others are {@link NO_HTTP}. */
const BY_CODE: Record<string, Response> = {
  HPE_HEADER_OVERFLOW: TOO_LARGE,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refusal('too_large'),
  HPE_INVALID_TRANSFER_ENCODING: refusal('length_required'),
  HPE_UNEXPECTED_CONTENT_LENGTH: AMBIGUOUS,
  HPE_INVALID_VERSION: OTHER_VERSION,
  HPE_PAUSED_H2_UPGRADE: OTHER_VERSION,
  ERR_HTTP_REQUEST_TIMEOUT: LATE,
};

/** Responses by the parser's message, where one of its codes has several reasons. */
const BY_REASON: Record<string, Response> = {
  'Expected CRLF after version': NO_HTTP,
  "Transfer-Encoding can't be present with Content-Length": AMBIGUOUS,
};

/** The response to a request that could not be read. The connection is closed after it. */
export function unreadable({
  code = '',
  reason = '',
}: NodeJS.ErrnoException & { reason?: string }): Response {
  return BY_REASON[reason] ?? BY_CODE[code] ?? NO_HTTP;
}

const VERSIONS = ['1.0', '1.1'];
const head = new RequestHead();

/** Refuses heads that Node's parser accepts and Drover does not. */
export function headRefusal(request: IncomingMessage): DroverError | undefined {
  const { httpVersion, method = '', rawHeaders } = request;
  if (!VERSIONS.includes(httpVersion)) return new DroverError('version_not_supported');
  if (rawHeaders.length > 2 * MAX_HEADERS) return new DroverError('headers_too_large');
  head.begin();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    head.add((rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string);
  }
  return head.refusal(method, httpVersion === '1.0');
}

function refusal(code: ErrorCode, message?: string): Response {
  return { ...errorResponse(new DroverError(code, message)), close: true };
}
