/** The one table of errors that a client can see. A message with a variable part is given where the error is thrown. */
export const ERRORS = {
  bad_request: { status: 400, message: 'bad request' },
  missing_token: { status: 401, message: 'missing token' },
  invalid_token: { status: 401, message: 'invalid token' },
  invalid_ticket: { status: 401, message: 'invalid ticket' },
  invalid_link: {
    status: 401,
    message: 'this sign-in link was used already, has expired, or is incomplete: ask for a new one',
  },
  wrong_pin: { status: 401, message: 'wrong pin' },
  forbidden: { status: 403, message: 'forbidden' },
  not_found: { status: 404, message: 'not found' },
  method_not_allowed: { status: 405, message: 'method not allowed' },
  timeout: { status: 408, message: 'the request body did not arrive in time' },
  conflict: { status: 409, message: 'conflict' },
  ambiguous_length: { status: 400, message: 'the length of the body is ambiguous' },
  length_required: {
    status: 411,
    message: 'this Transfer-Encoding is not accepted, send the body with a Content-Length',
  },
  too_large: { status: 413, message: 'the request body is too large' },
  uri_too_long: { status: 414, message: 'the URL is too long' },
  unsupported_media_type: {
    status: 415,
    message: 'the body must be sent as Content-Type: application/json',
  },
  locked: { status: 429, message: 'locked' },
  too_many: { status: 429, message: 'too many requests' },
  headers_too_large: { status: 431, message: 'the request headers are too large or too many' },
  internal: { status: 500, message: 'internal error' },
  command_failed: { status: 500, message: 'the command failed' },
  unavailable: { status: 503, message: 'the service is shutting down' },
  not_stored: { status: 503, message: 'the change could not be stored' },
  overloaded: { status: 503, message: 'too many requests are waiting for an answer, retry in 1s' },
  no_room: {
    status: 503,
    message: 'too many large request bodies are on their way, retry in 1s',
  },
  version_not_supported: { status: 505, message: 'HTTP/1.1 is needed' },
  no_answer: { status: 504, message: 'no answer in time' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** An error as it crosses a thread boundary: structured clone keeps plain fields, not classes. */
export interface PlainError {
  code: ErrorCode;
  message: string;
  retryAfterS?: number;
}

/** An error that a client may see: its message is the whole body `{"error": message}`. */
export class DroverError extends Error {
  // Declared as a field, because a bot may have frozen the property that it overrides.
  override readonly name = 'DroverError';
  readonly code: ErrorCode;
  /** Whole seconds for a Retry-After header. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string = ERRORS[code].message, retryAfterS?: number) {
    // The error is a response, so nobody reads its stack. Capturing one would be most of the cost of a refused PIN.
    const { stackTraceLimit } = Error;
    // Reflect.set does not throw when a bot has made the property read-only.
    Reflect.set(Error, 'stackTraceLimit', 0);
    super(message);
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
    this.code = code;
    this.retryAfterS = retryAfterS;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  toPlain(): PlainError {
    const plain: PlainError = { code: this.code, message: this.message };
    if (this.retryAfterS !== undefined) plain.retryAfterS = this.retryAfterS;
    return plain;
  }

  static fromPlain(plain: PlainError): DroverError {
    return new DroverError(plain.code, plain.message, plain.retryAfterS);
  }
}

/**
 * A fault of the environment (port, directory, configuration): the process prints its message
 * as one line on standard error and exits with code 1, without a stack trace.
 */
export class StartupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartupError';
  }
}

/** The message of any thrown value, on one line. Never throws: bots throw all kinds of values. */
export function messageOf(thrown: unknown): string {
  let text: string;
  try {
    text = String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    text = 'a value that cannot be shown was thrown';
  }
  // Matches only from the beginning of white space, so that a long run without a break is read once.
  return text.replace(/(?<!\s)\s*[\r\n]\s*/g, ' ');
}
