// Runs in the command line. Owns what an error looks like to an operator: one line that says what and what to do, and the
// exit code that says which kind.

import { ApiError } from '../client/index.js';
import { messageOf } from '../shared/errors.js';
import { EXIT } from './exit-codes.js';
import { hintFor } from './no-answer.js';

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
