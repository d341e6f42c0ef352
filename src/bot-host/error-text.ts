import { basename } from 'node:path';
import type { BotExit } from '../shared/contract/host-messages.js';
import { cut } from '../shared/contract/line-text.js';
import { messageOf } from '../shared/errors.js';
import type { BotLines } from './bot-lines.js';
import { locationOfMistake } from './mistake-location.js';
import { redactText } from './redact.js';
import { reasonOf } from './value-text.js';

/** How a run ended: `error` is null when it returned or was asked to stop. */
export type RunEnd = Omit<BotExit, 'id' | 'run'>;

/** Longest error and stack, in UTF-16 units. */
const MAX_ERROR_UNITS = 8192;
const MAX_STACK_UNITS = 16_384;

/** The message of what was thrown; in brackets the code of a BotError, the cause, and the place of a mistake. */
export function explain(thrown: unknown): string {
  const message = reasonOf(thrown);
  try {
    const { name, code, cause } = (thrown ?? {}) as Record<string, unknown>;
    const more: string[] = [];
    if (name === 'BotError' && typeof code === 'string') more.push(`code ${code}`);
    if (cause instanceof Error) more.push(`cause: ${messageOf(cause)}`);
    const place = locationOfMistake(thrown);
    // Clients see the message and need not know where the files are.
    if (place !== undefined) more.push(basename(place));
    return more.length === 0 ? message : `${message} (${more.join(', ')})`;
  } catch {
    return message;
  }
}

/** The message without secrets, bounded. */
export function errorText(thrown: unknown, lines: BotLines): string {
  return cut(lines.mask.text(redactText(explain(thrown))), MAX_ERROR_UNITS);
}

/** Null when there is none. Never throws. */
export function stackOf(thrown: unknown): string | null {
  try {
    const { stack } = (thrown ?? {}) as { stack?: unknown };
    return typeof stack === 'string' ? stack : null;
  } catch {
    return null;
  }
}

/** The end of a run that threw; the value thrown can be anything. */
export function failedRun(thrown: unknown, lines: BotLines): RunEnd {
  const error = errorText(thrown, lines);
  const stack = stackOf(thrown);
  // The first line of a stack is the message.
  const shown = stack === null ? null : lines.mask.text(redactText(stack));
  return { error, stack: shown && cut(shown, MAX_STACK_UNITS), restart: mayRestart(thrown) };
}

function mayRestart(thrown: unknown): boolean {
  try {
    const { restart } = (thrown ?? {}) as { restart?: unknown };
    // A BotError may come from another copy of the SDK, so instanceof does not tell.
    return restart !== false;
  } catch {
    return true;
  }
}
