// In main and in the bus thread. An answer that is longer than a message of NATS goes in parts, each of which is signed, so that one of
// somebody else is told apart: a line of JSON, and bytes of the answer.

import { parseNamed } from './bus-validators.js';
import { PROTOCOL } from './names.js';
import type { Context, Signer } from './signer.js';

/** An answer that is longer than this is refused: it would hold up the threads of both nodes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Of a message of NATS, for what surrounds the bytes of a part. */
export const PART_ROOM_BYTES = 1024;
const NEWLINE = 10;

/** @param context of the answer. @param part which it is, from 0 on. */
export function sealPart(
  signer: Signer,
  context: Context,
  part: number,
  bytes: Uint8Array,
): Uint8Array {
  const text = JSON.stringify({ v: PROTOCOL, part });
  const head = signer.sign([...context, 'part'], part, text, bytes);
  return Buffer.concat([Buffer.from(`${head}\n`), bytes]);
}

/** @returns the bytes of this part; null when the message is not it: somebody else may have sent it. */
export function openPart(
  signer: Signer,
  context: Context,
  part: number,
  message: Uint8Array,
): Uint8Array | null {
  const end = message.indexOf(NEWLINE);
  if (end === -1) return null;
  const bytes = message.subarray(end + 1);
  const head = Buffer.from(message.subarray(0, end)).toString();
  try {
    const { text } = signer.open([...context, 'part'], head, bytes);
    const found = parseNamed<{ part: number }>('BusMessages', 'part', text);
    return found.part === part ? bytes : null;
  } catch {
    return null;
  }
}
