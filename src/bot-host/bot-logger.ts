import type { Logger, WireOptions } from '../bot-sdk/index.js';
import { visible } from '../shared/contract/escapes.js';
import type { LogEvent } from '../shared/contract/events.js';
import { cut } from '../shared/contract/line-text.js';
import { isServiceScope } from '../shared/contract/scopes.js';
import type { BotLines, LineKind } from './bot-lines.js';
import { textOf } from './value-text.js';

/** Longest scope, in UTF-16 units; longer ones are cut. */
const MAX_SCOPE_UNITS = 64;
/** Longest correlation id, in UTF-16 units. A longer one is an error: cut, it could be that of another message. */
const MAX_CORRELATION_UNITS = 128;

/** The logger that a bot's code gets, for one scope. */
export class BotLogger implements Logger {
  readonly #lines: BotLines;
  readonly #scope: string;

  constructor(lines: BotLines, scope: string) {
    this.#lines = lines;
    this.#scope = scope;
  }

  info(...values: unknown[]): void {
    this.#write('info', values);
  }

  warn(...values: unknown[]): void {
    this.#write('warn', values);
  }

  error(...values: unknown[]): void {
    this.#write('error', values);
  }

  state(...values: unknown[]): void {
    this.#write('state', values);
  }

  wire(
    transport: NonNullable<LogEvent['transport']>,
    direction: NonNullable<LogEvent['direction']>,
    message: string,
    { correlationId }: WireOptions = {},
  ): void {
    // Bot code is not always TypeScript, and both go into the frame unescaped.
    if (transport !== 'tcp' && transport !== 'http')
      throw new TypeError('transport is tcp or http');
    if (direction !== 'outgoing' && direction !== 'incoming') {
      throw new TypeError('direction is outgoing or incoming');
    }
    const line: LineKind = { level: 'info', scope: this.#scope, transport, direction };
    if (correlationId !== undefined) line.correlation_id = this.#correlation(correlationId);
    this.#lines.write(line, text([message]));
  }

  scope(name: string): Logger {
    // Masked before it is cut: half a secret would not be recognized.
    const shown = visible(this.#lines.mask.text(String(name)));
    // Keeps the line under a prefix, so that nobody takes it for a line of the service.
    const free = isServiceScope(shown) ? `bot:${shown}` : shown;
    return new BotLogger(this.#lines, cut(free, MAX_SCOPE_UNITS));
  }

  #correlation(id: string): string {
    if (typeof id !== 'string' || id === '' || id.length > MAX_CORRELATION_UNITS) {
      throw new TypeError(`correlationId is a text of 1 to ${MAX_CORRELATION_UNITS} characters`);
    }
    return this.#lines.mask.text(id);
  }

  #write(level: LogEvent['level'], values: readonly unknown[]): void {
    const line = { level, scope: this.#scope, transport: null, direction: null };
    this.#lines.write(line, text(values));
  }
}

/** A string alone, which most lines are, is the line. Any other is formatted, if it is not skipped. */
function text(values: readonly unknown[]): string | (() => string) {
  const message = values[0];
  return typeof message === 'string' && values.length === 1 ? message : formatted(values);
}

/** A separate function, so that a string alone allocates no closure. */
function formatted(values: readonly unknown[]): () => string {
  return () => textOf(values);
}
