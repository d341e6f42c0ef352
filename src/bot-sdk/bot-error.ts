/** Options of a {@link BotError}. */
export interface BotErrorOptions {
  /** False when a restart cannot help (a wrong password): the bot fails, regardless of its restart policy. */
  restart?: boolean;
  /** A short name of the error for programs, for example `banned`; shown as `(code banned)` after the message. */
  code?: string;
  /** The cause; the message of an Error is shown after this one's. */
  cause?: unknown;
}

/** Ends a bot's run, or fails a command, with a reason. */
export class BotError extends Error {
  override readonly name = 'BotError';
  readonly restart: boolean;
  readonly code: string | undefined;

  constructor(message: string, { restart = true, code, cause }: BotErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.restart = restart;
    this.code = code;
  }
}
