// Runs in the command line. Owns what an error looks like to an operator: one line that says what and what to do, and the
// exit code that says which kind.

import { ApiError } from '../client/index.js';
import { messageOf } from '../shared/errors.js';
import { EXIT } from './exit-codes.js';

/** An error that is its operator's to mend. */
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
  /** Of what is our own fault. */
  stack?: string | undefined;
}

const NO_SERVICE = 'start one with drover start, or give its address with --url';
const UNTRUSTED =
  'when it is the right one, trust its certificate: set NODE_EXTRA_CA_CERTS to the PEM file of it, or of who has signed it';
const NOT_PLAIN = `${NO_SERVICE}; with a certificate it begins with https://`;

/** By the codes of Node and OpenSSL. */
const HINTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'renew its certificate, and look whether the clock is right here',
  CERT_NOT_YET_VALID: 'look whether the clock is right here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'give the address with a name that its certificate has, with --url',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it has no certificate there; its address begins with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it has no certificate there; its address begins with http://',
  UND_ERR_SOCKET: NOT_PLAIN,
  ECONNRESET: NOT_PLAIN,
};

/** What a proxy answers when it does not reach what is behind it. */
const NOBODY_BEHIND = [502, 503, 504];

/** How a command that threw ends. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof CliError) return { exitCode: thrown.exitCode, message: thrown.message };
  if (thrown instanceof ApiError) return apiFailure(thrown);
  if (thrown instanceof Error && thrown.name === 'TimeoutError') {
    return { exitCode: EXIT.timeout, message: 'no answer in time; --timeout gives it longer' };
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
  // First: a proxy that asks for a password, say, knows nothing of tokens.
  if (isForeign) {
    return NOBODY_BEHIND.includes(status)
      ? failed(EXIT.no_service, 'a proxy that does not reach the service, or another program')
      : failed(
          EXIT.other_version,
          'check the address, and that the service is of the version of this command',
        );
  }
  if (status === 401) {
    if (message === 'wrong pin') {
      return failed(EXIT.not_allowed, 'the service prints its PIN when it starts');
    }
    const isGiven = (process.env['DROVER_TOKEN'] ?? '') !== '';
    const order = isGiven ? ', and unset DROVER_TOKEN, which goes before the profile' : '';
    return failed(EXIT.not_allowed, `log in with drover login${order}`);
  }
  if (status === 403) return failed(EXIT.not_allowed);
  // Of a route; of a bot or a token the message says which.
  if (status === 404 && message === 'not found') {
    const what =
      'the service does not know what it was asked for; its address has a path too many, or it is of another version than this command';
    return { exitCode: EXIT.other_version, message: what };
  }
  if (status === 404) return failed(EXIT.not_found);
  if (status === 400) return failed(EXIT.usage);
  if (status === 408 || status === 504) return failed(EXIT.timeout);
  return failed(EXIT.failed);
}

/** @param error of the client; why is in the code of one of its causes. */
function hintFor(error: Error): string {
  for (let at: unknown = error.cause; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && Object.hasOwn(HINTS, code)) return HINTS[code] ?? NO_SERVICE;
  }
  return NO_SERVICE;
}
