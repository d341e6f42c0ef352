// Runs in bot hosts. Owns the error that a bot throws when it has more to say than a message.

/** What a {@link BotError} can say besides its message. */
export interface BotErrorOptions {
  /** False when starting the bot again is of no use (a wrong password): it has failed, regardless of its policy. */
  restart?: boolean;
  /** A short name of the error for programs, for example `banned`: `(code banned)` behind the message. */
  code?: string;
  /** What led to it; the message of an Error is shown behind this one's. */
  cause?: unknown;
}

/** Ends a bot's run, or fails a command, with a reason. */
export class BotError extends Error {
  readonly restart: boolean;
  readonly code: string | undefined;

  constructor(message: string, { restart = true, code, cause }: BotErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BotError';
    this.restart = restart;
    this.code = code;
  }
}
