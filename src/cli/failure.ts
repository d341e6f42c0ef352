// Runs in the command line. Owns what an error looks like to an operator: one line that says what and what to do, and the
// exit code that says which kind.

import { ApiError } from '../client/index.js';
import { messageOf } from '../errors.js';
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

function apiFailure({ status, message }: ApiError): Failure {
  if (status === 0) {
    const hint = 'start one with drover start, or give its address with --url';
    return { exitCode: EXIT.no_service, message: `${message}; ${hint}` };
  }
  if (status < 300) return { exitCode: EXIT.other_version, message };
  if (status === 401) {
    const hint =
      message === 'wrong pin'
        ? 'the service prints its PIN when it starts'
        : 'log in with drover login';
    return { exitCode: EXIT.not_allowed, message: `${message}; ${hint}` };
  }
  if (status === 403) return { exitCode: EXIT.not_allowed, message };
  // Of a route; of a bot or a token the message says which.
  if (status === 404 && (message === 'not found' || message.includes('not as a Drover service'))) {
    const what =
      'the service does not know what it was asked for; it is of another version than this command';
    return { exitCode: EXIT.other_version, message: what };
  }
  if (status === 404) return { exitCode: EXIT.not_found, message };
  if (status === 408 || status === 504) return { exitCode: EXIT.timeout, message };
  return { exitCode: EXIT.failed, message };
}
