// What an incident has in common with others: its type, its message and its stack, without what varies.

import type { Incident } from '../contract/bots.js';
import { type SipKey, sipHash } from '../contract/sip-hash.js';
import { normalStack } from './normal-stack.js';
import { normalText } from './normal-text.js';

export interface Cause {
  /** 16 hexadecimal digits, the same for the same cause on every node and in every run of this version. */
  cause: string;
  /** The message without what varies. */
  title: string;
  /** The innermost frame of the stack that tells, as `<function> in <file>`. */
  where: string | null;
}

/** Public: a bot that makes its failures look like those of others only finds them in one group. */
const KEY: SipKey = [0, 0, 0, 0];

/** @param incident what was found. */
export function causeOf({
  type,
  reason,
  suspect,
  stack,
}: Pick<Incident, 'type' | 'reason' | 'suspect' | 'stack'>): Cause {
  const title = normalText(ofService(reason), suspect);
  const frames = normalStack(stack, type === 'hang');
  const text = [type, title, ...frames].join('\n');
  const [low, high] = sipHash(KEY, text);
  return { cause: hex(high) + hex(low), title, where: frames[0] ?? null };
}

/** How the service names the bot that it suspects is no part of the cause. */
function ofService(reason: string): string {
  return reason.replace(
    /; (?:bot \S+ was alone there|the code of bot \S+ ran last there|which bot caused it is not known(?:, and \d+ bots [a-z ]+)?)$/,
    '',
  );
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}
