// How values that a bot logs or throws are shown.

import { formatWithOptions, type InspectOptions, types } from 'node:util';
import { MAX_MESSAGE_UNITS } from '../shared/contract/line-text.js';
import { messageOf } from '../shared/errors.js';
import { redactText } from './redact.js';

/** Console's defaults bound it too: two levels, and 100 entries of each list. */
const SHOWN: InspectOptions = {
  depth: 2,
  maxArrayLength: 100,
  maxStringLength: MAX_MESSAGE_UNITS,
  // Objects on one line.
  breakLength: Number.POSITIVE_INFINITY,
  colors: false,
};

/** The values as `console.log` shows them, without passwords in URLs. Never throws. */
export function textOf(values: readonly unknown[]): string {
  try {
    return redactText(formatWithOptions(SHOWN, ...values));
  } catch {
    // A value's own inspect function may throw.
    return 'a value that cannot be shown';
  }
}

/** A thrown value on one line: the message of an error; any other object as it is shown in a line. Never throws. */
export function reasonOf(thrown: unknown): string {
  const isOther = typeof thrown === 'object' && thrown !== null && !isError(thrown);
  return messageOf(isOther ? textOf([thrown]) : thrown);
}

export function isError(thrown: object): boolean {
  try {
    return thrown instanceof Error || types.isNativeError(thrown);
  } catch {
    // The value is a proxy whose traps throw.
    return false;
  }
}
