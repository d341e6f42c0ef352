import { ApiError } from '../client/index.js';
import { messageOf } from '../shared/errors.js';
import { EXIT } from './exit-codes.js';

/** An error that the user can fix: one line of text and an exit code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

export interface Failure {
  exitCode: number;
  message: string;
  /** Only for unexpected errors (bugs). */
  stack?: string | undefined;
}

const NO_SERVICE = 'start one with drover start, or give its address with --url';
const UNTRUSTED =
  'to trust its certificate, set NODE_EXTRA_CA_CERTS to the PEM file of the certificate or of its CA';
const NOT_PLAIN = `${NO_SERVICE}; with TLS the address starts with https://`;
const NO_TLS = 'the service does not use TLS; its address starts with http://';

/** What to do, by error code of Node or OpenSSL. */
const HINTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: "renew the certificate, and check this machine's clock",
  CERT_NOT_YET_VALID: "check this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: 'use --url with a host name that the certificate covers',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  UND_ERR_SOCKET: NOT_PLAIN,
  ECONNRESET: NOT_PLAIN,
};

/** Statuses of a proxy that cannot reach its upstream. */
const NO_UPSTREAM = [502, 503, 504];

/** The message and exit code for an exception of a command. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof CliError) return { exitCode: thrown.exitCode, message: thrown.message };
  if (thrown instanceof ApiError) return apiFailure(thrown);
  if (thrown instanceof Error && thrown.name === 'TimeoutError') {
    return { exitCode: EXIT.timeout, message: 'request timed out; set a longer --timeout' };
  }
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return { exitCode: EXIT.failed, message: messageOf(thrown), stack };
}

function apiFailure(error: ApiError): Failure {
  const { status, message, isForeign } = error;
  const failed = (exitCode: number, hint?: string): Failure => ({
    exitCode,
    message: hint === undefined ? message : `${message}; ${hint}`,
  });
  if (status === 0) return failed(EXIT.no_service, hintFor(error));
  // Before the status codes: a 401 of a proxy has nothing to do with tokens.
  if (isForeign) {
    return NO_UPSTREAM.includes(status)
      ? failed(
          EXIT.no_service,
          'a proxy cannot reach the service, or another program uses the port',
        )
      : failed(
          EXIT.other_version,
          'check the address, and that service and command have the same version',
        );
  }
  if (status === 401) {
    if (message === 'wrong pin') {
      return failed(EXIT.not_allowed, 'the service prints its PIN when it starts');
    }
    const isGiven = (process.env['DROVER_TOKEN'] ?? '') !== '';
    const order = isGiven ? ', and unset DROVER_TOKEN, which overrides the profile' : '';
    return failed(EXIT.not_allowed, `log in with drover login${order}`);
  }
  if (status === 403) return failed(EXIT.not_allowed);
  // Of a route: for a bot or a token the message names it.
  if (status === 404 && message === 'not found') {
    const what =
      'the service does not know this request; its address has an extra path, or it has another version than this command';
    return { exitCode: EXIT.other_version, message: what };
  }
  if (status === 404) return failed(EXIT.not_found);
  if (status === 400) return failed(EXIT.usage);
  if (status === 408 || status === 504) return failed(EXIT.timeout);
  return failed(EXIT.failed);
}

/** @param error of the client; the error code is on one of its causes. */
function hintFor(error: Error): string {
  for (let at: unknown = error.cause; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && Object.hasOwn(HINTS, code)) return HINTS[code] ?? NO_SERVICE;
  }
  return NO_SERVICE;
}
